// Removal of ranges. A first pass reads all that is needed, and notes the pages and runs that will be
// released; a second cuts the pages at the two edges of the range.

extension TreeEditor {
  /// One end of a range.
  package enum Bound {
    case unbounded
    case included(UnsafeRawBufferPointer)
    case excluded(UnsafeRawBufferPointer)
  }

  /// Removes the entries between the bounds and returns their number. Leaves within the range aren't
  /// read unless there are runs below their parent's reference. O(log n + pages freed).
  package func removeRange(
    _ lower: Bound, _ upper: Bound, in root: inout TreeRoot
  ) throws(StoreError) -> UInt64 {
    guard root.height > 0, !isEmpty(lower, upper) else { return 0 }
    let top = Int(root.height) - 1
    var doomed = Doomed()
    try collect(root.reference, top, lower, upper, &doomed)
    try dirty.reserve(frames: 2 * Int(root.height))
    let before = root.count
    if let rest = try cut(root.reference, top, lower, upper) {
      root.reference = rest
    } else {
      root.reference = .none
      root.height = 0
    }
    doomed.pages.forEach(dirty.release)
    doomed.runs.forEach(dirty.releaseRun)
    let removed = before &- root.count
    try tidyEdge(lower, &root)
    try tidyEdge(upper, &root)
    try lowerRoot(&root)
    return removed
  }

  /// Removes everything: releases each page and run of the tree. O(pages).
  package func removeAll(in root: inout TreeRoot) throws(StoreError) {
    _ = try removeRange(.unbounded, .unbounded, in: &root)
  }

  private func isEmpty(_ lower: Bound, _ upper: Bound) -> Bool {
    switch (lower, upper) {
    case (.unbounded, _), (_, .unbounded): false
    case (.included(let a), .included(let b)): KeyBytes.compare(a, b) > 0
    case (.included(let a), .excluded(let b)), (.excluded(let a), .included(let b)),
      (.excluded(let a), .excluded(let b)):
      KeyBytes.compare(a, b) >= 0
    }
  }
}

extension TreeEditor.Bound {
  fileprivate var key: UnsafeRawBufferPointer? {
    switch self {
    case .unbounded: nil
    case .included(let key), .excluded(let key): key
    }
  }
}

// MARK: - What lies in the range

extension TreeEditor {
  private struct Doomed {
    var pages: [Reference] = []
    var runs: [RunDescriptor] = []
  }

  /// Indices of the entries of a leaf in the range.
  private func entries(
    _ leaf: LeafPage, _ lower: Bound, _ upper: Bound
  ) throws(StoreError) -> Range<Int> {
    var start = 0
    if let key = lower.key {
      let found = try leaf.search(key)
      start = found.index
      if case .excluded = lower, found.isFound { start += 1 }
    }
    var end = leaf.count
    if let key = upper.key {
      let found = try leaf.search(key)
      end = found.index
      if case .included = upper, found.isFound { end += 1 }
    }
    return start..<max(start, end)
  }

  /// Indices of the first and the last child of a branch that the range touches.
  private func children(
    _ branch: BranchPage, _ lower: Bound, _ upper: Bound
  ) throws(StoreError) -> ClosedRange<Int> {
    let count = branch.count
    var first = 0
    var last = max(0, count - 1)
    if let key = lower.key { first = try branch.childIndex(key, of: count) }
    if let key = upper.key { last = try branch.childIndex(key, of: count) }
    return first...max(first, last)
  }

  /// Notes the pages that lie in the range with all below them, and the runs of all entries in it.
  private func collect(
    _ reference: Reference, _ level: Int, _ lower: Bound, _ upper: Bound, _ doomed: inout Doomed
  ) throws(StoreError) {
    if lower.key == nil, upper.key == nil { return try collectAll(reference, level, &doomed) }
    let page = try memory.page(reference, level: level)
    guard level > 0 else {
      let leaf = LeafPage(page, pageSize)
      return try collectRuns(leaf, try entries(leaf, lower, upper), &doomed)
    }
    let branch = BranchPage(page, pageSize)
    let count = branch.count
    let touched = try children(branch, lower, upper)
    for index in touched {
      try collect(
        branch.child(index, of: count), level - 1, index == touched.lowerBound ? lower : .unbounded,
        index == touched.upperBound ? upper : .unbounded, &doomed)
    }
  }

