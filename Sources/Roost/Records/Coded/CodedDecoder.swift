/// Makes a Codable value of a coded value.
package enum CodedDecoder {
  /// Throws `DecodingError`, or what the type's own code throws.
  package static func decode<T: Decodable>(_ type: T.Type, from value: CodedValue) throws -> T {
    try decode(type, from: value, path: [])
  }

  fileprivate static func decode<T: Decodable>(
    _ type: T.Type, from value: CodedValue, path: [any CodingKey]
  ) throws -> T {
    if let form = known(type) {
      guard let decoded = form(value) as? T else { throw mismatch(type, value, path) }
      return decoded
    }
    return try T(
      from: TreeDecoder(value: value, codingPath: path, isOptional: T.self is any AnyOptional.Type))
  }

  /// Types that coded values have a form for: how to read it.
  private static func known<T>(_ type: T.Type) -> ((CodedValue) -> Any?)? {
    switch type {
    case is Date.Type:
      { if case .date(let seconds) = $0 { Date(timeIntervalSinceReferenceDate: seconds) } else { nil } }
    case is UUID.Type: { if case .uuid(let value) = $0 { value } else { nil } }
    case is Data.Type: { $0.data.map { Data($0) } }
    case is Decimal.Type: { $0.decimal }
    case is URL.Type: { if case .url(let text) = $0 { URL(string: text) } else { nil } }
    default: nil
    }
  }

  fileprivate static func mismatch(
    _ type: any Any.Type, _ value: CodedValue, _ path: [any CodingKey]
  ) -> DecodingError {
    let context = DecodingError.Context(codingPath: path, debugDescription: "\(value.kind) was stored")
    return value.isNilForm ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  /// Reads a number or string that containers have methods of their own for.
  fileprivate static func primitive<T>(
    _ type: T.Type, _ value: CodedValue, _ path: [any CodingKey], _ read: (CodedValue) -> T?
  ) throws -> T {
    guard let decoded = read(value) else { throw mismatch(type, value, path) }
    return decoded
  }
}

extension CodedValue {
  /// The number as a Double, if it is exactly one.
  var double: Double? {
    switch self {
    case .double(let value): value
    case .float(let value): Double(value)
    case .integer(let value): Double(exactly: value)
    case .unsigned(let value): Double(exactly: value)
    default: nil
    }
  }

  /// The number as a Float, if it is exactly one.
  var float: Float? {
    if case .float(let value) = self { return value }
    return double.flatMap { $0.isNaN ? .nan : Float(exactly: $0) }
  }

  var decimal: Decimal? {
    switch self {
    case .decimal(let value): value
    case .integer(let value): Decimal(value)
    case .unsigned(let value): Decimal(value)
    default: nil
    }
  }

  /// What the value is, for messages.
  var kind: String {
    switch self {
    case .null: "nil"
    case .bool: "a Bool"
    case .integer, .unsigned: "an integer"
    case .float, .double: "a number"
    case .string: "a string"
    case .data: "data"
    case .array: "an array"
    case .map: "a keyed value"
    case .date: "a date"
    case .uuid: "a UUID"
    case .decimal: "a decimal number"
    case .url: "an address"
    case .present(let value): value.kind
    }
  }
}

private struct TreeDecoder: Decoder {
  let value: CodedValue
  let codingPath: [any CodingKey]
  var isOptional = false
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .map(let pairs) = value else {
      throw CodedDecoder.mismatch([String: CodedValue].self, value, codingPath)
    }
    return KeyedDecodingContainer(KeyedContainer<Key>(pairs, codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let values) = value else {
      throw CodedDecoder.mismatch([CodedValue].self, value, codingPath)
    }
    return UnkeyedContainer(values: values, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    SingleContainer(value: value, codingPath: codingPath, isOptional: isOptional)
  }
}

private struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let values: [String: CodedValue]
  let codingPath: [any CodingKey]

  init(_ pairs: [CodedValue.Pair], _ path: [any CodingKey]) {
    values = Dictionary(pairs.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
    codingPath = path
  }

  var allKeys: [Key] { values.keys.compactMap { Key(stringValue: $0) } }
  func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }

  private func value(_ key: Key) throws -> CodedValue {
    guard let value = values[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "no value was stored for \(key.stringValue)"))
    }
    return value
  }

  private func read<T>(_ type: T.Type, _ key: Key, _ read: (CodedValue) -> T?) throws -> T {
    try CodedDecoder.primitive(type, value(key), codingPath + [key], read)
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    if case .null = try value(key) { true } else { false }
  }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try read(type, key, \.bool) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try read(type, key, \.string) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try read(type, key, \.double) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try read(type, key, \.float) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try read(type, key) { $0.integer() } }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try read(type, key) { $0.integer() } }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try read(type, key) { $0.integer() } }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try read(type, key) { $0.integer() } }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try read(type, key) { $0.integer() } }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try read(type, key) { $0.integer() } }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read(type, key) { $0.integer() } }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read(type, key) { $0.integer() } }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read(type, key) { $0.integer() } }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try read(type, key) { $0.integer() } }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try CodedDecoder.decode(type, from: value(key), path: codingPath + [key])
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    switch values[key.stringValue] {
    case nil, .null: return nil
    // An optional that holds nil: the outer level is this method's own.
    case .present(let inner)? where T.self is any AnyOptional.Type:
      return try CodedDecoder.decode(type, from: inner, path: codingPath + [key])
    case .some(let value): return try CodedDecoder.decode(type, from: value, path: codingPath + [key])
    }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try nested(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try nested(key).unkeyedContainer()
  }

  /// A superclass that was encoded without content isn't there.
  func superDecoder() -> any Decoder {
    TreeDecoder(value: values["super"] ?? .map([]), codingPath: codingPath + [SuperKey()])
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try nested(key) }

  private func nested(_ key: Key) throws -> TreeDecoder {
    TreeDecoder(value: try value(key), codingPath: codingPath + [key])
  }
}

