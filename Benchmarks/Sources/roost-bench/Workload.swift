import Foundation

/// The data of the key-value suite: 24-byte random keys, 150-byte random values, made from a number.
struct Workload {
  static let keyBytes = 24
  static let valueBytes = 150

  let count: Int
  /// All keys, one after another.
  let keys: [UInt8]
  /// Numbers of keys in a random order.
  let order: [Int]

  init(count: Int) {
    self.count = count
    var keys = [UInt8](repeating: 0, count: count * Self.keyBytes)
    keys.withUnsafeMutableBytes { bytes in
      for word in 0..<count * 3 { bytes.storeBytes(of: mixed(UInt64(word)), toByteOffset: word * 8, as: UInt64.self) }
    }
    self.keys = keys
    var random = UInt64(7)
    var order = Array(0..<count)
    for index in stride(from: count - 1, to: 0, by: -1) {
      random &+= 1
      order.swapAt(index, Int(mixed(random) % UInt64(index + 1)))
    }
    self.order = order
  }

  /// Fills `value` with the value of a number.
  func fill(_ value: inout [UInt8], _ number: Int) {
    value.withUnsafeMutableBytes { bytes in
      for word in 0..<19 {
        let bits = mixed((1 << 63) &+ UInt64(19 * number + word))
        withUnsafeBytes(of: bits) { source in
          let part = min(8, Self.valueBytes - word * 8)
          for index in 0..<part { bytes[word * 8 + index] = source[index] }
        }
      }
    }
  }

  func key<R>(_ number: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try keys.withUnsafeBytes { bytes in
      try body(UnsafeRawBufferPointer(rebasing: bytes[number * Self.keyBytes..<(number + 1) * Self.keyBytes]))
    }
  }
}

/// SplitMix64's output function.
func mixed(_ value: UInt64) -> UInt64 {
  var z = value &* 0x9E37_79B9_7F4A_7C15
  z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
  z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
  return z ^ z >> 31
}

/// The XOR of a value's 8-byte words: a look at every byte.
@inline(__always)
func touched(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
  var sum: UInt64 = 0
  var offset = 0
  while offset + 8 <= bytes.count {
    sum ^= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    offset += 8
  }
  return sum
}
