/// Room for one key.
///
/// Bounds: 8 bytes more than the greatest key, since heads are written whole.
final class KeyBuffer {
  let bytes: UnsafeMutableRawPointer
  let capacity: Int
  private(set) var count = 0

  init(pageSize: Int) {
    capacity = pageSize / 4
    bytes = .allocate(byteCount: capacity + 8, alignment: 8)
  }

  deinit { bytes.deallocate() }

  var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes, count: count) }

  /// - Parameter body: writes at most the capacity it is given, and returns how much.
  func fill(
    _ body: (UnsafeMutableRawPointer, Int) throws(StoreError) -> Int
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    count = try body(bytes, capacity)
    return key
  }

  /// Copies the first bytes of a key, as many as fit.
  func set(_ key: UnsafeRawBufferPointer, count wanted: Int? = nil) {
    count = min(wanted ?? key.count, key.count, capacity)
    if let start = key.baseAddress, count > 0 { bytes.copyMemory(from: start, byteCount: count) }
  }
}

/// How long a prefix a page gets.
enum PrefixChoice {
  /// A shorter prefix isn't worth the cache line it lies in, which every search would touch.
  static let minimum = 4

  /// - Parameter common: the length of what all keys have in common.
  static func length(_ common: Int) -> Int { common < minimum ? 0 : common }
}
