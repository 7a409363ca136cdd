// Bounds: everything is read through `LeafPage` and `BranchPage` behind `PageCheck`; single bytes
// within the page.

/// Something wrong with a tree.
package struct TreeProblem: Sendable, CustomStringConvertible {
  /// What sort of thing, by the names that reports of checks use.
  package enum Kind: String, Sendable {
    case page, stamp, level, outside, owner, order, count, fill, run, doubleUse
  }

  package var kind: Kind
  package var page: PageNumber
  /// Goes on the sentence "Page n ...".
  package var problem: String

  package var description: String { "page \(page) \(problem)" }
}

/// Walks a whole tree and reports what is wrong with it. O(pages), and more than verification does:
/// the order of keys, the bounds that parents set, counts, cells that overlap, pages used twice.
///
/// It goes on behind a problem with whatever can still be read.
package struct TreeCheck {
  package let memory: PageMemory
  /// Whether the subtree of a page of the file was checked before, so that the reference alone is looked at.
  package var isChecked: (Reference) -> Bool = { _ in false }
  /// Called with each page; returns whether it is its first use.
  package var claimPage: (Reference) -> Bool = { _ in true }
  /// Called with each run and the page that names it; returns whether the run is all right (its first
  /// use, within the file). The run itself isn't read.
  package var claimRun: (RunDescriptor, PageNumber) -> Bool = { _, _ in true }
  /// Called with each entry of the leaves that can be read.
  package var visit: (_ key: [UInt8], _ value: LeafCell) -> Void = { _, _ in }

  package private(set) var problems: [TreeProblem] = []
  /// Entries seen.
  package private(set) var entries: UInt64 = 0
  /// Pages seen, by level.
  package private(set) var pages: [UInt64] = []
  /// Bytes in use in these pages, headers included, by level.
  package private(set) var usedBytes: [UInt64] = []

  private var table: UInt32 = 0
  private let buffer: KeyBuffer

  package init(_ memory: PageMemory) {
    self.memory = memory
    buffer = KeyBuffer(pageSize: memory.pageSize)
  }

  package mutating func check(_ root: TreeRoot) {
    table = root.table
    guard root.height > 0 else {
      if !root.reference.isNone { report(.level, root.reference.page, "is the root of a tree said to be empty") }
      return
    }
    let levels = Int(root.height)
    guard levels <= TreeRoot.maximumHeight else {
      return report(.level, root.reference.page, "is the root of a tree \(levels) levels high")
    }
    pages += Array(repeating: 0, count: max(0, levels - pages.count))
    usedBytes += Array(repeating: 0, count: max(0, levels - usedBytes.count))
    check(root.reference, level: levels - 1, lower: nil, upper: nil)
    if levels > 1, let page = try? memory.page(root.reference, level: levels - 1), PageHeader.count(page) < 2 {
      report(.level, root.reference.page, "is a root with one child")
    }
  }

  private mutating func report(_ kind: TreeProblem.Kind, _ page: PageNumber, _ problem: String) {
    // A hostile file shall not fill the memory with complaints.
    guard problems.count < 10_000 else { return }
    problems.append(TreeProblem(kind: kind, page: page, problem: problem))
  }
}

// MARK: - Pages

extension TreeCheck {
  /// - Parameters: the bounds that the parents set: keys lie from `lower` on, below `upper`.
  private mutating func check(_ reference: Reference, level: Int, lower: [UInt8]?, upper: [UInt8]?) {
    let number = reference.page
    if isChecked(reference), (try? memory.page(reference, level: level)) != nil { return }
    guard claimPage(reference) else { return report(.doubleUse, number, "is used more than once") }
    let page: UnsafeRawPointer
    do throws(StoreError) {
      page = try memory.page(reference, level: level)
    } catch {
      return report(kindOfMismatch(reference, level), number, "can't be read: \(error.message)")
    }
    guard isIntact(page, number) else { return }
    pages[level] += 1
    if PageHeader.table(page) != table {
      report(.owner, number, "belongs to table \(PageHeader.table(page)), not \(table)")
    }
    do throws(StoreError) {
      if level == 0 {
        try check(LeafPage(page, memory.pageSize), reference, lower, upper)
      } else {
        try check(BranchPage(page, memory.pageSize), reference, level, lower, upper)
      }
    } catch {
      report(.page, number, "can't be read: \(error.message)")
    }
  }

