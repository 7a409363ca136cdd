/// A value that can be a component of a key.
///
/// Encodings keep order: for values `a < b` of one type the bytes of `a` come before the bytes of `b` in
/// `memcmp` order, also when further components follow. Equal values have equal bytes.
public protocol OrderedKey {
  /// Appends the value's bytes to `encoder`.
  func encode(to encoder: inout KeyEncoder)

  /// Takes one component from `decoder`.
  ///
  /// Throws `.invalidKey` when the next component isn't of this type or doesn't fit it.
  init(from decoder: inout KeyDecoder) throws(StoreError)
}

/// All integer types share one encoding, so that keys of different widths and signs compare by value.
extension OrderedKey where Self: FixedWidthInteger {
  public func encode(to encoder: inout KeyEncoder) {
    encoder.appendInteger(negative: self < 0, magnitude: UInt64(magnitude))
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    let (negative, magnitude) = try decoder.integer()
    // The magnitude of a type's least value doesn't fit the type: negate by subtracting from zero.
    let value = Self(exactly: magnitude).map { negative ? 0 &- $0 : $0 }
    let least = Self.isSigned && negative && magnitude == UInt64(Self.min.magnitude) ? Self.min : nil
    guard let fitting = least ?? value, fitting == 0 || (fitting < 0) == negative else {
      throw KeyDecoder.error("an integer doesn't fit \(Self.self)")
    }
    self = fitting
  }
}

extension Int: OrderedKey {}
extension Int8: OrderedKey {}
extension Int16: OrderedKey {}
extension Int32: OrderedKey {}
extension Int64: OrderedKey {}
extension UInt: OrderedKey {}
extension UInt8: OrderedKey {}
extension UInt16: OrderedKey {}
extension UInt32: OrderedKey {}
extension UInt64: OrderedKey {}

extension Bool: OrderedKey {
  public func encode(to encoder: inout KeyEncoder) {
    encoder.appendTag(self ? KeyTag.yes : KeyTag.no)
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    guard case .bool(let value) = try decoder.next() else { throw KeyDecoder.error("a Bool is expected") }
    self = value
  }
}

/// -0.0 has the bytes of 0.0; every NaN has the same bytes, above those of all numbers.
extension Double: OrderedKey {
  public func encode(to encoder: inout KeyEncoder) {
    encoder.appendTag(KeyTag.double)
    encoder.appendOrderedDouble(self)
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    guard case .double(let value) = try decoder.next() else { throw KeyDecoder.error("a Double is expected") }
    self = value
  }
}

/// A Float has the bytes of the Double of the same value.
extension Float: OrderedKey {
  public func encode(to encoder: inout KeyEncoder) {
    Double(self).encode(to: &encoder)
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    let value = try Double(from: &decoder)
    guard value.isNaN || Double(Float(value)) == value else {
      throw KeyDecoder.error("a Double doesn't fit Float")
    }
    self = Float(value)
  }
}

/// The order is that of the UTF-8 bytes as they are; see `KeyEncoder.appendNormalized` for keys in which
/// canonically equivalent strings are equal.
extension String: OrderedKey {
  public func encode(to encoder: inout KeyEncoder) {
    encoder.appendTag(KeyTag.string)
    withBytes { encoder.appendEscaped($0) }
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    guard case .string(let value) = try decoder.next() else { throw KeyDecoder.error("a String is expected") }
    self = value
  }
}

extension Array: OrderedKey where Element == UInt8 {
  public func encode(to encoder: inout KeyEncoder) {
    encoder.appendTag(KeyTag.bytes)
    withBytes { encoder.appendEscaped($0) }
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    guard case .bytes(let value) = try decoder.next() else { throw KeyDecoder.error("bytes are expected") }
    self = value
  }
}

/// `nil` comes before every value.
extension Optional: OrderedKey where Wrapped: OrderedKey {
  public func encode(to encoder: inout KeyEncoder) {
    if let self { self.encode(to: &encoder) } else { encoder.appendNil() }
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    self = decoder.takeNil() ? nil : try Wrapped(from: &decoder)
  }
}
