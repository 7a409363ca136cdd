/// Little-endian fields in byte buffers. Every access is checked against the buffer's length.

extension UnsafeRawBufferPointer {
  /// The integer at `offset`, or `nil` when it does not lie within the buffer.
  func field<T: FixedWidthInteger>(_ offset: Int, as type: T.Type = T.self) -> T? {
    guard offset >= 0, offset <= count - MemoryLayout<T>.size else { return nil }
    return T(littleEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// `length` bytes from `offset`, or `nil` when they do not lie within the buffer.
  func part(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer? {
    guard offset >= 0, length >= 0, offset <= count, length <= count - offset else { return nil }
    return UnsafeRawBufferPointer(rebasing: self[offset..<offset + length])
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Stores `value`; the caller lays the buffer out, so an offset outside it is a bug and traps.
  func setField<T: FixedWidthInteger>(_ offset: Int, _ value: T) {
    precondition(offset >= 0 && offset <= count - MemoryLayout<T>.size)
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  func setPart(_ offset: Int, _ bytes: UnsafeRawBufferPointer) {
    precondition(offset >= 0 && offset <= count - bytes.count)
    guard let source = bytes.baseAddress, let target = baseAddress else { return }
    (target + offset).copyMemory(from: source, byteCount: bytes.count)
  }
}

extension Array where Element == UInt8 {
  mutating func append<T: FixedWidthInteger>(field value: T) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  mutating func setField<T: FixedWidthInteger>(_ offset: Int, _ value: T) {
    withUnsafeMutableBytes { $0.setField(offset, value) }
  }
}

/// Reads fields one after another; every step says whether the bytes suffice.
struct FieldReader {
  let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { offset >= bytes.count }

  mutating func next<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T? {
    guard let value: T = bytes.field(offset) else { return nil }
    offset += MemoryLayout<T>.size
    return value
  }

  mutating func next(bytes length: Int) -> UnsafeRawBufferPointer? {
    guard let part = bytes.part(offset, length) else { return nil }
    offset += length
    return part
  }
}

/// `value` rounded up to a multiple of `step`; `nil` on overflow.
func roundedUp(_ value: UInt64, to step: UInt64) -> UInt64? {
  let (sum, overflow) = value.addingReportingOverflow(step - 1)
  return overflow ? nil : sum / step * step
}