  /// Why a page isn't the one referred to: it is outside the file, or damaged; or intact and of another state, or of
  /// another level.
  private func kindOfMismatch(_ reference: Reference, _ level: Int) -> TreeProblem.Kind {
    let number = reference.page
    guard !memory.isFrame(number) else { return .page }
    guard number >= memory.firstFilePage, number < memory.fileLimit else { return .outside }
    do throws(StoreError) { try memory.makeResident(number) } catch { return .page }
    let page = UnsafeRawPointer(memory.address(number))
    guard PageHeader.isHashGood(page, pageSize: memory.pageSize, storeSeed: memory.storeSeed, number: number) else {
      return .page
    }
    guard PageHeader.place(page) == reference.place, PageHeader.generation(page) == reference.generation else {
      return .stamp
    }
    return PageHeader.level(page) != level || (PageHeader.kind(page) == .leaf) != (level == 0) ? .level : .page
  }

  /// Looks again at what `PageMemory.page` looks at once a process, or never in frames.
  private mutating func isIntact(_ page: UnsafeRawPointer, _ number: PageNumber) -> Bool {
    let isFrame = memory.isFrame(number)
    if !isFrame,
      !PageHeader.isHashGood(
        page, pageSize: memory.pageSize, storeSeed: memory.storeSeed, number: number)
    {
      report(.page, number, "doesn't match its checksum any more")
      return false
    }
    // A frame's children may be frames or pages of the file.
    let end = isFrame ? memory.frameEnd : memory.fileLimit
    let children = min(memory.firstFilePage, isFrame ? memory.firstFrame : end)..<end
    if let problem = PageCheck.problem(of: page, pageSize: memory.pageSize, children: children) {
      report(.page, number, problem)
      return false
    }
    return true
  }

  private mutating func check(
    _ leaf: LeafPage, _ reference: Reference, _ lower: [UInt8]?, _ upper: [UInt8]?
  ) throws(StoreError) {
    let number = reference.page
    let count = leaf.count
    let limits = TreeLimits(pageSize: memory.pageSize)
    var cells: [Range<Int>] = []
    var order = KeyOrder(lower: lower, upper: upper)
    for index in 0..<count {
      let cell = try leaf.cell(index, of: count)
      cells.append(leaf.slot(index, of: count)..<leaf.slot(index, of: count) + cell.size)
      let key = try wholeKey { (bytes, capacity) throws(StoreError) in
        try leaf.copyKey(index, of: count, to: bytes, capacity: capacity)
      }
      if let problem = order.problem(key) { report(.order, number, "has a key \(problem) at \(index)") }
      checkHead(leaf.head(index), cell.keyLength, number, index)
      if let run = cell.run {
        if !claimRun(run, number) {
          report(.run, number, "names run \(run.page), which is used more than once or can't be there")
        }
        if !reference.hasRuns { report(.run, number, "has a run that the reference to it denies") }
        if run.length <= UInt64(memory.pageSize),
          limits.fitsInline(key: key.count, value: Int(run.length))
        {
          report(.fill, number, "has a run for a value that fits a leaf at \(index)")
        }
      } else if !limits.fitsInline(key: key.count, value: cell.valueLength) {
        report(.fill, number, "has a value that belongs in a run at \(index)")
      }
      visit(key, cell)
    }
    entries += UInt64(count)
    checkSpace(leaf.bytes, number, cells, arrays: LeafPage.entryOverhead * count, level: 0)
    if reference.count != UInt64(count) {
      report(.count, number, "has \(count) entries, not \(reference.count)")
    }
  }

