extension Schema {
  /// A property that refers to other models.
  public final class Relationship: SchemaProperty {
    public var name: String
    public var originalName: String
    public var options: [Option]
    public var valueType: any Any.Type
    public var keypath: AnyKeyPath?
    /// The name of the entity referred to.
    public var destination: String
    public var deleteRule: DeleteRule
    /// The destination's relationship that refers back; `nil` if there is none.
    public var inverseName: String?
    public var inverseKeyPath: AnyKeyPath?
    public var minimumModelCount: Int?
    public var maximumModelCount: Int?
    public var hashModifier: String?
    public var isToOneRelationship: Bool
    public private(set) var isOptional: Bool

    /// A relationship that is completed by the property it is put on.
    public init(
      _ options: Option..., deleteRule: DeleteRule = .nullify, minimumModelCount: Int? = 0,
      maximumModelCount: Int? = 0, originalName: String? = nil, inverse: AnyKeyPath? = nil,
      hashModifier: String? = nil
    ) {
      name = ""
      self.originalName = originalName ?? ""
      self.options = options
      valueType = Never.self
      destination = ""
      self.deleteRule = deleteRule
      inverseKeyPath = inverse
      self.minimumModelCount = minimumModelCount
      self.maximumModelCount = maximumModelCount
      self.hashModifier = hashModifier
      isToOneRelationship = true
      isOptional = true
    }

    init(_ property: PropertyDescription, destination: String, isToOne: Bool) {
      name = property.name
      originalName = property.originalName
      options = property.metadata.relationshipOptions
      valueType = property.valueType
      keypath = property.keyPath
      self.destination = destination
      deleteRule = property.metadata.deleteRule
      inverseKeyPath = property.metadata.inverse
      minimumModelCount = property.metadata.minimumModelCount
      maximumModelCount = property.metadata.maximumModelCount
      hashModifier = property.metadata.hashModifier
      isToOneRelationship = isToOne
      isOptional = property.isOptional
    }

    public var isRelationship: Bool { true }
    public var isUnique: Bool { options.contains(.unique) }

    // MARK: Codable

    private enum CodingKeys: String, CodingKey {
      case name, originalName, options, destination, deleteRule, inverseName, minimumModelCount
      case maximumModelCount, hashModifier, isToOneRelationship, isOptional
    }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      originalName = try container.decode(String.self, forKey: .originalName)
      options = try container.decode([Option].self, forKey: .options)
      destination = try container.decode(String.self, forKey: .destination)
      deleteRule = try container.decode(DeleteRule.self, forKey: .deleteRule)
      inverseName = try container.decodeIfPresent(String.self, forKey: .inverseName)
      minimumModelCount = try container.decodeIfPresent(Int.self, forKey: .minimumModelCount)
      maximumModelCount = try container.decodeIfPresent(Int.self, forKey: .maximumModelCount)
      hashModifier = try container.decodeIfPresent(String.self, forKey: .hashModifier)
      isToOneRelationship = try container.decode(Bool.self, forKey: .isToOneRelationship)
      isOptional = try container.decode(Bool.self, forKey: .isOptional)
      valueType = isToOneRelationship ? FieldType.identifier.valueType : FieldType.identifiers.valueType
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(originalName, forKey: .originalName)
      try container.encode(options, forKey: .options)
      try container.encode(destination, forKey: .destination)
      try container.encode(deleteRule, forKey: .deleteRule)
      try container.encodeIfPresent(inverseName, forKey: .inverseName)
      try container.encodeIfPresent(minimumModelCount, forKey: .minimumModelCount)
      try container.encodeIfPresent(maximumModelCount, forKey: .maximumModelCount)
      try container.encodeIfPresent(hashModifier, forKey: .hashModifier)
      try container.encode(isToOneRelationship, forKey: .isToOneRelationship)
      try container.encode(isOptional, forKey: .isOptional)
    }

    // MARK: Hashable

    public static func == (left: Relationship, right: Relationship) -> Bool { left.shape == right.shape }
    public func hash(into hasher: inout Hasher) { hasher.combine(shape) }

    var shape: PropertyShape {
      PropertyShape(
        name, toMany: !isToOneRelationship,
        .init(
          destination: destination, inverse: inverseName, deleteRule: deleteRule.rawValue,
          minimum: minimumModelCount, maximum: maximumModelCount),
        isOptional: isOptional, options: options.map(\.kind.rawValue), hashModifier: hashModifier)
    }
  }
}
