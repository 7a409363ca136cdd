// Insertion into pages, and splits.
//
// A split leaves the key of the right page in `separator`. Both halves always fit: an entry takes at
// most half a page ([T-5]), a child at most about a third, and the page is split where the halves
// differ least. A new key without the page's prefix lies before or behind all others; where a shorter
// prefix doesn't fit, it gets a page of its own.

extension TreeEditor {
  /// Two pages in the place of one. The key of the right one is in `separator`.
  struct Split {
    var left: Reference
    var right: Reference
    var bias: Bias
  }

  /// Where to split: in the middle, or so that the page stays full that isn't inserted into next.
  enum Bias {
    case middle
    case leftFull
    case rightFull
  }

  /// Inserts an entry into a changeable leaf.
  func insert(
    _ entry: NewEntry, into leaf: LeafEditing, at index: Int, in root: TreeRoot
  ) throws(StoreError) -> Split? {
    let old = leaf.page.prefix
    let common = KeyBytes.commonPrefix(entry.key, old)
    if common == old.count {
      if try leaf.insert(entry, at: index, scratch: image) { return nil }
      return try split(leaf, entry, at: index, bias: bias(index, leaf.count, root))
    }
    let shorter = PrefixChoice.length(common)
    prefix.set(old, count: shorter)
    let items = items(of: leaf, entry, at: index)
    if try fits(items, prefix: shorter) {
      let number = path[0].reference.page
      _ = try items.write(
        0..<items.count, prefix: prefix.key, to: leaf.bytes, number, pageSize: pageSize, firstKey)
      return nil
    }
    return try split(leaf, items, at: index == 0 ? 1 : index, bias: .middle)
  }

  /// Whether an insertion at an edge of the tree looks like one of many in order.
  private func bias(_ index: Int, _ count: Int, _ root: TreeRoot) -> Bias {
    let levels = 1..<max(1, Int(root.height))
    if index == count, levels.allSatisfy({ path[$0].index == branch($0).count - 1 }) { return .leftFull }
    if index == 0, levels.allSatisfy({ path[$0].index == 0 }) { return .rightFull }
    return .middle
  }

  private func items(of leaf: LeafEditing, _ entry: NewEntry, at index: Int) -> LeafItems {
    image.copyMemory(from: leaf.bytes, byteCount: pageSize)
    return LeafItems(LeafPage(image, pageSize), new: entry, at: index)
  }

  private func fits(_ items: LeafItems, prefix: Int) throws(StoreError) -> Bool {
    try bytes(items, 0..<items.count, prefix: prefix) <= pageSize - PageHeader.size
  }

  /// Bytes behind the page header.
  func bytes(_ items: LeafItems, _ range: Range<Int>, prefix: Int) throws(StoreError) -> Int {
    var sum = prefix
    for index in range { sum += try items.size(index, prefix: prefix) }
    return sum
  }
}

// MARK: - Leaves

extension TreeEditor {
  private func split(
    _ leaf: LeafEditing, _ entry: NewEntry, at index: Int, bias: Bias
  ) throws(StoreError) -> Split {
    let items = items(of: leaf, entry, at: index)
    let point =
      switch bias {
      case .leftFull: items.count - 1
      case .rightFull: 1
      case .middle:
        try middle(items.count) { (index) throws(StoreError) in
          try items.size(index, prefix: leaf.prefixLength)
        }
      }
    return try split(leaf, items, at: point, bias: bias)
  }

  /// Leaves the entries before `point` in the page and writes the others to a new one.
  private func split(
    _ leaf: LeafEditing, _ items: LeafItems, at point: Int, bias: Bias
  ) throws(StoreError) -> Split {
    let right = try dirty.newFrame()
    let number = path[0].reference.page
    try choosePrefix(items, point..<items.count)
    let rightContents = try items.write(
      point..<items.count, prefix: prefix.key, to: memory.frame(right), right, pageSize: pageSize, firstKey)
    try choosePrefix(items, 0..<point)
    let leftContents = try items.write(
      0..<point, prefix: prefix.key, to: leaf.bytes, number, pageSize: pageSize, firstKey)
    let last = try items.key(point - 1, firstKey)
    let first = try items.key(point, secondKey)
    // The shortest key that isn't greater than the right page's first and greater than the left's last.
    separator.set(first, count: KeyBytes.commonPrefix(last, first) + 1)
    return Split(
      left: Reference(place: number, contents: leftContents, generation: 0),
      right: Reference(place: right, contents: rightContents, generation: 0), bias: bias)
  }