  private mutating func check(
    _ branch: BranchPage, _ reference: Reference, _ level: Int, _ lower: [UInt8]?, _ upper: [UInt8]?
  ) throws(StoreError) {
    let number = reference.page
    let count = branch.count
    var cells: [Range<Int>] = []
    var order = KeyOrder(lower: lower, upper: upper)
    var keys: [[UInt8]] = []
    for index in 0..<count {
      let cell = try branch.cell(index, of: count)
      cells.append(branch.slot(index, of: count)..<branch.slot(index, of: count) + cell.size)
      let key = try wholeKey { (bytes, capacity) throws(StoreError) in
        try branch.copyKey(index, of: count, to: bytes, capacity: capacity)
      }
      if index > 0 {
        if let problem = order.problem(key) { report(.order, number, "has a key \(problem) at \(index)") }
        checkHead(branch.head(index), cell.keyLength, number, index)
        // The first child would have no room between the two.
        if let lower, index == 1, key == lower { report(.order, number, "has a key at its lower bound") }
      }
      keys.append(key)
    }
    checkSpace(branch.bytes, number, cells, arrays: BranchPage.childOverhead * count, level: level)
    var sum: UInt64 = 0
    for index in 0..<count {
      let child = branch.child(index, of: count)
      sum = Reference.sum(sum, child.contents)
      check(
        child, level: level - 1, lower: index == 0 ? lower : keys[index],
        upper: index + 1 < count ? keys[index + 1] : upper)
    }
    if sum & ~Reference.runsBit != reference.count {
      report(.count, number, "has \(sum & ~Reference.runsBit) entries below it, not \(reference.count)")
    }
    if sum & Reference.runsBit != 0, !reference.hasRuns {
      report(.run, number, "has runs below it that the reference to it denies")
    }
  }
}

// MARK: - Parts of pages

extension TreeCheck {
  private func wholeKey(
    _ copy: (UnsafeMutableRawPointer, Int) throws(StoreError) -> Int
  ) throws(StoreError) -> [UInt8] {
    Array(try buffer.fill(copy))
  }

  private mutating func checkHead(_ head: UInt64, _ keyLength: Int, _ number: PageNumber, _ index: Int) {
    guard keyLength < 8, head << UInt64(8 * keyLength) != 0 || (keyLength == 0 && head != 0) else { return }
    report(.order, number, "has a head that isn't zero behind the key's end at \(index)")
  }

  /// Cells must not overlap, and the bytes between slots and cells are zero.
  private mutating func checkSpace(
    _ page: UnsafeRawPointer, _ number: PageNumber, _ cells: [Range<Int>], arrays: Int, level: Int
  ) {
    let sorted = cells.sorted { $0.lowerBound < $1.lowerBound }
    for (cell, next) in zip(sorted, sorted.dropFirst()) where cell.upperBound > next.lowerBound {
      report(.fill, number, "has overlapping entries at offset \(next.lowerBound)")
    }
    let gap = PageHeader.size + arrays..<max(PageHeader.size + arrays, PageHeader.cellArea(page))
    if gap.contains(where: { page.load8($0) != 0 }) {
      report(.fill, number, "has bytes between slots and cells that aren't zero")
    }
    let cellBytes = cells.reduce(0) { $0 + $1.count }
    let unused = memory.pageSize - PageHeader.prefix(page) - PageHeader.cellArea(page) - cellBytes
    if PageHeader.unused(page) != unused {
      report(.fill, number, "has \(unused) unused bytes among its cells, and says \(PageHeader.unused(page))")
    }
    let used = PageHeader.size + arrays + PageHeader.prefix(page) + cellBytes
    usedBytes[level] += UInt64(used)
  }
}

/// Tests keys one after another for ascending order within bounds. [T-4]
private struct KeyOrder {
  let lower: [UInt8]?
  let upper: [UInt8]?
  var last: [UInt8]?

  init(lower: [UInt8]?, upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  mutating func problem(_ key: [UInt8]) -> String? {
    defer { last = key }
    if let last, Self.order(last, key) >= 0 { return "out of order" }
    if let lower, Self.order(key, lower) < 0 { return "below its bound" }
    if let upper, Self.order(key, upper) >= 0 { return "above its bound" }
    return nil
  }

  private static func order(_ a: [UInt8], _ b: [UInt8]) -> Int {
    a.withUnsafeBytes { a in b.withUnsafeBytes { b in KeyBytes.compare(a, b) } }
  }
}
