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
  /// The attributes whose values the history keeps when an object is deleted.
  let preserved: [Int]
  /// The attributes for which a record that can't be read may leave no value at all.
  let delicate: [PropertyDescription]

  /// What only the program knows of the entity, and its layouts.
  let description: EntityDescription
  /// The number of the shape that records are written in.
  let shapeNumber: UInt32
  /// Every shape that the store has of the entity, by number.
  let shapes: [UInt32: EntityShape]
  /// How records are read, by their shape's number.
  let projections: [UInt32: RecordProjection]
  /// How records that only the program's transforms make current are made so, by their shape's number.
  let upgrades: [UInt32: RecordUpgrade]
  /// The shapes that records of the entity may have besides the current one.
  let olderShapes: Set<UInt32>
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
    preserved = properties.filter { $0.metadata.attributeOptions.contains(.preserveValueOnDeletion) }.map(\.index)
    columns = Dictionary(properties.map { ($0.keyPath, $0.index) }, uniquingKeysWith: { first, _ in first })
    delicate = properties.filter { property in
      if property.isOptional || property.defaultValue != nil { return false }
      switch property.kind {
      case .codable, .rawRepresentable: return true
      case .scalar, .toOne, .toMany: return false
      }
    }
    description = model.description
    shapeNumber = model.current.id
    shapes = Dictionary(
      (model.shapes + [model.current]).map { ($0.id, $0.shape) }, uniquingKeysWith: { first, _ in first })
    let defaults = FrozenDefaults(model.current.shape)
    projections = Dictionary(
      model.shapes.map { shape in
        (shape.id, RecordProjection(from: shape, to: model.description, defaults: defaults, space: spaces))
      }, uniquingKeysWith: { first, _ in first })
    upgrades = Dictionary(
      model.shapes.compactMap { shape in
        RecordUpgrade(from: shape, model.stages, space: spaces).map { (shape.id, $0) }
      }, uniquingKeysWith: { first, _ in first })
    olderShapes = model.olderShapes
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

/// A relationship of a bound model.
final class Relationship: @unchecked Sendable {
  // Immutable once `ModelBindings` has made it.

  let index: Int
  let name: String
  let access: RelationshipAccess
  /// The model that has the relationship, declared or inherited.
  let source: EntityBinding
  let destination: EntityBinding
  /// The relationship of the destination that refers back.
  fileprivate(set) var inverseRelationship: Relationship?
  let deleteRule: Schema.Relationship.DeleteRule
  let isOptional: Bool
  let minimumCount: Int
  /// Zero: any number.
  let maximumCount: Int
  /// The table of a to-many relationship's members.
  let links: Table?
  /// Records of older shapes hold the object that the relationship was to, before it was to many.
  let isInOlderRecords: Bool
  /// Not nil while rows of `links` are missing.
  let unbuilt: UnbuiltLinks?

  var isToMany: Bool { access.isToMany }

  fileprivate init(
    _ property: PropertyDescription, _ access: RelationshipAccess, from source: EntityBinding,
    to destination: EntityBinding, links: Table?, unbuilt: UnbuiltLinks?
  ) {
    index = property.index
    name = property.name
    self.access = access
    self.source = source
    self.destination = destination
    deleteRule = property.metadata.deleteRule
    isOptional = property.isOptional
    minimumCount = property.metadata.minimumModelCount ?? 0
    maximumCount = property.metadata.maximumModelCount ?? 0
    self.links = links
    self.unbuilt = unbuilt
    isInOlderRecords =
      access.isToMany
      && source.olderShapes.contains { source.projections[$0]?.holdsTarget(property.index) ?? false }
  }
}

