import RoostKV

/// One model class bound to its tables in one store.
///
/// Types are bound per store, never globally: two versions of a model have the same entity name and may
/// be open in one process.
final class EntityBinding: @unchecked Sendable {
  // Immutable once `ModelBindings` has made it.

  let type: any PersistentModel.Type
  let name: String
  let space: IdentifierSpace
  let properties: [PropertyDescription]
  /// Property indices by key path. Key paths of the class and of those it inherits from are equal.
  let columns: [AnyKeyPath: Int]
  fileprivate(set) var relationships: [Relationship] = []
  fileprivate(set) var indexes: [IndexBinding] = []
  /// Classes that inherit from this one, directly or not.
  fileprivate(set) var subentities: [EntityBinding] = []

  /// What only the program knows of the entity, and its layouts.
  let description: EntityDescription
  /// The number of the shape that records are written in.
  let shapeNumber: UInt32
  /// How records are read, by their shape's number.
  let projections: [UInt32: RecordProjection]
  let snapshotProjection: RecordProjection
  /// Nil when the store has no such table: it is read through a schema that it doesn't have yet.
  let records: Table?

  init(
    _ model: BoundModel, space: IdentifierSpace, spaces: (String) -> IdentifierSpace,
    _ table: (String) throws -> Table?
  ) throws {
    type = model.type
    name = type._$entityName
    self.space = space
    properties = type._$properties
    columns = Dictionary(properties.map { ($0.keyPath, $0.index) }, uniquingKeysWith: { first, _ in first })
    description = model.description
    shapeNumber = model.current.id
    let defaults = FrozenDefaults(model.current.shape)
    projections = Dictionary(
      model.shapes.map { shape in
        (shape.id, RecordProjection(from: shape, to: model.description, defaults: defaults, space: spaces))
      }, uniquingKeysWith: { first, _ in first })
    snapshotProjection = RecordProjection(
      from: model.current, to: model.description, defaults: defaults, isSnapshot: true, space: spaces)
    records = try table(TableNames.records(name))
  }

  func identifier(_ number: UInt64) -> PersistentIdentifier {
    PersistentIdentifier(number: number, in: space)
  }

  func relationship(at index: Int) -> Relationship? { relationships.first { $0.index == index } }

  /// This class and those that inherit from it.
  var family: [EntityBinding] { [self] + subentities }
}

/// A relationship between bound models.
struct Relationship {
  let index: Int
  let name: String
  let access: RelationshipAccess
  let destination: EntityBinding
  /// The relationship of the destination that refers back.
  let inverse: Int?
  let deleteRule: Schema.Relationship.DeleteRule
  let isOptional: Bool
  let minimumCount: Int
  /// Zero: any number.
  let maximumCount: Int
  let isUnique: Bool
  /// The table of a to-many relationship's members.
  let links: Table?

  var isToMany: Bool { access.isToMany }
  var inverseRelationship: Relationship? { inverse.flatMap { destination.relationship(at: $0) } }
}

/// An index of a bound model.
struct IndexBinding {
  let properties: [Int]
  let names: [String]
  let isUnique: Bool
  let table: Table?
  /// All rows are in the index, so that fetches may use it.
  let isComplete: Bool
}

/// All models of one store.
final class ModelBindings: @unchecked Sendable {
  // Immutable after `init`.

  let entities: [EntityBinding]
  let byName: [String: EntityBinding]
  private let byType: [ObjectIdentifier: EntityBinding]

  init(_ models: [BoundModel], storeIdentifier: String, table: (String) throws -> Table?) throws {
    let spaces = Dictionary(
      models.map { model in
        let name = model.type._$entityName
        return (name, IdentifierSpace(storeIdentifier: storeIdentifier, entityName: name))
      }, uniquingKeysWith: { first, _ in first })
    func space(_ name: String) -> IdentifierSpace {
      spaces[name] ?? IdentifierSpace(storeIdentifier: storeIdentifier, entityName: name)
    }
    let entities = try models.map {
      try EntityBinding($0, space: space($0.type._$entityName), spaces: space, table)
    }
    self.entities = entities
    byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    byType = Dictionary(
      entities.map { (ObjectIdentifier($0.type), $0) }, uniquingKeysWith: { first, _ in first })
    for (entity, model) in zip(entities, models) { try bind(entity, model, table) }
  }

  func entity(_ type: any PersistentModel.Type) -> EntityBinding? { byType[ObjectIdentifier(type)] }

  private func bind(_ entity: EntityBinding, _ model: BoundModel, _ table: (String) throws -> Table?) throws {
    entity.relationships = try entity.properties.compactMap { property in
      guard let access = property.relationship, let destination = self.entity(access.destination) else {
        return nil
      }
      let inverseName = model.description.shape.property(property.name)?.relationship?.inverse
      return Relationship(
        index: property.index, name: property.name, access: access, destination: destination,
        inverse: inverseName.flatMap { name in destination.properties.first { $0.name == name }?.index },
        deleteRule: property.metadata.deleteRule, isOptional: property.isOptional,
        minimumCount: property.metadata.minimumModelCount ?? 0,
        maximumCount: property.metadata.maximumModelCount ?? 0,
        isUnique: property.metadata.relationshipOptions.contains(.unique),
        links: access.isToMany ? try table(TableNames.links(entity.name, property.name)) : nil)
    }
    entity.indexes = try model.description.shape.allIndexes.compactMap { index in
      let properties = index.names.compactMap { name in entity.properties.first { $0.name == name }?.index }
      guard properties.count == index.names.count else { return nil }
      return IndexBinding(
        properties: properties, names: index.names, isUnique: index.isUnique,
        table: try table(TableNames.index(index, of: entity.name)),
        isComplete: !model.buildingIndexes.contains(index))
    }
    entity.subentities = entities.filter { $0 !== entity && $0.inherits(from: entity) }
  }

  /// Every table that holds objects' data.
  var tables: [Table] {
    entities.flatMap { entity in
      [entity.records] + entity.relationships.map(\.links) + entity.indexes.map(\.table)
    }.compactMap(\.self)
  }
}

/// A model with what the store knows of its entity.
struct BoundModel {
  let type: any PersistentModel.Type
  let description: EntityDescription
  /// The shape that new records are written in.
  let current: StoredEntityShape
  /// Every shape that records may have.
  let shapes: [StoredEntityShape]
  /// Indexes that don't have all rows yet.
  var buildingIndexes: Set<IndexShape> = []
}

/// An index of an entity, by property names.
package struct IndexShape: Hashable, Sendable {
  package let names: [String]
  package let isUnique: Bool
}

extension EntityShape {
  package var allIndexes: [IndexShape] {
    uniques.map { IndexShape(names: $0, isUnique: true) }
      + indexes.map { IndexShape(names: $0, isUnique: false) }
  }
}

extension EntityBinding {
  fileprivate func inherits(from other: EntityBinding) -> Bool {
    var next = type._$superentity
    while let ancestor = next {
      if ancestor == other.type { return true }
      next = ancestor._$superentity
    }
    return false
  }
}
