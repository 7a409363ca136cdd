import RoostKV

// Index keys, made from records in place.

extension KeyEncoder {
  /// Appends a field's value as a key component that orders as Swift's values do.
  mutating func append(_ value: FieldValue) {
    switch value {
    case .null, .damaged, .identifiers: appendNil()
    case .bool(let value): append(value)
    case .integer(let value): append(value)
    case .unsigned(let value): append(value)
    case .float(let value): append(Double(value))
    case .double(let value): append(value)
    case .date(let seconds): append(Date(timeIntervalSinceReferenceDate: seconds))
    case .uuid(let value): append(value)
    case .identifier(let number): appendIdentifier(number)
    case .string(let value), .url(let value): appendNormalized(value)
    case .data(let value): append(value)
    case .decimal(let value): append(value)
    case .coded(let value): append(value.bytes)
    }
  }
}

extension FieldValue {
  /// Nil and NaN equal nothing, so they never collide in a unique index.
  var isDistinct: Bool {
    switch self {
    case .null, .damaged: true
    case .double(let value), .date(let value): value.isNaN
    case .float(let value): value.isNaN
    case .decimal(let value): value.isNaN
    default: false
    }
  }
}

extension IndexBinding {
  /// Keys longer than this are cut; a look-up compares the records themselves.
  static let keyLimit = 900

  /// The key of a record's entry; nil when the record has none in a unique index.
  func key(of view: RecordView, number: UInt64) -> [UInt8]? {
    var encoder = KeyEncoder()
    for property in properties {
      let value = view.value(property)
      if isUnique && value.isDistinct { return nil }
      encoder.append(value)
    }
    if isUnique {
      return Self.cut(encoder.bytes, keepingDistinct: true)
    }
    var key = KeyEncoder()
    key.appendIdentifier(number)
    return Self.cut(encoder.bytes, keepingDistinct: false) + key.bytes
  }

  /// Shortens a key; a unique one ends in a digest of what was cut off.
  static func cut(_ key: [UInt8], keepingDistinct: Bool) -> [UInt8] {
    guard key.count > keyLimit else { return key }
    let start = Array(key[..<keyLimit])
    guard keepingDistinct else { return start }
    var digest = KeyEncoder()
    digest.append(key[keyLimit...].withUnsafeBytes { XXH3.hash($0) })
    return start + digest.bytes
  }
}
