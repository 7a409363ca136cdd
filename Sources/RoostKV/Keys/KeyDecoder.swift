#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads a key's components back, in order.
public struct KeyDecoder: Sendable {
  private let bytes: [UInt8]
  private var position = 0

  /// A decoder at the first component of `key`.
  public init(_ key: some ByteSource) {
    bytes = key.withBytes { Array($0) }
  }

  /// Whether every component has been read.
  public var isAtEnd: Bool { position == bytes.count }

  /// Takes the next component as a `Value`.
  ///
  /// Throws `.invalidKey` when there is none, when it is of another kind or doesn't fit the type.
  public mutating func decode<Value: OrderedKey>(_ type: Value.Type = Value.self) throws(StoreError) -> Value {
    try Value(from: &self)
  }

  /// Takes the next component, whatever it is. Throws `.invalidKey` when there is none.
  public mutating func next() throws(StoreError) -> KeyComponent {
    let tag = try byte()
    switch tag {
    case KeyTag.null: return .null
    case KeyTag.no: return .bool(false)
    case KeyTag.yes: return .bool(true)
    case KeyTag.integers:
      let (negative, magnitude) = try integer(tag: tag)
      return try Self.component(negative: negative, magnitude: magnitude)
    case KeyTag.double: return .double(try orderedDouble())
    case KeyTag.decimal: return .decimal(try Decimal.decodeOrdered(&self))
    case KeyTag.date: return .date(try orderedDouble())
    case KeyTag.string:
      guard let text = String(validating: try unescaped(), as: UTF8.self) else {
        throw Self.error("a string isn't UTF-8")
      }
      return .string(text)
    case KeyTag.bytes: return .bytes(try unescaped())
    case KeyTag.uuid: return .uuid(try raw(16))
    case KeyTag.identifier: return .identifier(try bigEndian(8))
    default: throw Self.error("no component begins with byte \(tag)")
    }
  }

  /// All components that are left, with `nil` in place of the first that makes no sense and all after it.
  public mutating func remaining() -> [KeyComponent?] {
    var components: [KeyComponent?] = []
    while !isAtEnd {
      guard let component = try? next() else { return components + [nil] }
      components.append(component)
    }
    return components
  }

  // MARK: Parts of components

  static func error(_ message: String) -> StoreError {
    StoreError(.invalidKey, "The key can't be read: \(message)", remedy: "decode the types that were encoded")
  }

  mutating func byte() throws(StoreError) -> UInt8 {
    guard position < bytes.count else { throw Self.error("it ends too early") }
    defer { position += 1 }
    return bytes[position]
  }

  /// Takes a nil component if that comes next.
  mutating func takeNil() -> Bool {
    guard position < bytes.count, bytes[position] == KeyTag.null else { return false }
    position += 1
    return true
  }

  mutating func integer() throws(StoreError) -> (negative: Bool, magnitude: UInt64) {
    let tag = try byte()
    guard KeyTag.integers.contains(tag) else { throw Self.error("an integer is expected") }
    return try integer(tag: tag)
  }

  private mutating func integer(tag: UInt8) throws(StoreError) -> (negative: Bool, magnitude: UInt64) {
    let negative = tag < KeyTag.zero
    let count = negative ? KeyTag.zero - tag : tag - KeyTag.zero
    let image = try bigEndian(Int(count))
    let used: UInt64 = count == 8 ? .max : (1 << (UInt64(count) * 8)) - 1
    return (negative, negative ? ~image & used : image)
  }

  private static func component(negative: Bool, magnitude: UInt64) throws(StoreError) -> KeyComponent {
    guard negative else {
      return Int64(exactly: magnitude).map { .integer($0) } ?? .unsigned(magnitude)
    }
    guard magnitude <= 1 << 63 else { throw error("an integer is below the least that fits 64 bits") }
    // Two's complement: exact for every magnitude up to 2^63.
    return .integer(Int64(bitPattern: 0 &- magnitude))
  }

  private mutating func bigEndian(_ count: Int) throws(StoreError) -> UInt64 {
    var value: UInt64 = 0
    for byte in try raw(count) { value = value << 8 | UInt64(byte) }
    return value
  }

  private mutating func orderedDouble() throws(StoreError) -> Double {
    let bits = try bigEndian(8)
    return Double(bitPattern: bits >> 63 == 1 ? bits ^ 1 << 63 : ~bits)
  }

  private mutating func raw(_ count: Int) throws(StoreError) -> [UInt8] {
    guard bytes.count - position >= count else { throw Self.error("it ends too early") }
    defer { position += count }
    return Array(bytes[position..<position + count])
  }

  private mutating func unescaped() throws(StoreError) -> [UInt8] {
    var content: [UInt8] = []
    while true {
      let next = try byte()
      guard next == 0 else {
        content.append(next)
        continue
      }
      guard position < bytes.count, bytes[position] == KeyTag.escapedZero else { return content }
      position += 1
      content.append(0)
    }
  }
}

extension KeyDecoder {
  /// The identifier in a key's last nine bytes, as index keys end; `nil` when there is none.
  ///
  /// Reads those bytes only. O(1).
  public static func trailingIdentifier(_ key: UnsafeRawBufferPointer) -> UInt64? {
    guard key.count >= 9, key[key.count - 9] == KeyTag.identifier else { return nil }
    return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: key.count - 8, as: UInt64.self))
  }
}

extension StoreError.Code {
  /// The bytes aren't a key of the components asked for.
  public static let invalidKey = StoreError.Code(rawValue: "invalidKey")
}
