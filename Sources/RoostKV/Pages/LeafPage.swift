/// One entry of a leaf, in place: valid as long as the page is.
package struct LeafCell {
  /// The key's length behind the page's prefix.
  let keyLength: Int
  /// The key's bytes behind prefix and head: `max(0, keyLength - 8)` of them, then the value.
  let tail: UnsafeRawPointer
  /// The value, or the run's descriptor.
  let value: UnsafeRawPointer
  /// The value's length; negative: it lies in a run.
  let valueLength: Int
  /// Bytes of the whole cell.
  let size: Int

  /// `v` of a cell whose value lies in a run.
  static let runMark = Varint.maximum

  @inline(__always)
  var tailLength: Int { max(0, keyLength &- 8) }
  /// Bytes stored for the value.
  @inline(__always)
  var storedLength: Int { valueLength < 0 ? RunDescriptor.size : valueLength }

  /// Where the value lies if not in the leaf.
  @inline(__always)
  package var run: RunDescriptor? { valueLength < 0 ? RunDescriptor(loading: value) : nil }

  /// The value if it lies in the leaf, else no bytes.
  @inline(__always)
  package var inlineValue: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: value, count: max(0, valueLength))
  }

  /// Bytes of a cell.
  @inline(__always)
  static func size(key: Int, value: Int, isRun: Bool) -> Int {
    Varint.size(key) &+ Varint.size(isRun ? runMark : value) &+ max(0, key &- 8)
      &+ (isRun ? RunDescriptor.size : value)
  }
}

/// A leaf, for reading. SPEC section 6.
///
/// Bounds: the count is clamped so that heads and slots end within the page; a cell is handed out
/// only when its bytes end within the page. Both are done at each use, since mapped bytes may change.
struct LeafPage {
  let bytes: UnsafeRawPointer
  let pageSize: Int

  /// Bytes of head and slot.
  static let entryOverhead = 10

  @inline(__always)
  init(_ bytes: UnsafeRawPointer, _ pageSize: Int) {
    self.bytes = bytes
    self.pageSize = pageSize
  }

  @inline(__always)
  var count: Int { min(PageHeader.count(bytes), (pageSize &- PageHeader.size) / Self.entryOverhead) }

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

  @inline(__always)
  func slot(_ index: Int, of count: Int) -> Int {
    Int(bytes.load16(PageHeader.size &+ 8 &* count &+ 2 &* index)) & (pageSize &- 1)
  }

  /// - Parameter index: less than `count`, which is `self.count`, read once.
  @inline(__always)
  func cell(_ index: Int, of count: Int) throws(StoreError) -> LeafCell {
    try cell(at: slot(index, of: count))
  }

  /// - Parameter offset: less than the page's size.
  @inline(__always)
  func cell(at offset: Int) throws(StoreError) -> LeafCell {
    var word = Varint.word(bytes, offset, pageSize)
    var length = 0
    let keyLength = Varint.take(&word, &length)
    let value = Varint.take(&word, &length)
    let isRun = value == LeafCell.runMark
    let tailLength = max(0, keyLength &- 8)
    // Each term is below 2^16, so the sums can't overflow.
    let size = length &+ tailLength &+ (isRun ? RunDescriptor.size : value)
    guard offset &+ size <= pageSize else { throw .inconsistent(bytes) }
    let tail = bytes + (offset &+ length)
    return LeafCell(
      keyLength: keyLength, tail: tail, value: tail + tailLength, valueLength: isRun ? -1 : value, size: size)
  }
}

extension LeafPage {
  /// Where a key is, or would be inserted.
  struct Position {
    var index: Int
    var isFound: Bool
  }

  /// O(log n), also among equal heads.
  @inline(__always)
  func search(_ key: UnsafeRawBufferPointer) throws(StoreError) -> Position {
    let count = count
    let rest: RestOfKey
    switch RestOfKey.split(key, prefix: prefix) {
    case .before: return Position(index: 0, isFound: false)
    case .behind: return Position(index: count, isFound: false)
    case .within(let found): rest = found
    }
    let index = HeadSearch.lowerBound(heads, rest.head, from: 0, to: count)
    guard index < count, head(index) == rest.head else { return Position(index: index, isFound: false) }
    let order = try compare(rest, index, of: count)
    if order <= 0 { return Position(index: index, isFound: order == 0) }
    return try searchEqualHeads(rest, from: index &+ 1, count)
  }

  /// - Returns: the order of the key to the entry with the same head.
  @inline(__always)
  func compare(_ rest: RestOfKey, _ index: Int, of count: Int) throws(StoreError) -> Int {
    let cell = try cell(index, of: count)
    return rest.compareBehindHead(cell.tail, cell.keyLength)
  }

  /// The first entry with the key's head was less than the key: goes on behind it.
  @inline(never)
  private func searchEqualHeads(
    _ rest: RestOfKey, from start: Int, _ count: Int
  ) throws(StoreError) -> Position {
    var low = start
    var high = HeadSearch.upperBound(heads, rest.head, from: start, to: count)
    while low < high {
      let middle = (low &+ high) >> 1
      let order = try compare(rest, middle, of: count)
      if order == 0 { return Position(index: middle, isFound: true) }
      if order > 0 { low = middle &+ 1 } else { high = middle }
    }
    return Position(index: low, isFound: false)
  }
}

/// What follows a page's prefix in a key that is searched.
struct RestOfKey {
  let bytes: UnsafeRawPointer
  let count: Int
  let head: UInt64

  /// Where the key lies relative to all keys that begin with a prefix.
  enum Split {
    case before
    case behind
    case within(RestOfKey)
  }

  @inline(__always)
  init(_ bytes: UnsafeRawPointer, _ count: Int) {
    self.bytes = bytes
    self.count = count
    head = KeyBytes.head(bytes, count)
  }

  @inline(__always)
  static func split(_ key: UnsafeRawBufferPointer, prefix: UnsafeRawBufferPointer) -> Split {
    let start = key.baseAddress ?? emptyKey
    guard prefix.count > 0 else { return .within(RestOfKey(start, key.count)) }
    return splitBehindPrefix(start, key.count, prefix)
  }

  @inline(__always)
  private static func splitBehindPrefix(
    _ start: UnsafeRawPointer, _ count: Int, _ prefix: UnsafeRawBufferPointer
  ) -> Split {
    guard let expected = prefix.baseAddress else { return .before }
    let order = KeyBytes.compare(start, expected, min(count, prefix.count))
    if order < 0 { return .before }
    if order > 0 { return .behind }
    guard count >= prefix.count else { return .before }
    return .within(RestOfKey(start + prefix.count, count &- prefix.count))
  }

  /// The order to a key with the same head, of `length` bytes, whose bytes behind the head are at `tail`. [T-4]
  ///
  /// Where one of the two is no longer than the head, the other has at least its bytes (the head is
  /// zero-filled, and equal), so the length decides.
  @inline(__always)
  func compareBehindHead(_ tail: UnsafeRawPointer, _ length: Int) -> Int {
    let common = min(count, length) &- 8
    if common > 0 {
      let order = KeyBytes.compare(bytes + 8, tail, common)
      if order != 0 { return order }
    }
    return count &- length
  }

  /// Some address for an empty key; nothing is read there.
  private static var emptyKey: UnsafeRawPointer { UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped }
}
