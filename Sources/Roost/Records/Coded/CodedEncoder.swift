/// Writes a Codable value as a coded value.
///
/// Equal values give equal bytes: the entries of keyed containers are sorted, as are the members of sets.
package enum CodedEncoder {
  /// Throws what the value's own code throws, and `EncodingError` when it nests too deeply.
  package static func encode<T: Encodable>(_ value: T) throws -> CodedValue {
    try encode(value, path: [], depth: 0)
  }

  fileprivate static func encode<T: Encodable>(
    _ value: T, path: [any CodingKey], depth: Int
  ) throws -> CodedValue {
    if let value = known(value) { return value }
    guard depth < CodedValue.maximumDepth else {
      throw EncodingError.invalidValue(
        value, .init(codingPath: path, debugDescription: "values are nested too deeply to be stored"))
    }
    let encoder = TreeEncoder(
      path: path, depth: depth, isOptional: T.self is any AnyOptional.Type)
    try value.encode(to: encoder)
    let coded = encoder.node.value
    if T.self is any UnorderedValues.Type, case .array(let members) = coded {
      return .array(members.map { ($0, $0.bytes) }.sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0))
    }
    return coded
  }

  /// Types that coded values have a form for.
  private static func known<T>(_ value: T) -> CodedValue? {
    switch value {
    case let value as String: .string(value)
    case let value as Int: .integer(Int64(value))
    case let value as Bool: .bool(value)
    case let value as Double: .double(value)
    case let value as Date: .date(value.timeIntervalSinceReferenceDate)
    case let value as UUID: .uuid(value)
    case let value as Data: .data(Array(value))
    case let value as Decimal: .decimal(value)
    case let value as URL: .url(value.absoluteString)
    default: nil
    }
  }
}

/// Tells optional types from others.
protocol AnyOptional {}
extension Optional: AnyOptional {}

/// Tells sets, whose members come in no fixed order.
private protocol UnorderedValues {}
extension Set: UnorderedValues {}

/// A place in the tree that is being encoded.
private final class Node {
  enum Content {
    case empty
    case leaf(CodedValue)
    case array([Node])
    case map([String: Node])
  }

  var content = Content.empty

  init(_ value: CodedValue? = nil) {
    if let value { content = .leaf(value) }
  }

  /// A type that encodes nothing at all is an empty map, as it would be with other encoders.
  var value: CodedValue {
    switch content {
    case .empty: .map([])
    case .leaf(let value): value
    case .array(let nodes): .array(nodes.map(\.value))
    case .map(let nodes): .map(nodes.mapValues(\.value))
    }
  }

  func append(_ node: Node) {
    // Emptied first, so that the array has one owner and grows in place.
    guard case .array(var nodes) = content else { return content = .array([node]) }
    content = .empty
    nodes.append(node)
    content = .array(nodes)
  }

  var count: Int {
    if case .array(let nodes) = content { nodes.count } else { 0 }
  }

  func set(_ node: Node, for key: String) {
    guard case .map(var nodes) = content else { return content = .map([key: node]) }
    content = .empty
    nodes[key] = node
    content = .map(nodes)
  }

  func child(_ key: String) -> Node? {
    if case .map(let nodes) = content { nodes[key] } else { nil }
  }

  /// Makes this a map if it is nothing yet; a value that asks for two kinds of container keeps the later.
  func becomeMap() {
    if case .map = content { return }
    content = .map([:])
  }

  func becomeArray() {
    if case .array = content { return }
    content = .array([])
  }
}

private final class TreeEncoder: Encoder {
  let node: Node
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  let depth: Int
  /// Whether the value that is being encoded is an optional.
  let isOptional: Bool

  init(_ node: Node = Node(), path: [any CodingKey], depth: Int, isOptional: Bool = false) {
    self.node = node
    codingPath = path
    self.depth = depth
    self.isOptional = isOptional
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.becomeMap()
    return KeyedEncodingContainer(KeyedContainer<Key>(node: node, codingPath: codingPath, depth: depth))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.becomeArray()
    return UnkeyedContainer(node: node, codingPath: codingPath, depth: depth)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    SingleContainer(node: node, codingPath: codingPath, depth: depth, isOptional: isOptional)
  }
}

private struct KeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: Node
  let codingPath: [any CodingKey]
  let depth: Int

  mutating func encodeNil(forKey key: Key) { put(.null, key) }
  mutating func encode(_ value: Bool, forKey key: Key) { put(.bool(value), key) }
  mutating func encode(_ value: String, forKey key: Key) { put(.string(value), key) }
  mutating func encode(_ value: Double, forKey key: Key) { put(.double(value), key) }
  mutating func encode(_ value: Float, forKey key: Key) { put(.float(value), key) }
  mutating func encode(_ value: Int, forKey key: Key) { put(.integer(Int64(value)), key) }
  mutating func encode(_ value: Int8, forKey key: Key) { put(.integer(Int64(value)), key) }
  mutating func encode(_ value: Int16, forKey key: Key) { put(.integer(Int64(value)), key) }
  mutating func encode(_ value: Int32, forKey key: Key) { put(.integer(Int64(value)), key) }
  mutating func encode(_ value: Int64, forKey key: Key) { put(.integer(value), key) }
  mutating func encode(_ value: UInt8, forKey key: Key) { put(.integer(Int64(value)), key) }
  mutating func encode(_ value: UInt16, forKey key: Key) { put(.integer(Int64(value)), key) }
  mutating func encode(_ value: UInt32, forKey key: Key) { put(.integer(Int64(value)), key) }
  mutating func encode(_ value: UInt64, forKey key: Key) { put(.init(value), key) }
  mutating func encode(_ value: UInt, forKey key: Key) { put(.init(UInt64(value)), key) }

  mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    node.set(
      Node(try CodedEncoder.encode(value, path: codingPath + [key], depth: depth + 1)), for: key.stringValue)
  }

  /// Writes an optional that holds nil as such, so that it is told from one that is nil.
  mutating func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
    guard let value else { return }
    guard T.self is any AnyOptional.Type else { return try encode(value, forKey: key) }
    let coded = try CodedEncoder.encode(value, path: codingPath + [key], depth: depth + 1)
    put(coded.isNilForm ? .present(coded) : coded, key)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    nested(key.stringValue, key).container(keyedBy: keyType)
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key.stringValue, key).unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { nested("super", SuperKey()) }
  mutating func superEncoder(forKey key: Key) -> any Encoder { nested(key.stringValue, key) }

  private func put(_ value: CodedValue, _ key: Key) {
    node.set(Node(value), for: key.stringValue)
  }

  private func nested(_ name: String, _ key: any CodingKey) -> TreeEncoder {
    let child = node.child(name) ?? Node()
    node.set(child, for: name)
    return TreeEncoder(child, path: codingPath + [key], depth: depth + 1)
  }
}

