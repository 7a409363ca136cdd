// Whole keys of entries, put together from prefix, head and tail.
//
// Bounds: the key's length is compared with the buffer's capacity before bytes are written; a head is
// written whole, so buffers have 8 bytes more than the capacity given.

extension LeafPage {
  /// Writes the entry's key and returns its length.
  @inline(__always)
  func copyKey(
    _ index: Int, of count: Int, to buffer: UnsafeMutableRawPointer, capacity: Int
  ) throws(StoreError) -> Int {
    let cell = try cell(index, of: count)
    return try assembleKey(
      bytes, prefix, head(index), cell.tail, cell.keyLength, to: buffer, capacity: capacity)
  }
}

extension BranchPage {
  /// Writes the child's key, which is empty for child 0, and returns its length.
  func copyKey(
    _ index: Int, of count: Int, to buffer: UnsafeMutableRawPointer, capacity: Int
  ) throws(StoreError) -> Int {
    guard index > 0 else { return 0 }
    let cell = try cell(index, of: count)
    return try assembleKey(
      bytes, prefix, head(index), cell.tail, cell.keyLength, to: buffer, capacity: capacity)
  }
}

@inline(__always)
private func assembleKey(
  _ page: UnsafeRawPointer, _ prefix: UnsafeRawBufferPointer, _ head: UInt64, _ tail: UnsafeRawPointer,
  _ length: Int, to buffer: UnsafeMutableRawPointer, capacity: Int
) throws(StoreError) -> Int {
  let total = prefix.count &+ length
  guard total <= capacity else { throw .inconsistent(page) }
  var end = buffer
  if prefix.count > 0, let start = prefix.baseAddress {
    end.copyMemory(from: start, byteCount: prefix.count)
    end += prefix.count
  }
  end.storeBytes(of: head.bigEndian, as: UInt64.self)
  if length > 8 { (end + 8).copyMemory(from: tail, byteCount: length &- 8) }
  return total
}
