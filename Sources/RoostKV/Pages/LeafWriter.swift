/// An entry to be written: its whole key and its value, wherever they lie.
struct NewEntry {
  let key: UnsafeRawBufferPointer
  /// The value, or the run's descriptor.
  let value: UnsafeRawPointer
  /// The value's length; negative: `value` is a descriptor.
  let valueLength: Int

  /// Bytes of its cell behind a prefix.
  @inline(__always)
  func cellSize(prefix: Int) -> Int {
    LeafCell.size(key: key.count &- prefix, value: valueLength, isRun: valueLength < 0)
  }
}

/// Writes a whole leaf into a frame, entry by entry in ascending order.
///
/// Bounds: the arrays' end is known from the count; a cell is written only if it lies behind it.
struct LeafWriter {
  private let page: UnsafeMutableRawPointer
  private let pageSize: Int
  private let count: Int
  private let prefixLength: Int
  private var index = 0
  private var area: Int

  /// - Parameters:
  ///   - count: the number of entries that will be appended, which fit the page.
  ///   - prefix: must not lie in the page.
  init(
    _ page: UnsafeMutableRawPointer, pageSize: Int, number: PageNumber, table: UInt32,
    count: Int, prefix: UnsafeRawBufferPointer
  ) {
    self.page = page
    self.pageSize = pageSize
    self.count = count
    prefixLength = prefix.count
    area = pageSize - prefix.count
    PageHeader.begin(page, number: number, kind: .leaf, table: table)
    page.store16(prefix.count, PageHeader.prefixOffset)
    page.store16(count, PageHeader.countOffset)
    if let start = prefix.baseAddress, prefix.count > 0 {
      (page + area).copyMemory(from: start, byteCount: prefix.count)
    }
  }

  /// - Parameters:
  ///   - key: begins with the prefix.
  mutating func append(
    _ key: UnsafeRawBufferPointer, value: UnsafeRawPointer, valueLength: Int
  ) throws(StoreError) {
    // Keys of a damaged page needn't be in order, nor begin with what its first and last key do.
    guard key.count >= prefixLength else { throw .inconsistent(page) }
    let rest = UnsafeRawBufferPointer(rebasing: key[prefixLength...])
    // An empty buffer may have no address; nothing is read from the one put in its place.
    let start = rest.baseAddress ?? UnsafeRawPointer(page)
    try append(
      head: KeyBytes.head(start, rest.count), keyLength: rest.count, tail: start + min(8, rest.count),
      value: value, valueLength: valueLength)
  }

  /// As above, with the key behind the prefix given as head and tail.
  mutating func append(
    head: UInt64, keyLength: Int, tail: UnsafeRawPointer, value: UnsafeRawPointer, valueLength: Int
  ) throws(StoreError) {
    let size = LeafCell.size(key: keyLength, value: valueLength, isRun: valueLength < 0)
    guard index < count, area - size >= PageHeader.size + LeafPage.entryOverhead * count else {
      throw .inconsistent(page)
    }
    area -= size
    page.store64(head, PageHeader.size + 8 * index)
    page.store16(area, PageHeader.size + 8 * count + 2 * index)
    LeafCell.write(
      at: page + area, keyLength: keyLength, tail: tail, value: value, valueLength: valueLength)
    index += 1
  }

  /// Completes the page but for its hash.
  func finish() throws(StoreError) {
    guard index == count else { throw .inconsistent(page) }
    let end = PageHeader.size + LeafPage.entryOverhead * count
    page.store32(area, PageHeader.cellAreaOffset)
    (page + end).initializeMemory(as: UInt8.self, repeating: 0, count: area - end)
  }
}

extension LeafCell {
  /// Writes a cell at `bytes`, where there are `LeafCell.size` bytes for it.
  @inline(__always)
  static func write(
    at bytes: UnsafeMutableRawPointer, keyLength: Int, tail: UnsafeRawPointer, value: UnsafeRawPointer,
    valueLength: Int
  ) {
    let isRun = valueLength < 0
    var end = Varint.put(keyLength, at: bytes)
    end = Varint.put(isRun ? runMark : valueLength, at: end)
    if keyLength > 8 {
      end.copyMemory(from: tail, byteCount: keyLength - 8)
      end += keyLength - 8
    }
    end.copyMemory(from: value, byteCount: isRun ? RunDescriptor.size : valueLength)
  }
}
