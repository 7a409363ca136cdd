/// A value that says itself what it is: what Codable types are stored as, and what the schema's rows are.
///
/// Its bytes are CBOR (RFC 8949) in the deterministic form of that standard's section 4.2, with a few tags.
package indirect enum CodedValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// An integer above `Int64.max`.
  case unsigned(UInt64)
  case float(Float)
  case double(Double)
  case string(String)
  case data([UInt8])
  case array([CodedValue])
  /// Keys are unique and sorted by their encoded bytes.
  case map([Pair])
  /// Seconds since 2001-01-01 00:00 UTC.
  case date(Double)
  case uuid(UUID)
  case decimal(Decimal)
  case url(String)
  /// An optional that holds the value: written only where the value is itself nil, so that
  /// `.some(nil)` and `nil` stay apart.
  case present(CodedValue)

  /// One entry of a map.
  package struct Pair: Sendable, Hashable {
    package var key: String
    package var value: CodedValue

    package init(_ key: String, _ value: CodedValue) {
      self.key = key
      self.value = value
    }
  }

  /// The deepest nesting that is written or read.
  package static let maximumDepth = 200

  /// A map of these entries, sorted; of two with the same key the later one counts.
  package static func map(_ entries: [String: CodedValue]) -> CodedValue {
    map(entries.sorted { keyPrecedes($0.key, $1.key) }.map { Pair($0.key, $0.value) })
  }

  /// The order of the keys' encodings: shorter first, then by bytes.
  private static func keyPrecedes(_ left: String, _ right: String) -> Bool {
    let (left, right) = (left.utf8, right.utf8)
    return left.count != right.count ? left.count < right.count : left.lexicographicallyPrecedes(right)
  }

  /// An integer, whatever its type.
  package static func integer(of value: some FixedWidthInteger) -> CodedValue? {
    Int64(exactly: value).map { .integer($0) } ?? UInt64(exactly: value).map { .unsigned($0) }
  }

  package static func == (left: CodedValue, right: CodedValue) -> Bool {
    left.bytes == right.bytes
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(bytes)
  }
}

// MARK: - Parts

extension CodedValue {
  /// The value of a map's key; `nil` when there is none or this isn't a map.
  package subscript(key: String) -> CodedValue? {
    guard case .map(let pairs) = self else { return nil }
    return pairs.first { $0.key == key }?.value
  }

  package var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  package var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  package var data: [UInt8]? {
    if case .data(let value) = self { value } else { nil }
  }

  package var array: [CodedValue]? {
    if case .array(let value) = self { value } else { nil }
  }

  /// The integer as a `Value`, if it fits.
  package func integer<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) -> Value? {
    switch self {
    case .integer(let value): Value(exactly: value)
    case .unsigned(let value): Value(exactly: value)
    default: nil
    }
  }
}