private struct UnkeyedContainer: UnkeyedEncodingContainer {
  let node: Node
  let codingPath: [any CodingKey]
  let depth: Int

  var count: Int { node.count }

  mutating func encodeNil() { put(.null) }
  mutating func encode(_ value: Bool) { put(.bool(value)) }
  mutating func encode(_ value: String) { put(.string(value)) }
  mutating func encode(_ value: Double) { put(.double(value)) }
  mutating func encode(_ value: Float) { put(.float(value)) }
  mutating func encode(_ value: Int) { put(.integer(Int64(value))) }
  mutating func encode(_ value: Int8) { put(.integer(Int64(value))) }
  mutating func encode(_ value: Int16) { put(.integer(Int64(value))) }
  mutating func encode(_ value: Int32) { put(.integer(Int64(value))) }
  mutating func encode(_ value: Int64) { put(.integer(value)) }
  mutating func encode(_ value: UInt8) { put(.integer(Int64(value))) }
  mutating func encode(_ value: UInt16) { put(.integer(Int64(value))) }
  mutating func encode(_ value: UInt32) { put(.integer(Int64(value))) }
  mutating func encode(_ value: UInt64) { put(.init(value)) }
  mutating func encode(_ value: UInt) { put(.init(UInt64(value))) }

  mutating func encode<T: Encodable>(_ value: T) throws {
    let path = codingPath + [IndexKey(count)]
    node.append(Node(try CodedEncoder.encode(value, path: path, depth: depth + 1)))
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    nested().container(keyedBy: keyType)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
  mutating func superEncoder() -> any Encoder { nested() }

  private func put(_ value: CodedValue) {
    node.append(Node(value))
  }

  private func nested() -> TreeEncoder {
    let child = Node()
    let path = codingPath + [IndexKey(count)]
    node.append(child)
    return TreeEncoder(child, path: path, depth: depth + 1)
  }
}

private struct SingleContainer: SingleValueEncodingContainer {
  let node: Node
  let codingPath: [any CodingKey]
  let depth: Int
  let isOptional: Bool

  mutating func encodeNil() { put(.null) }
  mutating func encode(_ value: Bool) { put(.bool(value)) }
  mutating func encode(_ value: String) { put(.string(value)) }
  mutating func encode(_ value: Double) { put(.double(value)) }
  mutating func encode(_ value: Float) { put(.float(value)) }
  mutating func encode(_ value: Int) { put(.integer(Int64(value))) }
  mutating func encode(_ value: Int8) { put(.integer(Int64(value))) }
  mutating func encode(_ value: Int16) { put(.integer(Int64(value))) }
  mutating func encode(_ value: Int32) { put(.integer(Int64(value))) }
  mutating func encode(_ value: Int64) { put(.integer(value)) }
  mutating func encode(_ value: UInt8) { put(.integer(Int64(value))) }
  mutating func encode(_ value: UInt16) { put(.integer(Int64(value))) }
  mutating func encode(_ value: UInt32) { put(.integer(Int64(value))) }
  mutating func encode(_ value: UInt64) { put(.init(value)) }
  mutating func encode(_ value: UInt) { put(.init(UInt64(value))) }

  mutating func encode<T: Encodable>(_ value: T) throws {
    let coded = try CodedEncoder.encode(value, path: codingPath, depth: depth + 1)
    // The optional around this one isn't nil although the value in it is.
    if isOptional, value is any AnyOptional, coded.isNilForm { return put(.present(coded)) }
    put(coded)
  }

  private func put(_ value: CodedValue) {
    node.content = .leaf(value)
  }
}

extension CodedValue {
  /// Whether this is nil, or an optional that holds it.
  var isNilForm: Bool {
    switch self {
    case .null: true
    case .present(let value): value.isNilForm
    default: false
    }
  }

  init(_ value: UInt64) {
    self = Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
  }
}

/// The key of an array's element.
struct IndexKey: CodingKey {
  let intValue: Int?
  var stringValue: String { "[\(intValue ?? 0)]" }

  init(_ index: Int) { intValue = index }
  init?(intValue: Int) { self.intValue = intValue }
  init?(stringValue: String) { nil }
}

/// The key under which a class's superclass is encoded.
struct SuperKey: CodingKey {
  var intValue: Int? { nil }
  var stringValue: String { "super" }

  init() {}
  init?(intValue: Int) { nil }
  init?(stringValue: String) { nil }
}
