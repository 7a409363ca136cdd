// Bounds: an index is below the count, which is the sum of the pages' own; what it leads to is read
// through `LeafPage`, and written through `LeafWriter`, which look at the room.

/// The entries of up to two leaves and a new one among them, in order: what a split, a merge or a
/// change of prefix distributes over pages.
///
/// The pages must not be among those written.
struct LeafItems {
  /// One entry: of a page, or the new one.
  struct Item {
    var page: LeafPage?
    var index: Int
    /// The whole key's length.
    var keyLength: Int
    var value: UnsafeRawPointer
    var valueLength: Int
  }

  private let first: LeafPage
  private let firstCount: Int
  private let second: LeafPage?
  private let new: NewEntry?
  private let newIndex: Int
  let count: Int

  init(_ first: LeafPage, _ second: LeafPage? = nil, new: NewEntry? = nil, at newIndex: Int = 0) {
    self.first = first
    self.second = second
    self.new = new
    self.newIndex = newIndex
    firstCount = first.count
    count = firstCount + (second?.count ?? 0) + (new == nil ? 0 : 1)
  }

  /// - Parameter index: less than `count`.
  func item(_ index: Int) throws(StoreError) -> Item {
    var index = index
    if let new {
      if index == newIndex {
        return Item(
          page: nil, index: 0, keyLength: new.key.count, value: new.value, valueLength: new.valueLength)
      }
      if index > newIndex { index -= 1 }
    }
    if let second, index >= firstCount { return try item(of: second, index - firstCount) }
    return try item(of: first, index)
  }

  private func item(of page: LeafPage, _ index: Int) throws(StoreError) -> Item {
    let cell = try page.cell(index, of: page.count)
    return Item(
      page: page, index: index, keyLength: page.prefixLength + cell.keyLength, value: cell.value,
      valueLength: cell.valueLength)
  }

  /// The length of the first page's prefix.
  var oldPrefixLength: Int { first.prefixLength }

  /// Bytes that an entry takes in a page with a prefix of this length.
  func size(_ index: Int, prefix: Int) throws(StoreError) -> Int {
    let item = try item(index)
    return LeafPage.entryOverhead
      + LeafCell.size(
        key: item.keyLength - prefix, value: item.valueLength, isRun: item.valueLength < 0)
  }

  /// The whole key, in the buffer unless it is the new entry's.
  func key(_ index: Int, _ buffer: KeyBuffer) throws(StoreError) -> UnsafeRawBufferPointer {
    let item = try item(index)
    guard let page = item.page else { return new?.key ?? UnsafeRawBufferPointer(start: nil, count: 0) }
    return try buffer.fill { (bytes, capacity) throws(StoreError) in
      try page.copyKey(item.index, of: page.count, to: bytes, capacity: capacity)
    }
  }

  /// Writes a range of the entries as a leaf, and returns the reference's contents.
  ///
  /// - Parameters:
  ///   - prefix: what all keys of the range begin with.
  ///   - buffer: for keys that have to be put together.
  func write(
    _ range: Range<Int>, prefix: UnsafeRawBufferPointer, to page: UnsafeMutableRawPointer,
    _ number: PageNumber,
    pageSize: Int, _ buffer: KeyBuffer
  ) throws(StoreError) -> UInt64 {
    var writer = LeafWriter(
      page, pageSize: pageSize, number: number, table: PageHeader.table(first.bytes), count: range.count,
      prefix: prefix)
    var hasRuns = false
    for index in range {
      let item = try item(index)
      if item.valueLength < 0 { hasRuns = true }
      if let source = item.page, source.prefixLength == prefix.count {
        let cell = try source.cell(item.index, of: source.count)
        try writer.append(
          head: source.head(item.index), keyLength: cell.keyLength, tail: cell.tail, value: cell.value,
          valueLength: cell.valueLength)
      } else {
        try writer.append(try key(index, buffer), value: item.value, valueLength: item.valueLength)
      }
    }
    try writer.finish()
    return UInt64(range.count) | (hasRuns ? Reference.runsBit : 0)
  }
}
