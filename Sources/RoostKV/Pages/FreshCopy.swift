// Bounds: both pages are whole ones; entries are read through `LeafPage` and `BranchPage`, and written
// through writers that look at the room.

extension PageMemory {
  /// Copies a page into a frame for changing.
  ///
  /// A frame was written by us and is copied whole. A page of the file is written anew entry by entry:
  /// its cells may overlap, or lie about bytes not used, which reading forgives but changing wouldn't.
  func copy(_ page: UnsafeRawPointer, from number: PageNumber, to frame: PageNumber) throws(StoreError) {
    let copy = self.frame(frame)
    guard !isFrame(number) else {
      copy.copyMemory(from: page, byteCount: pageSize)
      PageHeader.setIdentity(copy, number: frame, attempt: 0, generation: 0)
      return
    }
    if PageHeader.level(page) == 0 {
      try rewrite(LeafPage(page, pageSize), to: copy, frame)
    } else {
      try rewrite(BranchPage(page, pageSize), to: copy, frame)
    }
  }

  private func rewrite(
    _ page: LeafPage, to copy: UnsafeMutableRawPointer, _ frame: PageNumber
  ) throws(StoreError) {
    let count = page.count
    var writer = LeafWriter(
      copy, pageSize: pageSize, number: frame, table: PageHeader.table(page.bytes), count: count,
      prefix: page.prefix)
    for index in 0..<count {
      let cell = try page.cell(index, of: count)
      try writer.append(
        head: page.head(index), keyLength: cell.keyLength, tail: cell.tail, value: cell.value,
        valueLength: cell.valueLength)
    }
    try writer.finish()
  }

  private func rewrite(
    _ page: BranchPage, to copy: UnsafeMutableRawPointer, _ frame: PageNumber
  ) throws(StoreError) {
    let count = page.count
    let level = PageHeader.level(page.bytes)
    var writer = BranchWriter(
      copy, pageSize: pageSize, number: frame, level: level, table: PageHeader.table(page.bytes),
      count: count, prefix: page.prefix)
    for index in 0..<count {
      let cell = try page.cell(index, of: count)
      try writer.append(
        head: page.head(index), keyLength: cell.keyLength, tail: cell.tail, page.child(index, of: count))
    }
    try writer.finish()
  }
}
