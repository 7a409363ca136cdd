extension FieldValue {
  /// The value as one of another field type, if that loses nothing.
  package func converted(to type: FieldType) -> FieldValue? {
    switch (self, type) {
    case (.null, _): return .null
    case (.integer(let value), _) where type.integerRange != nil:
      return type.integerRange?.contains(Int128(value)) == true ? self : nil
    case (.unsigned(let value), _) where type.integerRange != nil:
      return type.integerRange?.contains(Int128(value)) == true ? self : nil
    case (.double, _) where type.integerRange != nil, (.float, _) where type.integerRange != nil:
      return wholeNumber.flatMap { $0.converted(to: type) }
    case (_, .double): return asDouble.map { .double($0) }
    case (_, .float): return asFloat.map { .float($0) }
    case (.integer(let value), .decimal): return .decimal(Decimal(value))
    case (.unsigned(let value), .decimal): return .decimal(Decimal(value))
    case (.decimal, .decimal): return self
    case (.string(let value), .url): return URL(string: value) == nil ? nil : .url(value)
    case (.url, .url): return self
    case (.url(let value), .string), (.string(let value), .string): return .string(value)
    case (.bool, .bool), (.date, .date), (.uuid, .uuid), (.data, .data), (.coded, .coded): return self
    case (.identifier, .identifier), (.identifiers, .identifiers): return self
    case (.identifier(let value), .identifiers): return .identifiers([value])
    default: return nil
    }
  }

  /// A floating-point number that is a whole one, as an integer.
  private var wholeNumber: FieldValue? {
    guard let number = asDouble else { return nil }
    return Int64(exactly: number).map { .integer($0) } ?? UInt64(exactly: number).map { .unsigned($0) }
  }

  private var asDouble: Double? {
    switch self {
    case .double(let value): value
    case .float(let value): Double(value)
    case .integer(let value): Double(exactly: value)
    case .unsigned(let value): Double(exactly: value)
    default: nil
    }
  }

  private var asFloat: Float? {
    if case .float(let value) = self { return value }
    return asDouble.flatMap { $0.isNaN ? .nan : Float(exactly: $0) }
  }

  /// The bytes of a field of `type` that holds the value; `nil` for nil and for what doesn't convert.
  package func fieldBytes(as type: FieldType) -> [UInt8]? {
    guard let value = converted(to: type) else { return nil }
    switch value {
    case .null, .damaged: return nil
    case .bool(let value): return [value ? 1 : 0]
    case .integer(let value): return Self.littleEndian(UInt64(bitPattern: value), type.width ?? 8)
    case .unsigned(let value): return Self.littleEndian(value, type.width ?? 8)
    case .float(let value): return Self.littleEndian(UInt64(value.bitPattern), 4)
    case .double(let value), .date(let value): return Self.littleEndian(value.bitPattern, 8)
    case .uuid(let value): return withUnsafeBytes(of: value.uuid) { Array($0) }
    case .identifier(let value): return Self.littleEndian(value, 8)
    case .string(let value), .url(let value): return Array(value.utf8)
    case .data(let value): return Array(value)
    case .decimal(let value): return CodedValue.decimal(value).bytes
    case .coded(let value): return value.bytes
    case .identifiers(let values): return values.flatMap { Self.littleEndian($0, 8) }
    }
  }

  private static func littleEndian(_ bits: UInt64, _ width: Int) -> [UInt8] {
    withUnsafeBytes(of: bits.littleEndian) { Array($0.prefix(width)) }
  }
}
