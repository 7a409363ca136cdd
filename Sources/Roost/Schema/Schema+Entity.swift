extension Schema {
  /// What is known of one model: its properties and rules.
  public final class Entity: Codable, @unchecked Sendable {
    // Changed while its schema is made, and not after.

    public let name: String
    /// The name that `@Model(originalName:)` says the entity had in the previous version of the schema; its own
    /// name says that it is new.
    public internal(set) var originalName: String?
    /// Inherited properties first, then in the order of declaration.
    public internal(set) var properties: [any SchemaProperty]
    public internal(set) var superentityName: String?
    public internal(set) weak var superentity: Entity?
    public internal(set) var subentities: Set<Entity> = []
    /// Names of properties whose values together differ between any two objects.
    public internal(set) var uniquenessConstraints: [[String]] = []
    /// Names of properties that have an index together.
    public internal(set) var indices: [[String]] = []
    /// How many of `properties` are inherited.
    var inheritedCount = 0
    /// The model type; `nil` for an entity that was decoded or described by hand.
    var type: (any PersistentModel.Type)?

    public init(_ name: String) {
      self.name = name
      properties = []
    }

    public convenience init(_ name: String, properties: any SchemaProperty...) {
      self.init(name)
      self.properties = properties
    }

    public convenience init(_ name: String, subentities: Entity..., properties: any SchemaProperty...) {
      self.init(name)
      self.properties = properties
      self.subentities = Set(subentities)
      for subentity in subentities {
        subentity.superentityName = name
        subentity.superentity = self
      }
    }

    public var storedProperties: [any SchemaProperty] { Array(properties.dropFirst(inheritedCount)) }
    public var inheritedProperties: [any SchemaProperty] { Array(properties.prefix(inheritedCount)) }
    public var attributes: Set<Attribute> { Set(properties.compactMap { $0 as? Attribute }) }
    public var relationships: Set<Relationship> { Set(properties.compactMap { $0 as? Relationship }) }
    public var attributesByName: [String: Attribute] { byName(properties.compactMap { $0 as? Attribute }) }
    public var relationshipsByName: [String: Relationship] {
      byName(properties.compactMap { $0 as? Relationship })
    }
    public var storedPropertiesByName: [String: any SchemaProperty] {
      Dictionary(storedProperties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
    public var inheritedPropertiesByName: [String: any SchemaProperty] {
      Dictionary(inheritedProperties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private func byName<Property: SchemaProperty>(_ properties: [Property]) -> [String: Property] {
      Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Codable

    private enum CodingKeys: String, CodingKey {
      case name, originalName, properties, superentityName, inheritedCount, uniquenessConstraints, indices
    }

    /// A property of either kind, as it is encoded.
    private struct AnyProperty: Codable {
      var attribute: Attribute?
      var relationship: Relationship?
    }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      originalName = try container.decodeIfPresent(String.self, forKey: .originalName)
      let list = try container.decode([AnyProperty].self, forKey: .properties)
      properties = list.compactMap { $0.attribute ?? $0.relationship }
      superentityName = try container.decodeIfPresent(String.self, forKey: .superentityName)
      inheritedCount = try container.decode(Int.self, forKey: .inheritedCount)
      uniquenessConstraints = try container.decode([[String]].self, forKey: .uniquenessConstraints)
      indices = try container.decode([[String]].self, forKey: .indices)
      guard (0...properties.count).contains(inheritedCount) else {
        throw DecodingError.dataCorruptedError(
          forKey: .inheritedCount, in: container, debugDescription: "more are inherited than there are")
      }
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      let list = properties.map {
        AnyProperty(attribute: $0 as? Attribute, relationship: $0 as? Relationship)
      }
      try container.encode(name, forKey: .name)
      try container.encodeIfPresent(originalName, forKey: .originalName)
      try container.encode(list, forKey: .properties)
      try container.encodeIfPresent(superentityName, forKey: .superentityName)
      try container.encode(inheritedCount, forKey: .inheritedCount)
      try container.encode(uniquenessConstraints, forKey: .uniquenessConstraints)
      try container.encode(indices, forKey: .indices)
    }
  }
}

extension Schema.Entity: Hashable {
  /// Entities are equal when they have the same shape.
  public static func == (left: Schema.Entity, right: Schema.Entity) -> Bool { left.shape == right.shape }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }

  /// The entity as a store would hold it.
  package var shape: EntityShape {
    let properties = properties.compactMap { property in
      (property as? Schema.Attribute)?.shape ?? (property as? Schema.Relationship)?.shape
    }
    return EntityShape(
      name, parent: superentityName, properties, uniques: uniquenessConstraints, indexes: indices)
  }
}

extension Schema.Entity {
  /// The entity as records are read and written through it.
  package var description: EntityDescription {
    guard let type else {
      return EntityDescription(
        shape, originalName: originalName,
        originalNames: properties.map { $0.originalName == $0.name ? nil : $0.originalName })
    }
    let models = type._$properties
    return EntityDescription(
      shape, originalName: originalName, originalNames: models.map(\.metadata.originalName),
      initialized: Set(models.filter { $0.encodeDefault != nil }.map(\.name)), type: type)
  }
}
