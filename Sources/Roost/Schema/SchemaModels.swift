/// Finds the models of a schema and makes its entities.
struct SchemaModels {
  /// The types given, then those they reach.
  private(set) var types: [any PersistentModel.Type] = []
  private(set) var entities: [Schema.Entity] = []
  private(set) var problem: RoostError?

  init(_ roots: [any PersistentModel.Type]) {
    for type in roots { add(type) }
    var next = 0
    while next < types.count {
      for reached in Self.reached(by: types[next]) { add(reached) }
      next += 1
    }
    entities = types.map { entity($0) }
    linkHierarchy()
    linkInverses()
  }

  private mutating func add(_ type: any PersistentModel.Type) {
    if types.contains(where: { $0 == type }) { return }
    if types.contains(where: { $0._$entityName == type._$entityName }) {
      note(.duplicateEntity(type._$entityName))
      return
    }
    types.append(type)
  }

  private mutating func note(_ error: RoostError) {
    if problem == nil { problem = error }
  }

  private static func reached(by type: any PersistentModel.Type) -> [any PersistentModel.Type] {
    let parents = type._$superentity.map { [$0] } ?? []
    return parents + type._$properties.compactMap { $0.relationship?.destination }
  }

  // MARK: Entities

  private mutating func entity(_ type: any PersistentModel.Type) -> Schema.Entity {
    let entity = Schema.Entity(type._$entityName)
    let properties = type._$properties
    entity.type = type
    entity.originalName = type._$originalName
    entity.superentityName = type._$superentity?._$entityName
    entity.inheritedCount = type._$superentity?._$properties.count ?? 0
    entity.properties = properties.map { Self.property($0) }
    addIndexes(of: type, to: entity)
    if let twice = Self.firstRepeated(properties.map(\.name)) {
      note(.duplicateProperty(twice, in: entity.name))
    }
    return entity
  }

  private static func property(_ property: PropertyDescription) -> any SchemaProperty {
    switch property.kind {
    case .toOne(let type): Schema.Relationship(property, destination: type._$entityName, isToOne: true)
    case .toMany(let type): Schema.Relationship(property, destination: type._$entityName, isToOne: false)
    case .scalar(let type), .rawRepresentable(let type): attribute(property, type._$fieldType)
    case .codable: attribute(property, .coded)
    }
  }

  private static func attribute(_ property: PropertyDescription, _ type: FieldType) -> Schema.Attribute {
    let attribute = Schema.Attribute(
      name: property.name, originalName: property.originalName, options: property.metadata.attributeOptions,
      valueType: property.valueType, hashModifier: property.metadata.hashModifier)
    attribute.fieldType = type
    attribute.initial = property.defaultValue
    return attribute
  }

  private mutating func addIndexes(of type: any PersistentModel.Type, to entity: Schema.Entity) {
    let properties = type._$properties
    var uniques = properties.filter(\.isUnique).map { [$0.name] }
    var indexes: [[String]] = []
    for index in type._$indexes {
      let names = index.keyPaths.compactMap { path in properties.first { $0.keyPath == path }?.name }
      guard names.count == index.keyPaths.count, !names.isEmpty else {
        note(.unknownIndexProperty(in: entity.name))
        continue
      }
      if index.isUnique { uniques.append(names) } else { indexes.append(names) }
    }
    for name in Set((uniques + indexes).joined())
    where entity.relationshipsByName[name]?.isToOneRelationship == false {
      note(.toManyIndex(name, in: entity.name))
    }
    entity.uniquenessConstraints = Self.withoutRepeats(uniques)
    entity.indices = Self.withoutRepeats(indexes)
  }

  private static func withoutRepeats(_ lists: [[String]]) -> [[String]] {
    var seen: Set<[String]> = []
    return lists.filter { seen.insert($0).inserted }
  }

  private static func firstRepeated(_ names: [String]) -> String? {
    var seen: Set<String> = []
    return names.first { !seen.insert($0).inserted }
  }

  private func linkHierarchy() {
    for entity in entities {
      entity.superentity = entities.first { $0.name == entity.superentityName }
    }
    for entity in entities {
      entity.subentities = Set(entities.filter { $0.superentityName == entity.name })
    }
  }
}

// MARK: - Inverses

extension SchemaModels {
  /// Gives relationships their inverses: those written out first, then those that can only be meant.
  private mutating func linkInverses() {
    var oneWay: Set<ObjectIdentifier> = []
    for (type, entity) in zip(types, entities) {
      for (property, description) in zip(entity.properties, type._$properties) {
        guard let relationship = property as? Schema.Relationship else { continue }
        if description.metadata.isOneWay { oneWay.insert(ObjectIdentifier(relationship)) }
        linkWritten(relationship, of: entity)
      }
    }
    for entity in entities {
      for relationship in Self.ownRelationships(of: entity)
      where relationship.inverseName == nil && !oneWay.contains(ObjectIdentifier(relationship)) {
        linkInferred(relationship, of: entity, oneWay)
      }
    }
    for entity in entities { inheritInverses(entity) }
  }

  /// Links a relationship whose declaration names its inverse, and that inverse to it.
  private mutating func linkWritten(_ relationship: Schema.Relationship, of entity: Schema.Entity) {
    guard let path = relationship.inverseKeyPath, relationship.inverseName == nil else { return }
    var owner = entities.first { $0.name == relationship.destination }
    while let candidate = owner {
      if let inverse = Self.ownRelationships(of: candidate).first(where: { $0.keypath == path }) {
        return link(relationship, inverse)
      }
      owner = candidate.superentity
    }
    note(.unknownInverse(of: relationship.name, in: entity.name))
  }

  /// Links two relationships when each is the only one of its model to the other's model that has no
  /// inverse yet. Where several could be meant, none is guessed.
  private func linkInferred(
    _ relationship: Schema.Relationship, of entity: Schema.Entity, _ oneWay: Set<ObjectIdentifier>
  ) {
    func open(_ from: Schema.Entity, to name: String, but other: Schema.Relationship?) -> [Schema
      .Relationship]
    {
      Self.ownRelationships(of: from).filter {
        $0.destination == name && $0.inverseName == nil && !oneWay.contains(ObjectIdentifier($0))
          && $0 !== other
      }
    }
    guard let destination = entities.first(where: { $0.name == relationship.destination }) else { return }
    let candidates = open(destination, to: entity.name, but: relationship)
    guard candidates.count == 1, let inverse = candidates.first,
      open(entity, to: destination.name, but: inverse).count == 1
    else { return }
    link(relationship, inverse)
  }

  private func link(_ relationship: Schema.Relationship, _ inverse: Schema.Relationship) {
    relationship.inverseName = inverse.name
    relationship.inverseKeyPath = inverse.keypath
    inverse.inverseName = relationship.name
    inverse.inverseKeyPath = relationship.keypath
  }

  /// Gives inherited relationships the inverses that they have where they are declared.
  private func inheritInverses(_ entity: Schema.Entity) {
    for case let relationship as Schema.Relationship in entity.inheritedProperties {
      var owner = entity.superentity
      while let candidate = owner {
        if let own = Self.ownRelationships(of: candidate).first(where: { $0.name == relationship.name }) {
          relationship.inverseName = own.inverseName
          relationship.inverseKeyPath = own.inverseKeyPath
        }
        owner = candidate.superentity
      }
    }
  }

  /// The relationships that the entity declares itself.
  private static func ownRelationships(of entity: Schema.Entity) -> [Schema.Relationship] {
    entity.storedProperties.compactMap { $0 as? Schema.Relationship }
  }
}
