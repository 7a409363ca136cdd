/// A value for a property whose own can't be had: zero, empty, nil or the first case.
///
/// Needed where the type must be honoured and nothing can be thrown: in an object that stands for a
/// required relationship's vanished target.
@usableFromInline
func neutralValue<Value>(_ type: Value.Type = Value.self) -> Value {
  if let value = neutral(type, depth: 0) { return value }
  // There is no value to go on with and no way to throw: the type's own decoding refuses zeros, empty text
  // and nil alike, and the property has no initial value. Only objects that stand for vanished ones get here: a
  // record without a readable value for such a property isn't made an object.
  preconditionFailure(
    """
    An object was used that no longer exists, or never did, and its property of type \(type) was read. \
    Declare the relationship that led to it optional, give the property an initial value, or make its type \
    conform to CaseIterable.
    """)
}

/// The neutral value of a type; nil for one that accepts none.
func neutral<Value>(_ type: Value.Type, depth: Int) -> Value? {
  if let value = constructed(type) { return value }
  // Types may contain themselves.
  if depth < 32, let decodable = type as? any Decodable.Type,
    let value = try? decodable.init(from: NeutralDecoder(depth: depth + 1)) as? Value
  {
    return value
  }
  // A plain bit pattern without references, such as an enum's: zeros are its first case.
  guard _isPOD(Value.self) else { return nil }
  return withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { buffer in
    let bytes = UnsafeMutableRawBufferPointer(buffer)
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
    return bytes.baseAddress.map { UnsafeRawPointer($0).load(as: Value.self) }
  }
}

private func constructed<Value>(_ type: Value.Type) -> Value? {
  let value: Any? =
    switch type {
    case let type as any PersistentScalar.Type: type._$neutral
    case let type as any ExpressibleByNilLiteral.Type: type.init(nilLiteral: ())
    case let type as any CaseIterable.Type: first(of: type)
    case let type as any RawRepresentable.Type: first(of: type)
    case let type as any PersistentModel.Type: type.absent()
    default: nil
    }
  return value as? Value
}

private func first<T: CaseIterable>(of type: T.Type) -> Any? { type.allCases.first }

private func first<T: RawRepresentable>(of type: T.Type) -> Any? {
  let neutral = (T.RawValue.self as? any PersistentScalar.Type)?._$neutral as? T.RawValue
  return neutral.flatMap(T.init(rawValue:))
}

extension PersistentModel {
  /// An object that stands for one that no longer exists: deleted, every value neutral.
  static func absent() -> Self {
    let model = Self(_$record: RecordReader.absent)
    model._$state.isDeleted = true
    return model
  }
}

/// Gives zero, empty or nil for everything it is asked for.
private struct NeutralDecoder: Decoder, SingleValueDecodingContainer {
  let depth: Int

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(NeutralKeyedContainer<Key>(depth: depth))
  }
  func unkeyedContainer() -> any UnkeyedDecodingContainer { NeutralUnkeyedContainer(depth: depth) }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoded(type, depth) }
}

private func decoded<T: Decodable>(_ type: T.Type, _ depth: Int) throws -> T {
  if let value = neutral(type, depth: depth) { return value }
  throw DecodingError.valueNotFound(
    type, DecodingError.Context(codingPath: [], debugDescription: "there is no neutral value"))
}

private struct NeutralKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let depth: Int

  var codingPath: [any CodingKey] { [] }

  /// The first key where keys are the cases of an enumeration, as those of an enumeration's own cases are:
  /// it needs one of them. None for collections, whose keys are made of their content.
  var allKeys: [Key] {
    guard _isPOD(Key.self), !(Key.self is any ExpressibleByNilLiteral.Type),
      let first = zeroed()
    else { return [] }
    return [first]
  }

  private func zeroed() -> Key? {
    // Of one case the size is 0, of more of them 1.
    guard MemoryLayout<Key>.size <= 1 else { return nil }
    return withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { bytes in
      bytes[0] = 0
      return bytes.baseAddress.map { UnsafeRawPointer($0).load(as: Key.self) }
    }
  }

  func contains(_ key: Key) -> Bool { false }
  func decodeNil(forKey key: Key) -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoded(type, depth) }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedDecodingContainer<Nested> {
    KeyedDecodingContainer(NeutralKeyedContainer<Nested>(depth: depth))
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    NeutralUnkeyedContainer(depth: depth)
  }
  func superDecoder() -> any Decoder { NeutralDecoder(depth: depth) }
  func superDecoder(forKey key: Key) -> any Decoder { NeutralDecoder(depth: depth) }
}

private struct NeutralUnkeyedContainer: UnkeyedDecodingContainer {
  let depth: Int

  var codingPath: [any CodingKey] { [] }
  var count: Int? { 0 }
  var isAtEnd: Bool { true }
  var currentIndex: Int { 0 }

  func decodeNil() -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoded(type, depth) }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedDecodingContainer<Nested> {
    KeyedDecodingContainer(NeutralKeyedContainer<Nested>(depth: depth))
  }
  func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { self }
  func superDecoder() -> any Decoder { NeutralDecoder(depth: depth) }
}
