// Bounds: a word is read up to the page's end; two bytes are written where the caller has room for the
// cell.

/// The varints that cells begin with. SPEC section 2.
enum Varint {
  static let maximum = 0x7FFF

  /// Bytes of a stored value.
  @inline(__always)
  static func size(_ value: Int) -> Int { value < 0x80 ? 1 : 2 }

  /// Takes a varint off the low bytes of a little-endian word; `length` grows by its bytes.
  @inline(__always)
  static func take(_ word: inout UInt32, _ length: inout Int) -> Int {
    if word & 0x80 == 0 {
      let value = Int(word & 0x7F)
      word >>= 8
      length &+= 1
      return value
    }
    let value = Int(word & 0x7F) << 8 | Int((word >> 8) & 0xFF)
    word >>= 16
    length &+= 2
    return value
  }

  /// Writes `value`, at most `maximum`, and returns the address behind it.
  @inline(__always)
  static func put(_ value: Int, at bytes: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if value < 0x80 {
      bytes.storeBytes(of: UInt8(truncatingIfNeeded: value), as: UInt8.self)
      return bytes + 1
    }
    bytes.storeBytes(of: UInt8(truncatingIfNeeded: 0x80 | value >> 8), as: UInt8.self)
    bytes.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: 1, as: UInt8.self)
    return bytes + 2
  }

  /// The four bytes at `offset`, zero-filled where they would lie behind the page's end.
  @inline(__always)
  static func word(_ page: UnsafeRawPointer, _ offset: Int, _ pageSize: Int) -> UInt32 {
    if offset &+ 4 <= pageSize { return page.load32(offset) }
    return lastWord(page, offset, pageSize)
  }

  @inline(never)
  private static func lastWord(_ page: UnsafeRawPointer, _ offset: Int, _ pageSize: Int) -> UInt32 {
    var word: UInt32 = 0
    var index = offset
    while index < pageSize {
      word |= UInt32(page.load8(index)) << UInt32(8 * (index - offset))
      index += 1
    }
    return word
  }
}
