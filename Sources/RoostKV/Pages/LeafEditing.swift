/// A leaf in a frame, changed in place.
///
/// Bounds: a frame is well formed, for all its writers are here, in `LeafWriter` and in `BranchEditing`;
/// an index is less than the count, and a cell is added only after its room was checked. Bytes that
/// nothing uses are zero at any time. [P-3]
struct LeafEditing {
  let bytes: UnsafeMutableRawPointer
  let pageSize: Int

  init(_ bytes: UnsafeMutableRawPointer, _ pageSize: Int) {
    self.bytes = bytes
    self.pageSize = pageSize
  }

  var page: LeafPage { LeafPage(bytes, pageSize) }
  var count: Int { PageHeader.count(bytes) }
  var prefixLength: Int { PageHeader.prefix(bytes) }

  private var cellArea: Int { PageHeader.cellArea(bytes) }
  private var unused: Int { PageHeader.unused(bytes) }

  /// Bytes between the slots and the cells.
  private var gap: Int { cellArea - PageHeader.size - LeafPage.entryOverhead * count }

  /// Bytes that entries could still take.
  var free: Int { gap + unused }

  /// Inserts an entry that begins with the page's prefix.
  ///
  /// - Parameter scratch: a page's size of memory.
  /// - Returns: false, and nothing is changed, when there is no room.
  func insert(
    _ entry: NewEntry, at index: Int, scratch: UnsafeMutableRawPointer
  ) throws(StoreError) -> Bool {
    let prefix = prefixLength
    let size = entry.cellSize(prefix: prefix)
    guard free >= LeafPage.entryOverhead + size else { return false }
    if gap < LeafPage.entryOverhead + size { try compact(scratch) }
    let count = count
    openSlot(at: index, of: count)
    let area = cellArea - size
    let start = (entry.key.baseAddress ?? UnsafeRawPointer(bytes)) + prefix
    let length = entry.key.count - prefix
    bytes.store64(KeyBytes.head(start, length), PageHeader.size + 8 * index)
    bytes.store16(area, PageHeader.size + 8 * (count + 1) + 2 * index)
    LeafCell.write(
      at: bytes + area, keyLength: length, tail: start + min(8, length), value: entry.value,
      valueLength: entry.valueLength)
    bytes.store16(count + 1, PageHeader.countOffset)
    bytes.store32(area, PageHeader.cellAreaOffset)
    return true
  }

  /// Overwrites the value where the new one takes as many bytes.
  ///
  /// - Returns: false, and nothing is changed, when it doesn't.
  func overwrite(_ entry: NewEntry, at index: Int) throws(StoreError) -> Bool {
    let cell = try page.cell(index, of: count)
    guard cell.valueLength == entry.valueLength else { return false }
    UnsafeMutableRawPointer(mutating: cell.value)
      .copyMemory(from: entry.value, byteCount: cell.storedLength)
    return true
  }

  func remove(at index: Int) throws(StoreError) {
    let count = count
    let offset = page.slot(index, of: count)
    let size = try page.cell(at: offset).size
    closeSlot(at: index, of: count)
    bytes.store16(count - 1, PageHeader.countOffset)
    (bytes + offset).initializeMemory(as: UInt8.self, repeating: 0, count: size)
    if offset == cellArea {
      bytes.store32(offset + size, PageHeader.cellAreaOffset)
    } else {
      bytes.store16(unused + size, PageHeader.unusedOffset)
    }
  }

  /// Makes room in the two arrays. Each part moves before what would be written over it.
  private func openSlot(at index: Int, of count: Int) {
    let heads = bytes + PageHeader.size
    let slots = heads + 8 * count
    (slots + 8 + 2 * (index + 1)).copyMemory(from: slots + 2 * index, byteCount: 2 * (count - index))
    (slots + 8).copyMemory(from: slots, byteCount: 2 * index)
    (heads + 8 * (index + 1)).copyMemory(from: heads + 8 * index, byteCount: 8 * (count - index))
  }

  private func closeSlot(at index: Int, of count: Int) {
    let heads = bytes + PageHeader.size
    let slots = heads + 8 * count
    (heads + 8 * index).copyMemory(from: heads + 8 * (index + 1), byteCount: 8 * (count - index - 1))
    (slots - 8).copyMemory(from: slots, byteCount: 2 * index)
    (slots - 8 + 2 * index).copyMemory(from: slots + 2 * (index + 1), byteCount: 2 * (count - index - 1))
    (heads + LeafPage.entryOverhead * (count - 1))
      .initializeMemory(as: UInt8.self, repeating: 0, count: LeafPage.entryOverhead)
  }

  /// Moves the cells together, so that all free bytes lie in the gap.
  private func compact(_ scratch: UnsafeMutableRawPointer) throws(StoreError) {
    let count = count
    let oldArea = cellArea
    (scratch + oldArea).copyMemory(from: bytes + oldArea, byteCount: pageSize - oldArea)
    let image = LeafPage(scratch, pageSize)
    var area = pageSize - prefixLength
    for index in 0..<count {
      let offset = page.slot(index, of: count)
      let size = try image.cell(at: offset).size
      area -= size
      (bytes + area).copyMemory(from: scratch + offset, byteCount: size)
      bytes.store16(area, PageHeader.size + 8 * count + 2 * index)
    }
    (bytes + oldArea).initializeMemory(as: UInt8.self, repeating: 0, count: area - oldArea)
    bytes.store32(area, PageHeader.cellAreaOffset)
    bytes.store16(0, PageHeader.unusedOffset)
  }
}
