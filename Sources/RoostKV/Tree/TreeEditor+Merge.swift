// Bounds: pages are read through `LeafPage` and `BranchPage`; the image is of a page's size.

// What follows a removal: pages that became empty go, pages that became small are merged with a
// neighbour if the two fit one page.
//
// Entries aren't moved between pages that don't fit one: of a small page and its neighbours any two
// are more than a page together, so that a tree is at least about half full anyway.

extension TreeEditor {
  /// A page with fewer bytes in use than this looks for a neighbour to merge with.
  private var smallest: Int { pageSize / 3 }
  /// Merged pages keep some room, lest the next insertion split them again.
  private var mergedLimit: Int { (pageSize - PageHeader.size) / 8 * 7 }

  /// Goes up the path after its leaf has lost entries. Pages that aren't changeable stay as they are.
  ///
  /// - Parameter removed: by how much the counts along the path are too great.
  func tidyPath(_ root: inout TreeRoot, removed: UInt64) throws(StoreError) {
    for level in 1..<max(1, Int(root.height)) {
      let branch = branch(level)
      let index = path[level].index
      var child = path[level - 1].reference
      guard dirty.isMutable(child.page) else { continue }
      if PageHeader.count(path[level - 1].page) == 0 {
        dirty.release(child)
        try branch.remove(at: index)
      } else {
        child.contents = branch.child(index).contents
        child.count = child.count &- removed
        branch.setChild(index, child)
        if isSmall(path[level - 1].page) { try merge(level, branch, index) }
      }
    }
    root.reference.count = root.reference.count &- removed
    try lowerRoot(&root)
  }

  /// Gives up the root as long as it has no entry, or one child only.
  func lowerRoot(_ root: inout TreeRoot) throws(StoreError) {
    while root.height > 0 {
      let level = Int(root.height) - 1
      let page = try memory.page(root.reference, level: level)
      let count = PageHeader.count(page)
      guard count == 0 || (level > 0 && count == 1) else { return }
      dirty.release(root.reference)
      if count == 0 {
        root.reference = .none
        root.height = 0
      } else {
        root.reference = BranchPage(page, pageSize).child(0, of: 1)
        root.height -= 1
      }
    }
  }

  private func isSmall(_ page: UnsafeRawPointer) -> Bool {
    let overhead = PageHeader.level(page) == 0 ? LeafPage.entryOverhead : BranchPage.childOverhead
    let cells = pageSize - PageHeader.cellArea(page) - PageHeader.unused(page)
    return PageHeader.size + overhead * PageHeader.count(page) + cells < smallest
  }

  /// Merges the child at `index`, a changeable page at `level - 1`, with a neighbour, if there is one
  /// with which it fits one page.
  private func merge(_ level: Int, _ branch: BranchEditing, _ index: Int) throws(StoreError) {
    let count = branch.count
    if index + 1 < count, try merge(level, branch, left: index, keeping: index) { return }
    if index > 0 { _ = try merge(level, branch, left: index - 1, keeping: index) }
  }

  /// - Parameters:
  ///   - left: the index of the left one of the two.
  ///   - kept: the index of the one that is changeable, and will have the entries of both.
  private func merge(
    _ level: Int, _ branch: BranchEditing, left: Int, keeping kept: Int
  ) throws(StoreError) -> Bool {
    let other = kept == left ? left + 1 : left
    let keptReference = branch.child(kept)
    let otherReference = branch.child(other)
    // A neighbour that can't be read is left alone: it isn't needed.
    guard let page = try? memory.page(otherReference, level: level - 1) else { return false }
    let target = memory.frame(keptReference.page)
    image.copyMemory(from: target, byteCount: pageSize)
    let pages = kept == left ? (UnsafeRawPointer(image), page) : (page, UnsafeRawPointer(image))
    let contents: UInt64?
    if level == 1 {
      contents = try merge(
        LeafPage(pages.0, pageSize), LeafPage(pages.1, pageSize), to: target, keptReference.page)
    } else {
      let key = try separator.fill { (bytes, capacity) throws(StoreError) in
        try branch.page.copyKey(left + 1, of: branch.count, to: bytes, capacity: capacity)
      }
      contents = try merge(
        BranchPage(pages.0, pageSize), BranchPage(pages.1, pageSize), secondKey: key, level: level - 1,
        to: target, keptReference.page)
    }
    guard let contents else { return false }
    dirty.release(otherReference)
    branch.setChild(left, Reference(place: keptReference.page, contents: contents, generation: 0))
    try branch.remove(at: left + 1)
    // The path goes on through the page that was kept.
    path[level].index = left
    return true
  }

  private func merge(
    _ left: LeafPage, _ right: LeafPage, to target: UnsafeMutableRawPointer, _ number: PageNumber
  ) throws(StoreError) -> UInt64? {
    let items = LeafItems(left, right)
    let all = 0..<items.count
    let first = try items.key(0, firstKey)
    let last = try items.key(items.count - 1, secondKey)
    prefix.set(first, count: PrefixChoice.length(KeyBytes.commonPrefix(first, last)))
    guard try bytes(items, all, prefix: prefix.count) <= mergedLimit else { return nil }
    return try items.write(all, prefix: prefix.key, to: target, number, pageSize: pageSize, firstKey)
  }

  private func merge(
    _ left: BranchPage, _ right: BranchPage, secondKey: UnsafeRawBufferPointer, level: Int,
    to target: UnsafeMutableRawPointer, _ number: PageNumber
  ) throws(StoreError) -> UInt64? {
    let items = BranchItems(left, right, secondKey: secondKey)
    let all = 0..<items.count
    try choosePrefix(items, all, oldPrefix: 0)
    guard try bytes(items, all, prefix: prefix.count) <= mergedLimit else { return nil }
    return try items.write(
      all, prefix: prefix.key, to: target, number, level: level, pageSize: pageSize, firstKey)
  }
}
