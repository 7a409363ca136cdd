/// A branch in a frame, changed in place.
///
/// Bounds: as in `LeafEditing`.
struct BranchEditing {
  let bytes: UnsafeMutableRawPointer
  let pageSize: Int

  init(_ bytes: UnsafeMutableRawPointer, _ pageSize: Int) {
    self.bytes = bytes
    self.pageSize = pageSize
  }

  var page: BranchPage { BranchPage(bytes, pageSize) }
  var count: Int { PageHeader.count(bytes) }
  var prefixLength: Int { PageHeader.prefix(bytes) }

  private var cellArea: Int { PageHeader.cellArea(bytes) }
  private var unused: Int { PageHeader.unused(bytes) }
  private var gap: Int { cellArea - PageHeader.size - BranchPage.childOverhead * count }

  /// Bytes that children could still take.
  var free: Int { gap + unused }

  @inline(__always)
  private func referenceAddress(_ index: Int) -> UnsafeMutableRawPointer {
    bytes + (PageHeader.size + 8 * count + Reference.size * index)
  }

  @inline(__always)
  func child(_ index: Int) -> Reference { Reference(loading: referenceAddress(index)) }

  @inline(__always)
  func setChild(_ index: Int, _ reference: Reference) { reference.store(to: referenceAddress(index)) }

  /// What the parent says of the page.
  var contents: UInt64 {
    let count = count
    var sum: UInt64 = 0
    for index in 0..<count { sum = Reference.sum(sum, page.child(index, of: count).contents) }
    return sum
  }

  /// Inserts a child behind the first one, with a key that begins with the page's prefix.
  ///
  /// - Parameter scratch: a page's size of memory.
  /// - Returns: false, and nothing is changed, when there is no room.
  func insert(
    _ key: UnsafeRawBufferPointer, _ child: Reference, at index: Int, scratch: UnsafeMutableRawPointer
  ) throws(StoreError) -> Bool {
    let length = key.count - prefixLength
    let size = BranchPage.Cell.size(key: length)
    guard free >= BranchPage.childOverhead + size else { return false }
    if gap < BranchPage.childOverhead + size { try compact(scratch) }
    let count = count
    openSlot(at: index, of: count)
    let area = cellArea - size
    let start = (key.baseAddress ?? UnsafeRawPointer(bytes)) + prefixLength
    bytes.store16(count + 1, PageHeader.countOffset)
    bytes.store64(KeyBytes.head(start, length), PageHeader.size + 8 * index)
    setChild(index, child)
    bytes.store16(area, PageHeader.size + 32 * (count + 1) + 2 * index)
    BranchPage.Cell.write(at: bytes + area, keyLength: length, tail: start + min(8, length))
    bytes.store32(area, PageHeader.cellAreaOffset)
    return true
  }

  func remove(at index: Int) throws(StoreError) {
    let count = count
    let offset = page.slot(index, of: count)
    let size = try page.cell(at: offset).size
    closeSlot(at: index, of: count)
    bytes.store16(count - 1, PageHeader.countOffset)
    erase(offset, size)
    if index == 0, count > 1 { try emptyFirstKey() }
  }

  /// The second child has become the first, which has no key.
  private func emptyFirstKey() throws(StoreError) {
    let offset = page.slot(0, of: count)
    let size = try page.cell(at: offset).size
    bytes.store64(0, PageHeader.size)
    // A zero byte is the cell of an empty key; it keeps the last byte of the old cell's room.
    (bytes + offset).initializeMemory(as: UInt8.self, repeating: 0, count: size)
    bytes.store16(offset + size - 1, PageHeader.size + 32 * count)
    erase(offset, size - 1)
  }

  private func erase(_ offset: Int, _ size: Int) {
    (bytes + offset).initializeMemory(as: UInt8.self, repeating: 0, count: size)
    if offset == cellArea {
      bytes.store32(offset + size, PageHeader.cellAreaOffset)
    } else {
      bytes.store16(unused + size, PageHeader.unusedOffset)
    }
  }

  /// Makes room in the three arrays. Each part moves before what would be written over it.
  private func openSlot(at index: Int, of count: Int) {
    let heads = bytes + PageHeader.size
    let references = heads + 8 * count
    let slots = heads + 32 * count
    let after = count - index
    (slots + 32 + 2 * (index + 1)).copyMemory(from: slots + 2 * index, byteCount: 2 * after)
    (slots + 32).copyMemory(from: slots, byteCount: 2 * index)
    (references + 8 + 24 * (index + 1)).copyMemory(from: references + 24 * index, byteCount: 24 * after)
    (references + 8).copyMemory(from: references, byteCount: 24 * index)
    (heads + 8 * (index + 1)).copyMemory(from: heads + 8 * index, byteCount: 8 * after)
  }

  private func closeSlot(at index: Int, of count: Int) {
    let heads = bytes + PageHeader.size
    let references = heads + 8 * count
    let slots = heads + 32 * count
    let after = count - index - 1
    (heads + 8 * index).copyMemory(from: heads + 8 * (index + 1), byteCount: 8 * after)
    (references - 8).copyMemory(from: references, byteCount: 24 * index)
    (references - 8 + 24 * index).copyMemory(from: references + 24 * (index + 1), byteCount: 24 * after)
    (slots - 32).copyMemory(from: slots, byteCount: 2 * index)
    (slots - 32 + 2 * index).copyMemory(from: slots + 2 * (index + 1), byteCount: 2 * after)
    (heads + BranchPage.childOverhead * (count - 1))
      .initializeMemory(as: UInt8.self, repeating: 0, count: BranchPage.childOverhead)
  }

  /// Moves the cells together, so that all free bytes lie in the gap.
  private func compact(_ scratch: UnsafeMutableRawPointer) throws(StoreError) {
    let count = count
    let oldArea = cellArea
    (scratch + oldArea).copyMemory(from: bytes + oldArea, byteCount: pageSize - oldArea)
    let image = BranchPage(scratch, pageSize)
    var area = pageSize - prefixLength
    for index in 0..<count {
      let offset = page.slot(index, of: count)
      let size = try image.cell(at: offset).size
      area -= size
      (bytes + area).copyMemory(from: scratch + offset, byteCount: size)
      bytes.store16(area, PageHeader.size + 32 * count + 2 * index)
    }
    (bytes + oldArea).initializeMemory(as: UInt8.self, repeating: 0, count: area - oldArea)
    bytes.store32(area, PageHeader.cellAreaOffset)
    bytes.store16(0, PageHeader.unusedOffset)
  }
}
