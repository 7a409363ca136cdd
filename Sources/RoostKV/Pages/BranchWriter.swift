/// Writes a whole branch into a frame, child by child in ascending order.
///
/// Bounds: as in `LeafWriter`.
struct BranchWriter {
  private let page: UnsafeMutableRawPointer
  private let pageSize: Int
  private let count: Int
  private let prefixLength: Int
  private var index = 0
  private var area: Int
  /// What the parent says of the page.
  private(set) var contents: UInt64 = 0

  /// - Parameters:
  ///   - count: the number of children that will be appended, which fit the page.
  ///   - prefix: must not lie in the page.
  init(
    _ page: UnsafeMutableRawPointer, pageSize: Int, number: PageNumber, level: Int,
    table: UInt32, count: Int, prefix: UnsafeRawBufferPointer
  ) {
    self.page = page
    self.pageSize = pageSize
    self.count = count
    prefixLength = prefix.count
    area = pageSize - prefix.count
    PageHeader.begin(page, number: number, kind: .branch, level: level, table: table)
    page.store16(prefix.count, PageHeader.prefixOffset)
    page.store16(count, PageHeader.countOffset)
    if let start = prefix.baseAddress, prefix.count > 0 {
      (page + area).copyMemory(from: start, byteCount: prefix.count)
    }
  }

  /// - Parameter key: begins with the prefix; ignored for the first child, which has none.
  mutating func append(_ key: UnsafeRawBufferPointer, _ child: Reference) throws(StoreError) {
    guard index > 0 else { return try append(head: 0, keyLength: 0, tail: page, child) }
    // Keys of a damaged page needn't be in order, nor begin with what its first and last key do.
    guard key.count >= prefixLength else { throw .inconsistent(page) }
    let rest = UnsafeRawBufferPointer(rebasing: key[prefixLength...])
    let start = rest.baseAddress ?? UnsafeRawPointer(page)
    try append(
      head: KeyBytes.head(start, rest.count), keyLength: rest.count, tail: start + min(8, rest.count), child)
  }

  /// As above, with the key behind the prefix given as head and tail.
  mutating func append(
    head: UInt64, keyLength: Int, tail: UnsafeRawPointer, _ child: Reference
  ) throws(StoreError) {
    let size = BranchPage.Cell.size(key: keyLength)
    guard index < count, area - size >= PageHeader.size + BranchPage.childOverhead * count else {
      throw .inconsistent(page)
    }
    area -= size
    page.store64(head, PageHeader.size + 8 * index)
    child.store(to: page + (PageHeader.size + 8 * count + Reference.size * index))
    page.store16(area, PageHeader.size + 32 * count + 2 * index)
    BranchPage.Cell.write(at: page + area, keyLength: keyLength, tail: tail)
    contents = Reference.sum(contents, child.contents)
    index += 1
  }

  /// Completes the page but for its hash.
  func finish() throws(StoreError) {
    guard index == count else { throw .inconsistent(page) }
    let end = PageHeader.size + BranchPage.childOverhead * count
    page.store32(area, PageHeader.cellAreaOffset)
    (page + end).initializeMemory(as: UInt8.self, repeating: 0, count: area - end)
  }
}

extension BranchPage.Cell {
  /// Writes a cell at `bytes`, where there are `size(key:)` bytes for it.
  static func write(at bytes: UnsafeMutableRawPointer, keyLength: Int, tail: UnsafeRawPointer) {
    let end = Varint.put(keyLength, at: bytes)
    if keyLength > 8 { end.copyMemory(from: tail, byteCount: keyLength - 8) }
  }
}

extension Reference {
  /// Adds up what two references say of their subtrees. Counts of a hostile file may overflow; they wrap.
  @inline(__always)
  static func sum(_ a: UInt64, _ b: UInt64) -> UInt64 {
    ((a & ~runsBit) &+ (b & ~runsBit)) & ~runsBit | (a | b) & runsBit
  }
}
