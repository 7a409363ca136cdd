import RoostKV

extension StorageFile {
  package func write(_ bytes: [UInt8], at offset: UInt64) throws(StoreError) {
    try Self.withRaw(bytes) { (raw) throws(StoreError) in try write(raw, at: offset) }
  }

  package func writeDurably(_ bytes: [UInt8], at offset: UInt64) throws(StoreError) {
    try Self.withRaw(bytes) { (raw) throws(StoreError) in try writeDurably(raw, at: offset) }
  }

  /// The bytes there are in the range; fewer at the file's end.
  package func read(_ count: Int, at offset: UInt64) throws(StoreError) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
    defer { buffer.deallocate() }
    return Array(buffer.prefix(try read(into: buffer, at: offset)))
  }

  private static func withRaw(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    defer { buffer.deallocate() }
    buffer.copyBytes(from: bytes)
    try body(UnsafeRawBufferPointer(buffer))
  }
}
