#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// Bounds: each function reads within the counts it is given; a word is read only where 8 bytes are
// left.

/// Heads and comparisons of keys. Each function reads only within the counts it is given.
enum KeyBytes {
  /// The head of a key: its first 8 bytes as a big-endian number, zero-filled. [T-1]
  @inline(__always)
  static func head(_ key: UnsafeRawPointer, _ count: Int) -> UInt64 {
    if count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
    return shortHead(key, count)
  }

  /// The head of up to 7 bytes. Two overlapping words cover 4 to 7 bytes.
  @inline(__always)
  private static func shortHead(_ key: UnsafeRawPointer, _ count: Int) -> UInt64 {
    if count >= 4 {
      let first = UInt64(UInt32(bigEndian: key.loadUnaligned(as: UInt32.self)))
      let last = UInt64(UInt32(bigEndian: key.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)))
      return first << 32 | last << UInt64(8 &* (8 &- count))
    }
    var head: UInt64 = 0
    for index in 0..<max(0, count) {
      head |= UInt64(key.load8(index)) << UInt64(56 &- 8 &* index)
    }
    return head
  }

  /// Negative, zero or positive as the first `count` bytes of `a` are less, the same or greater.
  @inline(__always)
  static func compare(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ count: Int) -> Int {
    var offset = 0
    // What follows the head is short in most keys: words in line beat a call.
    while count &- offset >= 8 {
      let x = UInt64(bigEndian: a.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let y = UInt64(bigEndian: b.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      if x != y { return x < y ? -1 : 1 }
      offset &+= 8
      if offset == 64 { return Int(memcmp(a + offset, b + offset, count &- offset)) }
    }
    let x = shortHead(a + offset, count &- offset)
    let y = shortHead(b + offset, count &- offset)
    return x == y ? 0 : x < y ? -1 : 1
  }

  /// Compares two keys: bytes, then length.
  @inline(__always)
  static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let common = min(a.count, b.count)
    if common > 0, let x = a.baseAddress, let y = b.baseAddress {
      let order = compare(x, y, common)
      if order != 0 { return order }
    }
    return a.count &- b.count
  }

  /// The length of the longest common prefix.
  static func commonPrefix(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let count = min(a.count, b.count)
    guard count > 0, let x = a.baseAddress, let y = b.baseAddress else { return 0 }
    var offset = 0
    while count &- offset >= 8 {
      let difference = x.load64(offset) ^ y.load64(offset)
      if difference != 0 { return offset + difference.trailingZeroBitCount / 8 }
      offset &+= 8
    }
    while offset < count, x.load8(offset) == y.load8(offset) { offset &+= 1 }
    return offset
  }
}

/// Searches in the array of heads that a tree page has behind its header.
enum HeadSearch {
  /// The first index of `range` whose head isn't less than `head`, else the range's end.
  @inline(__always)
  static func lowerBound(
    _ heads: UnsafeRawPointer, _ head: UInt64, from start: Int, to end: Int
  ) -> Int {
    var low = start
    var high = end
    while low < high {
      let middle = (low &+ high) >> 1
      if heads.load64(8 &* middle) < head { low = middle &+ 1 } else { high = middle }
    }
    return low
  }

  /// The first index of the range whose head is greater than `head`, else the range's end.
  @inline(__always)
  static func upperBound(
    _ heads: UnsafeRawPointer, _ head: UInt64, from start: Int, to end: Int
  ) -> Int {
    var low = start
    var high = end
    while low < high {
      let middle = (low &+ high) >> 1
      if heads.load64(8 &* middle) <= head { low = middle &+ 1 } else { high = middle }
    }
    return low
  }
}