private struct UnkeyedContainer: UnkeyedDecodingContainer {
  let values: [CodedValue]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(values: [CodedValue], codingPath: [any CodingKey]) {
    self.values = values
    self.codingPath = codingPath
  }

  var count: Int? { values.count }
  var isAtEnd: Bool { currentIndex >= values.count }

  private func current(_ type: any Any.Type) throws -> CodedValue {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        .init(codingPath: codingPath + [IndexKey(currentIndex)], debugDescription: "the array has ended"))
    }
    return values[currentIndex]
  }

  /// Goes on to the next element only when this one could be decoded.
  private mutating func read<T>(_ type: T.Type, _ read: (CodedValue) -> T?) throws -> T {
    let value = try CodedDecoder.primitive(type, current(type), codingPath + [IndexKey(currentIndex)], read)
    currentIndex += 1
    return value
  }

  mutating func decodeNil() throws -> Bool {
    guard case .null = try current(Never.self) else { return false }
    currentIndex += 1
    return true
  }
  mutating func decode(_ type: Bool.Type) throws -> Bool { try read(type, \.bool) }
  mutating func decode(_ type: String.Type) throws -> String { try read(type, \.string) }
  mutating func decode(_ type: Double.Type) throws -> Double { try read(type, \.double) }
  mutating func decode(_ type: Float.Type) throws -> Float { try read(type, \.float) }
  mutating func decode(_ type: Int.Type) throws -> Int { try read(type) { $0.integer() } }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try read(type) { $0.integer() } }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try read(type) { $0.integer() } }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try read(type) { $0.integer() } }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try read(type) { $0.integer() } }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try read(type) { $0.integer() } }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try read(type) { $0.integer() } }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try read(type) { $0.integer() } }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try read(type) { $0.integer() } }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try read(type) { $0.integer() } }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let path = codingPath + [IndexKey(currentIndex)]
    let value = try CodedDecoder.decode(type, from: current(type), path: path)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let container = try nested().container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try nested().unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let decoder = try nested()
    currentIndex += 1
    return decoder
  }

  private func nested() throws -> TreeDecoder {
    TreeDecoder(value: try current(Never.self), codingPath: codingPath + [IndexKey(currentIndex)])
  }
}

private struct SingleContainer: SingleValueDecodingContainer {
  let value: CodedValue
  let codingPath: [any CodingKey]
  let isOptional: Bool

  private func read<T>(_ type: T.Type, _ read: (CodedValue) -> T?) throws -> T {
    try CodedDecoder.primitive(type, value, codingPath, read)
  }

  func decodeNil() -> Bool {
    if case .null = value { true } else { false }
  }
  func decode(_ type: Bool.Type) throws -> Bool { try read(type, \.bool) }
  func decode(_ type: String.Type) throws -> String { try read(type, \.string) }
  func decode(_ type: Double.Type) throws -> Double { try read(type, \.double) }
  func decode(_ type: Float.Type) throws -> Float { try read(type, \.float) }
  func decode(_ type: Int.Type) throws -> Int { try read(type) { $0.integer() } }
  func decode(_ type: Int8.Type) throws -> Int8 { try read(type) { $0.integer() } }
  func decode(_ type: Int16.Type) throws -> Int16 { try read(type) { $0.integer() } }
  func decode(_ type: Int32.Type) throws -> Int32 { try read(type) { $0.integer() } }
  func decode(_ type: Int64.Type) throws -> Int64 { try read(type) { $0.integer() } }
  func decode(_ type: UInt.Type) throws -> UInt { try read(type) { $0.integer() } }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try read(type) { $0.integer() } }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try read(type) { $0.integer() } }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try read(type) { $0.integer() } }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try read(type) { $0.integer() } }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    // An optional inside an optional, which holds nil or another such.
    if isOptional, T.self is any AnyOptional.Type, case .present(let inner) = value {
      return try CodedDecoder.decode(type, from: inner, path: codingPath)
    }
    return try CodedDecoder.decode(type, from: value, path: codingPath)
  }
}
