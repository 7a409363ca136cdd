// Bounds: as in `LeafItems`.

/// The children of up to two branches and a new one among them, in order: what a split, a merge or a
/// change of prefix distributes over pages.
///
/// The pages must not be among those written.
struct BranchItems {
  /// One child: of a page, or with a key of its own.
  struct Item {
    var page: BranchPage?
    var index: Int
    /// The whole key's length; 0 for the first child.
    var keyLength: Int
    var key: UnsafeRawBufferPointer
    var child: Reference
  }

  private let first: BranchPage
  private let firstCount: Int
  private let second: BranchPage?
  /// What the parent has as the key of the second page.
  private let secondKey: UnsafeRawBufferPointer
  private let newKey: UnsafeRawBufferPointer
  private let newChild: Reference?
  private let newIndex: Int
  let count: Int

  /// One page with a new child, which isn't the first.
  init(_ page: BranchPage, newKey: UnsafeRawBufferPointer, _ newChild: Reference, at newIndex: Int) {
    first = page
    firstCount = page.count
    second = nil
    secondKey = UnsafeRawBufferPointer(start: nil, count: 0)
    self.newKey = newKey
    self.newChild = newChild
    self.newIndex = newIndex
    count = firstCount + 1
  }

  /// Two neighbours.
  init(_ first: BranchPage, _ second: BranchPage, secondKey: UnsafeRawBufferPointer) {
    self.first = first
    firstCount = first.count
    self.second = second
    self.secondKey = secondKey
    newKey = UnsafeRawBufferPointer(start: nil, count: 0)
    newChild = nil
    newIndex = 0
    count = firstCount + second.count
  }

  /// - Parameter index: less than `count`.
  func item(_ index: Int) throws(StoreError) -> Item {
    var index = index
    if let newChild {
      if index == newIndex {
        return Item(page: nil, index: 0, keyLength: newKey.count, key: newKey, child: newChild)
      }
      if index > newIndex { index -= 1 }
    }
    guard let second, index >= firstCount else { return try item(of: first, index) }
    index -= firstCount
    guard index == 0 else { return try item(of: second, index) }
    return Item(
      page: nil, index: 0, keyLength: secondKey.count, key: secondKey,
      child: second.child(0, of: second.count))
  }

  private func item(of page: BranchPage, _ index: Int) throws(StoreError) -> Item {
    let count = page.count
    let cell = try page.cell(index, of: count)
    return Item(
      page: page, index: index, keyLength: index == 0 ? 0 : page.prefixLength + cell.keyLength,
      key: UnsafeRawBufferPointer(start: nil, count: 0), child: page.child(index, of: count))
  }

  /// Bytes that a child takes in a page with a prefix of this length, where it isn't the first.
  func size(_ index: Int, prefix: Int) throws(StoreError) -> Int {
    BranchPage.childOverhead + BranchPage.Cell.size(key: max(0, try item(index).keyLength - prefix))
  }

  /// The whole key, in the buffer if it has to be put together.
  func key(_ index: Int, _ buffer: KeyBuffer) throws(StoreError) -> UnsafeRawBufferPointer {
    let item = try item(index)
    guard let page = item.page else { return item.key }
    return try buffer.fill { (bytes, capacity) throws(StoreError) in
      try page.copyKey(item.index, of: page.count, to: bytes, capacity: capacity)
    }
  }

  /// Writes a range of the children as a branch, the first without its key, and returns the
  /// reference's contents.
  ///
  /// - Parameters:
  ///   - prefix: what all keys of the range but the first begin with.
  ///   - buffer: for keys that have to be put together.
  func write(
    _ range: Range<Int>, prefix: UnsafeRawBufferPointer, to page: UnsafeMutableRawPointer,
    _ number: PageNumber,
    level: Int, pageSize: Int, _ buffer: KeyBuffer
  ) throws(StoreError) -> UInt64 {
    var writer = BranchWriter(
      page, pageSize: pageSize, number: number, level: level, table: PageHeader.table(first.bytes),
      count: range.count, prefix: prefix)
    for index in range {
      let item = try item(index)
      if index == range.lowerBound {
        try writer.append(UnsafeRawBufferPointer(start: nil, count: 0), item.child)
      } else if let source = item.page, source.prefixLength == prefix.count {
        let cell = try source.cell(item.index, of: source.count)
        try writer.append(
          head: source.head(item.index), keyLength: cell.keyLength, tail: cell.tail, item.child)
      } else {
        try writer.append(try key(index, buffer), item.child)
      }
    }
    try writer.finish()
    return writer.contents
  }
}