  private func collectAll(
    _ reference: Reference, _ level: Int, _ doomed: inout Doomed
  ) throws(StoreError) {
    doomed.pages.append(reference)
    if level > 0 {
      let branch = BranchPage(try memory.page(reference, level: level), pageSize)
      let count = branch.count
      for index in 0..<count {
        try collectAll(branch.child(index, of: count), level - 1, &doomed)
      }
    } else if reference.hasRuns {
      let leaf = LeafPage(try memory.page(reference, level: 0), pageSize)
      try collectRuns(leaf, 0..<leaf.count, &doomed)
    }
  }

  private func collectRuns(
    _ leaf: LeafPage, _ range: Range<Int>, _ doomed: inout Doomed
  ) throws(StoreError) {
    for index in range {
      if let run = try leaf.cell(index, of: leaf.count).run { doomed.runs.append(run) }
    }
  }
}

// MARK: - Cutting it out

extension TreeEditor {
  /// Removes the range from a subtree.
  ///
  /// - Returns: what is left, which is the same reference if nothing lay in the range, or nothing.
  private func cut(
    _ reference: Reference, _ level: Int, _ lower: Bound, _ upper: Bound
  ) throws(StoreError) -> Reference? {
    // Released with what `collect` noted.
    if lower.key == nil, upper.key == nil { return nil }
    let page = try memory.page(reference, level: level)
    return level == 0
      ? try cutLeaf(LeafPage(page, pageSize), reference, lower, upper)
      : try cutBranch(BranchPage(page, pageSize), reference, level, lower, upper)
  }

  private func cutLeaf(
    _ leaf: LeafPage, _ reference: Reference, _ lower: Bound, _ upper: Bound
  ) throws(StoreError) -> Reference? {
    let range = try entries(leaf, lower, upper)
    if range.isEmpty { return reference }
    if range.count == leaf.count {
      dirty.release(reference)
      return nil
    }
    var (page, rest) = try dirty.mutable(reference, level: 0)
    for index in range.reversed() { try LeafEditing(page, pageSize).remove(at: index) }
    rest.count = rest.count &- UInt64(range.count)
    return rest
  }

  private func cutBranch(
    _ branch: BranchPage, _ reference: Reference, _ level: Int, _ lower: Bound, _ upper: Bound
  ) throws(StoreError) -> Reference? {
    let count = branch.count
    let touched = try children(branch, lower, upper)
    let first = branch.child(touched.lowerBound, of: count)
    let last = branch.child(touched.upperBound, of: count)
    let isOne = touched.count == 1
    let newFirst = try cut(first, level - 1, lower, isOne ? upper : .unbounded)
    let newLast = isOne ? newFirst : try cut(last, level - 1, .unbounded, upper)
    if touched.count <= 2, newFirst == first, newLast == last { return reference }

    let (page, _) = try dirty.mutable(reference, level: level)
    let editing = BranchEditing(page, pageSize)
    // From behind, so that the indices in front stay.
    if !isOne { try replace(touched.upperBound, newLast, editing) }
    for index in touched.dropFirst().dropLast().reversed() { try editing.remove(at: index) }
    try replace(touched.lowerBound, newFirst, editing)
    let number = PageHeader.number(page)
    guard editing.count > 0 else {
      dirty.release(Reference(place: number, contents: 0, generation: 0))
      return nil
    }
    return Reference(place: number, contents: editing.contents, generation: 0)
  }

  private func replace(_ index: Int, _ child: Reference?, _ branch: BranchEditing) throws(StoreError) {
    if let child { branch.setChild(index, child) } else { try branch.remove(at: index) }
  }

  /// Merges small pages along an edge of the range. Pages that the cut left as they were stay.
  private func tidyEdge(_ bound: Bound, _ root: inout TreeRoot) throws(StoreError) {
    guard let key = bound.key, root.height > 0 else { return }
    // The cut has read this way, or a page beside it: one that can't be read needs no tidying.
    guard (try? descend(to: key, root)) != nil else { return }
    try tidyPath(&root, removed: 0)
  }
}
