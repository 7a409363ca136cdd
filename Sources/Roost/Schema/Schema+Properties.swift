/// A property of an entity: an attribute or a relationship.
public protocol SchemaProperty: Codable, Hashable {
  var name: String { get set }
  /// The name the property had in the previous version of the schema; its own name if that hasn't changed.
  var originalName: String { get set }
  var valueType: any Any.Type { get set }
  var isAttribute: Bool { get }
  var isRelationship: Bool { get }
  var isTransient: Bool { get }
  var isOptional: Bool { get }
  var isUnique: Bool { get }
}

extension SchemaProperty {
  public var isAttribute: Bool { !isRelationship }
  public var isRelationship: Bool { false }
  public var isTransient: Bool { false }
}

extension Schema {
  /// What a model says of one of its properties.
  public struct PropertyMetadata {
    public let name: String
    public let keypath: AnyKeyPath
    public let defaultValue: Any?
    public let metadata: (any SchemaProperty)?

    public init(
      name: String, keypath: AnyKeyPath, defaultValue: Any? = nil, metadata: (any SchemaProperty)? = nil
    ) {
      self.name = name
      self.keypath = keypath
      self.defaultValue = defaultValue
      self.metadata = metadata
    }
  }
}

// MARK: - Attribute

extension Schema {
  /// A property that holds a value.
  public class Attribute: SchemaProperty {
    public var name: String
    public var originalName: String
    public var options: [Option]
    public var valueType: any Any.Type
    /// The value in the property's declaration, evaluated when it is asked for.
    public var defaultValue: Any? { initial?() }
    public var hashModifier: String?
    var initial: (() -> Any)?
    /// The form the value has in records.
    var fieldType: FieldType
    /// The type's name, kept by attributes whose type isn't known in this program.
    var typeName: String

    /// An attribute that is completed by the property it is put on.
    public convenience init(_ options: Option..., originalName: String? = nil, hashModifier: String? = nil) {
      self.init(
        name: "", originalName: originalName, options: options, valueType: Never.self,
        hashModifier: hashModifier)
    }

    public init(
      name: String, originalName: String? = nil, options: [Option] = [], valueType: any Any.Type,
      defaultValue: Any? = nil, hashModifier: String? = nil
    ) {
      self.name = name
      self.originalName = originalName ?? name
      self.options = options
      self.valueType = valueType
      self.hashModifier = hashModifier
      initial = defaultValue.map { value in { value } }
      fieldType = (valueType as? any PersistentScalar.Type)?._$fieldType ?? .coded
      typeName = Self.name(of: valueType)
    }

    /// The type's name without its enclosing types and without the mark of an optional.
    static func name(of type: any Any.Type) -> String {
      let name = "\(type)"
      return name.hasPrefix("Optional<") ? String(name.dropFirst(9).dropLast()) : name
    }

    public var isOptional: Bool { valueType is any ExpressibleByNilLiteral.Type }
    public var isUnique: Bool { options.contains(.unique) }
    public var isTransient: Bool { options.contains(.ephemeral) }
    /// Always false: Roost has no value transformers.
    public var isTransformable: Bool { false }
    /// Whether the value is stored through its Codable conformance.
    public var isCodable: Bool { fieldType == .coded }

    // MARK: Codable

    private enum CodingKeys: String, CodingKey {
      case name, originalName, options, fieldType, typeName, isOptional, hashModifier
    }

    public required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      originalName = try container.decode(String.self, forKey: .originalName)
      options = try container.decode([Option].self, forKey: .options)
      hashModifier = try container.decodeIfPresent(String.self, forKey: .hashModifier)
      typeName = try container.decode(String.self, forKey: .typeName)
      let code = try container.decode(UInt8.self, forKey: .fieldType)
      guard let type = FieldType(rawValue: code) else {
        throw DecodingError.dataCorruptedError(
          forKey: .fieldType, in: container, debugDescription: "\(code) is no type of field")
      }
      fieldType = type
      let isOptional = try container.decode(Bool.self, forKey: .isOptional)
      valueType = isOptional ? type.optionalValueType : type.valueType
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(originalName, forKey: .originalName)
      try container.encode(options, forKey: .options)
      try container.encodeIfPresent(hashModifier, forKey: .hashModifier)
      try container.encode(typeName, forKey: .typeName)
      try container.encode(fieldType.rawValue, forKey: .fieldType)
      try container.encode(isOptional, forKey: .isOptional)
    }

    // MARK: Hashable

    public static func == (left: Attribute, right: Attribute) -> Bool { left.shape == right.shape }
    public func hash(into hasher: inout Hasher) { hasher.combine(shape) }

    var shape: PropertyShape {
      PropertyShape(
        name, fieldType, isOptional: isOptional, typeName: typeName, options: options.map(\.kind.rawValue),
        hashModifier: hashModifier)
    }
  }

  /// A property whose value has properties of its own. Roost stores such a value whole, so none is made
  /// from a model; the type is here for code that asks for it.
  public final class CompositeAttribute: Attribute {
    public var properties: [Attribute] = []
  }
}

extension FieldType {
  /// The Swift type whose values have this form, for attributes whose own type isn't known.
  var valueType: any Any.Type {
    switch self {
    case .bool: Bool.self
    case .int8: Int8.self
    case .int16: Int16.self
    case .int32: Int32.self
    case .int64: Int64.self
    case .uint8: UInt8.self
    case .uint16: UInt16.self
    case .uint32: UInt32.self
    case .uint64: UInt64.self
    case .float: Float.self
    case .double: Double.self
    case .date: Date.self
    case .uuid: UUID.self
    case .string: String.self
    case .data: Data.self
    case .url: URL.self
    case .decimal: Decimal.self
    case .coded, .identifier, .identifiers: Any.self
    }
  }

  var optionalValueType: any Any.Type {
    func optional<T>(_ type: T.Type) -> any Any.Type { T?.self }
    return _openExistential(valueType, do: optional)
  }
}
