/// Checks that a tree page makes sense in itself, so that its bytes can be used. [P-2], [T-7]
///
/// It answers for offsets, lengths and numbers, not for the order of keys: a wrong order gives wrong
/// answers but harms nothing, and `TreeCheck` finds it. Linear in the page's entries.
///
/// The count of unused bytes is not looked at: a page of the file is written anew before it is changed.
///
/// Bounds: header fields are compared with the page's size first; slots lie before the cell area,
/// which was found to begin behind them; a cell's end is compared before its bytes are counted on.
enum PageCheck {
  /// - Parameter children: the pages that children may be.
  /// - Returns: what is wrong, going on the sentence "Page n ...".
  static func problem(of page: UnsafeRawPointer, pageSize: Int, children: Range<PageNumber>) -> String? {
    let isLeaf = PageHeader.level(page) == 0
    let count = PageHeader.count(page)
    let prefix = PageHeader.prefix(page)
    let area = PageHeader.cellArea(page)
    let arrays = PageHeader.size + count * (isLeaf ? LeafPage.entryOverhead : BranchPage.childOverhead)
    guard count > 0 else { return "is empty" }
    guard prefix <= pageSize / 4 else { return "has a prefix longer than a key can be" }
    let end = pageSize - prefix
    guard arrays <= area, area <= end else { return "has overlapping parts" }
    var used = 0
    do {
      used =
        isLeaf
        ? try cellBytes(LeafPage(page, pageSize), count, area, end)
        : try cellBytes(BranchPage(page, pageSize), count, area, end)
    } catch {
      return "has an entry that leads out of its cell area"
    }
    // Overlapping cells would need more room when the page is written anew than it has.
    guard used <= end - area else { return "has overlapping entries" }
    return isLeaf ? nil : problem(ofChildren: BranchPage(page, pageSize), count, children)
  }

  private static func cellBytes(
    _ page: LeafPage, _ count: Int, _ area: Int, _ end: Int
  ) throws(StoreError) -> Int {
    var used = 0
    for index in 0..<count {
      let offset = Int(page.bytes.load16(PageHeader.size + 8 * count + 2 * index))
      guard offset >= area, offset < end else { throw .inconsistent(page.bytes) }
      let cell = try page.cell(at: offset)
      guard offset + cell.size <= end, page.prefixLength + cell.keyLength <= page.pageSize / 4 else {
        throw .inconsistent(page.bytes)
      }
      used += cell.size
    }
    return used
  }

  private static func cellBytes(
    _ page: BranchPage, _ count: Int, _ area: Int, _ end: Int
  ) throws(StoreError) -> Int {
    var used = 0
    for index in 0..<count {
      let offset = Int(page.bytes.load16(PageHeader.size + 32 * count + 2 * index))
      guard offset >= area, offset < end else { throw .inconsistent(page.bytes) }
      let cell = try page.cell(at: offset)
      guard offset + cell.size <= end, page.prefixLength + cell.keyLength <= page.pageSize / 4 else {
        throw .inconsistent(page.bytes)
      }
      used += cell.size
    }
    return used
  }

  private static func problem(
    ofChildren page: BranchPage, _ count: Int, _ children: Range<PageNumber>
  ) -> String? {
    if let first = try? page.cell(0, of: count), first.keyLength != 0 || page.head(0) != 0 {
      return "has a key for its first child"
    }
    for index in 0..<count {
      guard children.contains(page.child(index, of: count).page) else { return "names a child outside the file" }
    }
    return nil
  }
}
