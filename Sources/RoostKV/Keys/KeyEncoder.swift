/// Builds a key from components, whose order the bytes keep.
///
/// A key of several components orders as the tuple of them. Components say their own kind and end, so a
/// key can be read back without knowing what was put in.
public struct KeyEncoder: Sendable {
  /// The key so far.
  public private(set) var bytes: [UInt8] = []

  /// A key without components.
  public init() {}

  /// Keeps room for a key of `capacity` bytes.
  public init(reserving capacity: Int) {
    bytes.reserveCapacity(capacity)
  }

  /// The key of the given components.
  public static func key<each Component: OrderedKey>(_ components: repeat each Component) -> [UInt8] {
    var encoder = KeyEncoder()
    for component in repeat each components { encoder.append(component) }
    return encoder.bytes
  }

  /// Drops all components and keeps the room, for the next key.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// Appends one component.
  public mutating func append(_ value: some OrderedKey) {
    value.encode(to: &self)
  }

  /// Appends `nil`, which comes before every value.
  public mutating func appendNil() {
    bytes.append(KeyTag.null)
  }

  /// Appends a string in Unicode's normal form C, so that canonically equivalent strings give equal keys
  /// and the keys' order is that of Swift's `<` on strings.
  ///
  /// Decoding gives the normal form back. Costs nothing extra for text below U+0300.
  public mutating func appendNormalized(_ string: String) {
    bytes.append(KeyTag.string)
    var string = string
    string.withUTF8 { text in
      if text.isKnownNormal {
        appendEscaped(UnsafeRawBufferPointer(text))
      } else {
        String(decoding: text, as: UTF8.self).normalized.withBytes { appendEscaped($0) }
      }
    }
  }

  /// Appends a record's identifier: nine bytes, whatever its value.
  public mutating func appendIdentifier(_ identifier: UInt64) {
    bytes.append(KeyTag.identifier)
    withUnsafeBytes(of: identifier.bigEndian) { bytes.append(contentsOf: $0) }
  }

  // MARK: Parts of components

  mutating func appendTag(_ tag: UInt8) {
    bytes.append(tag)
  }

  mutating func appendRaw(_ raw: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: raw)
  }

  /// The tag tells sign and length; then the magnitude, big-endian, complemented for negative numbers.
  mutating func appendInteger(negative: Bool, magnitude: UInt64) {
    let count = (64 - magnitude.leadingZeroBitCount + 7) / 8
    // `count` is at most 8, so the tag stays within the integers' tags.
    let length = UInt8(truncatingIfNeeded: count)
    bytes.append(negative ? KeyTag.zero &- length : KeyTag.zero &+ length)
    let image = negative ? ~magnitude : magnitude
    for index in (0..<count).reversed() {
      bytes.append(UInt8(truncatingIfNeeded: image >> UInt64(index * 8)))
    }
  }

  /// Eight bytes big-endian: the bits with the sign flipped, or all flipped for negative numbers.
  mutating func appendOrderedDouble(_ value: Double) {
    let bits: UInt64
    if value.isNaN {
      bits = .max
    } else if value == 0 {
      bits = 1 << 63
    } else {
      bits = value.sign == .minus ? ~value.bitPattern : value.bitPattern | 1 << 63
    }
    withUnsafeBytes(of: bits.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// The bytes with 00 written as 00 FF, then 00.
  mutating func appendEscaped(_ content: UnsafeRawBufferPointer) {
    var rest = content[...]
    while let zero = rest.firstIndex(of: 0) {
      bytes.append(contentsOf: rest[rest.startIndex...zero])
      bytes.append(KeyTag.escapedZero)
      rest = rest[(zero + 1)...]
    }
    bytes.append(contentsOf: rest)
    bytes.append(0)
  }
}