/// An index of a bound model.
struct IndexBinding {
  let properties: [Int]
  let names: [String]
  let isUnique: Bool
  let table: Table?
  /// The tables of the same uniqueness rule in the other models of the family that it is declared for: a
  /// value is in one of all these tables only.
  let relatives: [Table]
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
    // Identifiers that were written down before an entity was renamed still lead to its objects.
    let former = zip(entities, models).flatMap { entity, model in
      model.shapes.map { ($0.shape.name, entity) }
    }
    byName = Dictionary(
      entities.map { ($0.name, $0) } + former, uniquingKeysWith: { first, _ in first })
    byType = Dictionary(
      entities.map { (ObjectIdentifier($0.type), $0) }, uniquingKeysWith: { first, _ in first })
    for entity in entities {
      entity.subentities = entities.filter { $0 !== entity && $0.inherits(from: entity) }
    }
    for (entity, model) in zip(entities, models) {
      try bindRelationships(of: entity, model, table)
      try bindIndexes(of: entity, model, table)
    }
    for entity in entities { linkInverses(of: entity) }
  }

  // Entities and relationships refer to one another.
  deinit {
    for entity in entities {
      for relationship in entity.relationships { relationship.inverseRelationship = nil }
      (entity.relationships, entity.subentities) = ([], [])
    }
  }

  func entity(_ type: any PersistentModel.Type) -> EntityBinding? { byType[ObjectIdentifier(type)] }

  private func bindRelationships(
    of entity: EntityBinding, _ model: BoundModel, _ table: (String) throws -> Table?
  ) throws {
    entity.relationships = try entity.properties.compactMap { property in
      guard let access = property.relationship, let destination = self.entity(access.destination) else {
        return nil
      }
      let name = TableNames.links(entity.name, property.name)
      var unbuilt: UnbuiltLinks?
      if access.isToMany && model.buildingLinks.contains(property.name) {
        unbuilt = UnbuiltLinks(
          table: name, schemaTable: try table(SchemaRows.table), countersTable: try table(TableNames.counters))
      }
      return Relationship(
        property, access, from: entity, to: destination, links: access.isToMany ? try table(name) : nil,
        unbuilt: unbuilt)
    }
  }

  private func linkInverses(of entity: EntityBinding) {
    for relationship in entity.relationships {
      let property = entity.description.shape.property(relationship.name)
      guard let inverse = property?.relationship?.inverse else { continue }
      relationship.inverseRelationship = relationship.destination.relationships.first { $0.name == inverse }
    }
  }

  private func bindIndexes(
    of entity: EntityBinding, _ model: BoundModel, _ table: (String) throws -> Table?
  ) throws {
    entity.indexes = try model.description.shape.allIndexes.compactMap { index in
      let properties = index.names.compactMap { name in entity.properties.first { $0.name == name }?.index }
      guard properties.count == index.names.count else { return nil }
      let relatives = index.isUnique ? relatives(of: entity, index) : []
      return IndexBinding(
        properties: properties, names: index.names, isUnique: index.isUnique,
        table: try table(TableNames.index(index, of: entity.name)),
        relatives: try relatives.compactMap { try table(TableNames.index(index, of: $0.name)) },
        isComplete: !model.buildingIndexes.contains(index))
    }
  }

  /// The other models that a uniqueness rule covers: those that inherit it from the model that declares it.
  private func relatives(of entity: EntityBinding, _ rule: IndexShape) -> [EntityBinding] {
    func has(_ entity: EntityBinding) -> Bool { entity.description.shape.uniques.contains(rule.names) }
    var declaring = entity
    while let parent = declaring.type._$superentity.flatMap({ self.entity($0) }), has(parent) {
      declaring = parent
    }
    return declaring.family.filter { $0 !== entity && has($0) }
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
  /// The numbers of those that records do have, the current one aside.
  let olderShapes: Set<UInt32>
  /// Indexes that don't have all rows yet.
  let buildingIndexes: Set<IndexShape>
  /// To-many relationships whose tables don't have all rows yet.
  let buildingLinks: Set<String>
  /// The transforms that records of older shapes have yet to go through.
  let stages: [RecordUpgrade.Stage]
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
