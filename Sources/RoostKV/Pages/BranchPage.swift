/// A branch, for reading. SPEC section 6.
///
/// Bounds: as in `LeafPage`.
struct BranchPage {
  let bytes: UnsafeRawPointer
  let pageSize: Int

  /// Bytes of head, reference and slot.
  static let childOverhead = 34

  /// The key of a child, in place.
  struct Cell {
    /// The key's length behind the page's prefix.
    let keyLength: Int
    /// The key's bytes behind prefix and head.
    let tail: UnsafeRawPointer
    /// Bytes of the whole cell.
    let size: Int

    var tailLength: Int { max(0, keyLength - 8) }

    static func size(key: Int) -> Int { Varint.size(key) + max(0, key - 8) }
  }

  @inline(__always)
  init(_ bytes: UnsafeRawPointer, _ pageSize: Int) {
    self.bytes = bytes
    self.pageSize = pageSize
  }

  @inline(__always)
  var count: Int { min(PageHeader.count(bytes), (pageSize &- PageHeader.size) / Self.childOverhead) }

  @inline(__always)
  var prefixLength: Int { min(PageHeader.prefix(bytes), pageSize / 4) }

  @inline(__always)
  var prefix: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes + (pageSize &- prefixLength), count: prefixLength)
  }

  @inline(__always)
  var heads: UnsafeRawPointer { bytes + PageHeader.size }

  /// - Parameter index: less than `count`.
  @inline(__always)
  func head(_ index: Int) -> UInt64 { bytes.load64(PageHeader.size &+ 8 &* index) }

  /// - Parameter index: less than `count`, which is `self.count`, read once.
  @inline(__always)
  func child(_ index: Int, of count: Int) -> Reference {
    Reference(loading: bytes + (PageHeader.size &+ 8 &* count &+ Reference.size &* index))
  }

  @inline(__always)
  func slot(_ index: Int, of count: Int) -> Int {
    Int(bytes.load16(PageHeader.size &+ 32 &* count &+ 2 &* index)) & (pageSize &- 1)
  }

  @inline(__always)
  func cell(_ index: Int, of count: Int) throws(StoreError) -> Cell {
    try cell(at: slot(index, of: count))
  }

  /// - Parameter offset: less than the page's size.
  @inline(__always)
  func cell(at offset: Int) throws(StoreError) -> Cell {
    var word = Varint.word(bytes, offset, pageSize)
    var length = 0
    let keyLength = Varint.take(&word, &length)
    let size = length &+ max(0, keyLength &- 8)
    guard offset &+ size <= pageSize else { throw .inconsistent(bytes) }
    return Cell(keyLength: keyLength, tail: bytes + (offset &+ length), size: size)
  }
}

extension BranchPage {
  /// The child in whose bounds the key lies: the last whose key isn't greater. O(log n).
  @inline(__always)
  func childIndex(_ key: UnsafeRawBufferPointer, of count: Int) throws(StoreError) -> Int {
    guard count > 1 else { return 0 }
    let rest: RestOfKey
    switch RestOfKey.split(key, prefix: prefix) {
    case .before: return 0
    case .behind: return count &- 1
    case .within(let found): rest = found
    }
    // Child 0 has no key.
    let end = HeadSearch.upperBound(heads, rest.head, from: 1, to: count)
    let last = end &- 1
    guard last >= 1, head(last) == rest.head else { return last }
    // A key no longer than the head is never greater than a searched one with the same head that is
    // as long; most separators are.
    let cell = try cell(last, of: count)
    if rest.compareBehindHead(cell.tail, cell.keyLength) >= 0 { return last }
    return try searchEqualHeads(rest, before: last, count)
  }

  /// The last child with the key's head had a greater key: goes on before it.
  @inline(never)
  private func searchEqualHeads(
    _ rest: RestOfKey, before end: Int, _ count: Int
  ) throws(StoreError) -> Int {
    var low = HeadSearch.lowerBound(heads, rest.head, from: 1, to: end)
    var high = end
    while low < high {
      let middle = (low &+ high) >> 1
      let cell = try cell(middle, of: count)
      if rest.compareBehindHead(cell.tail, cell.keyLength) >= 0 { low = middle &+ 1 } else { high = middle }
    }
    return low &- 1
  }
}
