/// A value for a property whose own can't be had: zero, empty, nil or the first case.
///
/// Needed where the type must be honoured and nothing can be thrown: in an object that stands for a
/// required relationship's vanished target.
@usableFromInline
func neutralValue<Value>(_ type: Value.Type = Value.self) -> Value {
  if let value = constructed(type) { return value }
  // A plain bit pattern without references, such as an enum's: zeros are its first case.
  if _isPOD(Value.self) {
    return withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { buffer in
      let bytes = UnsafeMutableRawBufferPointer(buffer)
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      return UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped).load(as: Value.self)
    }
  }
  preconditionFailure(
    """
    A required relationship was followed to an object that no longer exists, and its property of type \
    \(type) was read. Declare the relationship optional, or give the property a neutral value by \
    making its type conform to CaseIterable.
    """)
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
  if let value = value as? Value { return value }
  guard let decodable = type as? any Decodable.Type else { return nil }
  return try? decodable.init(from: NeutralDecoder()) as? Value
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
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(NeutralKeyedContainer<Key>())
  }
  func unkeyedContainer() -> any UnkeyedDecodingContainer { NeutralUnkeyedContainer() }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try neutral(type) }
}

private func neutral<T: Decodable>(_ type: T.Type) throws -> T {
  if let scalar = type as? any PersistentScalar.Type, let value = scalar._$neutral as? T { return value }
  return try T(from: NeutralDecoder())
}

private struct NeutralKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { false }
  func decodeNil(forKey key: Key) -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try neutral(type) }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedDecodingContainer<Nested> {
    KeyedDecodingContainer(NeutralKeyedContainer<Nested>())
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    NeutralUnkeyedContainer()
  }
  func superDecoder() -> any Decoder { NeutralDecoder() }
  func superDecoder(forKey key: Key) -> any Decoder { NeutralDecoder() }
}

private struct NeutralUnkeyedContainer: UnkeyedDecodingContainer {
  var codingPath: [any CodingKey] { [] }
  var count: Int? { 0 }
  var isAtEnd: Bool { true }
  var currentIndex: Int { 0 }

  func decodeNil() -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try neutral(type) }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedDecodingContainer<Nested> {
    KeyedDecodingContainer(NeutralKeyedContainer<Nested>())
  }
  func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { NeutralUnkeyedContainer() }
  func superDecoder() -> any Decoder { NeutralDecoder() }
}