  /// Leaves in `prefix` what the page of these entries gets as its prefix.
  ///
  /// A page with one entry gets what that has in common with its neighbour: the next entry will
  /// likely have it too.
  func choosePrefix(_ items: LeafItems, _ range: Range<Int>) throws(StoreError) {
    let alone = range.count == 1 && items.count > 1
    let lower = alone && range.lowerBound > 0 ? range.lowerBound - 1 : range.lowerBound
    let upper = alone && lower == range.lowerBound ? range.upperBound : range.upperBound - 1
    let first = try items.key(lower, firstKey)
    let last = try items.key(upper, secondKey)
    let length = PrefixChoice.length(KeyBytes.commonPrefix(first, last))
    let room = pageSize - PageHeader.size
    prefix.set(first, count: try bytes(items, range, prefix: length) <= room ? length : 0)
    // Without room for the prefix of choice, as in a page of two large entries, that of the old page
    // fits, which is shorter.
    if prefix.count == 0, length > 0 { prefix.set(first, count: items.oldPrefixLength) }
  }

  /// The point at which the halves differ least in size.
  func middle(_ count: Int, _ size: (Int) throws(StoreError) -> Int) throws(StoreError) -> Int {
    var total = 0
    for index in 0..<count { total += try size(index) }
    var before = 0
    for index in 0..<count {
      let after = before + (try size(index))
      if 2 * after >= total {
        // Splits before or behind the entry that the middle lies in.
        let isBeforeBetter = total - 2 * before < 2 * after - total
        return min(max(isBeforeBetter ? index : index + 1, 1), count - 1)
      }
      before = after
    }
    return max(1, count - 1)
  }
}

// MARK: - Branches

extension TreeEditor {
  /// Inserts a child with the key in `separator` into a changeable branch, behind its first child.
  func insert(
    _ child: Reference, into branch: BranchEditing, at index: Int, level: Int, in root: TreeRoot, bias: Bias
  ) throws(StoreError) -> Split? {
    let old = branch.page.prefix
    let key = separator.key
    let common = KeyBytes.commonPrefix(key, old)
    if common == old.count, try branch.insert(key, child, at: index, scratch: image) { return nil }
    image.copyMemory(from: branch.bytes, byteCount: pageSize)
    let items = BranchItems(BranchPage(image, pageSize), newKey: key, child, at: index)
    if common == old.count {
      let point =
        switch bias {
        case .leftFull where index == items.count - 1: items.count - 1
        case .rightFull where index == 1: 1
        default:
          try middle(items.count) { (index) throws(StoreError) in
            try items.size(index, prefix: old.count)
          }
        }
      return try split(branch, items, at: point, level: level, bias: bias)
    }
    let shorter = PrefixChoice.length(common)
    prefix.set(old, count: shorter)
    if try bytes(items, 0..<items.count, prefix: shorter) <= pageSize - PageHeader.size {
      _ = try items.write(
        0..<items.count, prefix: prefix.key, to: branch.bytes, path[level].reference.page, level: level,
        pageSize: pageSize, firstKey)
      return nil
    }
    // The new child is the last, or the first that has a key.
    return try split(branch, items, at: index, level: level, bias: bias)
  }

  private func split(
    _ branch: BranchEditing, _ items: BranchItems, at point: Int, level: Int, bias: Bias
  ) throws(StoreError) -> Split {
    let right = try dirty.newFrame()
    let number = path[level].reference.page
    let oldPrefix = branch.prefixLength
    try choosePrefix(items, point..<items.count, oldPrefix: oldPrefix)
    let rightContents = try items.write(
      point..<items.count, prefix: prefix.key, to: memory.frame(right), right, level: level,
      pageSize: pageSize, firstKey)
    try choosePrefix(items, 0..<point, oldPrefix: oldPrefix)
    let leftContents = try items.write(
      0..<point, prefix: prefix.key, to: branch.bytes, number, level: level, pageSize: pageSize, firstKey)
    // The right page's first key goes up. It may lie in `separator`, so it goes through another buffer.
    promoted.set(try items.key(point, firstKey))
    separator.set(promoted.key)
    return Split(
      left: Reference(place: number, contents: leftContents, generation: 0),
      right: Reference(place: right, contents: rightContents, generation: 0), bias: bias)
  }

  /// Leaves in `prefix` what the page of these children gets as its prefix. The first has no key there.
  func choosePrefix(_ items: BranchItems, _ range: Range<Int>, oldPrefix: Int) throws(StoreError) {
    guard range.count > 1 else { return prefix.set(UnsafeRawBufferPointer(start: nil, count: 0)) }
    let first = try items.key(range.lowerBound + 1, firstKey)
    let last = try items.key(range.upperBound - 1, secondKey)
    let common = KeyBytes.commonPrefix(first, last)
    // One key alone is no reason for a longer prefix, which the next key wouldn't have.
    var length = range.count == 2 ? min(oldPrefix, common) : PrefixChoice.length(common)
    let room = pageSize - PageHeader.size
    if try bytes(items, range, prefix: length) > room { length = min(oldPrefix, length) }
    prefix.set(first, count: length)
  }

  /// Bytes behind the page header, where the range's first child has no key.
  func bytes(_ items: BranchItems, _ range: Range<Int>, prefix: Int) throws(StoreError) -> Int {
    var sum = prefix + BranchPage.childOverhead + 1
    for index in range.dropFirst() { sum += try items.size(index, prefix: prefix) }
    return sum
  }
}
