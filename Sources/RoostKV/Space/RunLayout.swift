/// Where the parts of a run lie. SPEC.md section 8.
struct RunLayout {
  static let magic: UInt64 = 0x4E55_5254_534F_4F52  // "ROOSTRUN"
  static let chunkBytes: UInt64 = 65536
  static let maximumLength: UInt64 = 1 << 40

  let length: UInt64

  /// `nil` for a length that no value can have.
  init?(length: UInt64) {
    guard length <= Self.maximumLength else { return nil }
    self.length = length
  }

  var chunkCount: UInt64 { (length + Self.chunkBytes - 1) / Self.chunkBytes }
  /// Bytes of the run head: its fields and the chunk hashes.
  var headBytes: UInt64 { 32 + 8 * chunkCount }
  /// Where the value begins.
  var valueOffset: UInt64 { (headBytes + 63) / 64 * 64 }
  var byteCount: UInt64 { valueOffset + length }

  /// The part of the value that chunk `index` is.
  func chunk(_ index: UInt64) -> Range<UInt64> {
    index * Self.chunkBytes..<min(length, (index + 1) * Self.chunkBytes)
  }

  static func seed(_ storeSeed: UInt64, page: UInt64, salt: UInt64) -> UInt64 { storeSeed &+ page &+ salt }
}
