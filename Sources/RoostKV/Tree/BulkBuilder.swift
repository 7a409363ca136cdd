// Bounds: frames are whole pages; entries of pages are read through `LeafPage` and `BranchPage`.

/// Builds a tree, or goes on building one at its right edge, from entries in ascending order. Pages are
/// filled, and none is touched twice. `finish()` has to be called.
///
/// After a throw the tree can't be finished; rolling the dirty set back undoes what was done.
package final class BulkBuilder {
  /// Called with each finished page, which isn't changed any more by the builder. It may write the page
  /// to the file, free the frame, and return the reference that names it there.
  package var pageFinished: ((Reference) throws(StoreError) -> Reference)?

  private let dirty: DirtySet
  private let table: UInt32
  private let limits: TreeLimits
  private let leaf: PendingLeaf
  private var branches: [PendingBranch] = []
  private let separator: KeyBuffer

  /// - Parameter root: the tree to append to. The pages of its right edge are released.
  package init(_ dirty: DirtySet, root: TreeRoot = .empty) throws(StoreError) {
    self.dirty = dirty
    table = root.table
    let pageSize = dirty.memory.pageSize
    limits = TreeLimits(pageSize: pageSize)
    leaf = PendingLeaf(pageSize: pageSize)
    separator = KeyBuffer(pageSize: pageSize)
    if root.height > 0 { try dissolve(root) }
  }

  /// - Throws: `unsortedInput` unless the key is greater than all before; `keyTooLong`, `valueTooLong`
  ///   as of `TreeEditor.put`.
  package func append(_ key: UnsafeRawBufferPointer, _ value: TreeValue) throws(StoreError) {
    guard key.count <= limits.maximumKey else {
      throw StoreError(
        .keyTooLong, "A key of \(key.count) bytes is too long",
        remedy: "use keys of at most \(limits.maximumKey) bytes, or a larger page size")
    }
    if case .inline(let bytes) = value, !limits.fitsInline(key: key.count, value: bytes.count) {
      throw StoreError(
        .valueTooLong, "A value of \(bytes.count) bytes doesn't fit a leaf",
        remedy: "store it in a run of pages")
    }
    if let last = leaf.lastKey {
      guard KeyBytes.compare(last, key) < 0 else {
        throw StoreError(
          .unsortedInput, "The input isn't in ascending order of keys", remedy: "sort it, each key once")
      }
      if !leaf.hasRoom(key, value) {
        separator.set(key, count: KeyBytes.commonPrefix(last, key) + 1)
        try finishLeaf()
        leaf.begin(separator.key)
      }
    }
    leaf.append(key, value)
  }

  package func finish() throws(StoreError) -> TreeRoot {
    guard !leaf.isEmpty else { return TreeRoot.empty(table: table) }
    try finishLeaf()
    var level = 1
    while level < branches.count || branches[level - 1].count > 1 {
      try finishBranch(level)
      level += 1
    }
    return TreeRoot(
      reference: branches[level - 1].onlyChild, height: UInt8(truncatingIfNeeded: level), table: table)
  }
}

// MARK: - Finished pages

extension BulkBuilder {
  private func finishLeaf() throws(StoreError) {
    let frame = try dirty.newFrame()
    let contents = try leaf.write(to: dirty.memory.frame(frame), frame, table)
    try add(leaf.separator, try finished(frame, contents), level: 1)
  }

  private func finished(_ frame: PageNumber, _ contents: UInt64) throws(StoreError) -> Reference {
    let reference = Reference(place: frame, contents: contents, generation: 0)
    guard let pageFinished else { return reference }
    return try pageFinished(reference)
  }

  /// Appends a finished page to the branch above it.
  private func add(
    _ key: UnsafeRawBufferPointer, _ child: Reference, level: Int
  ) throws(StoreError) {
    guard level < TreeRoot.maximumHeight else {
      throw StoreError(.sizeLimit, "The tree would be too high", remedy: "use a larger page size")
    }
    if branches.count < level { branches.append(PendingBranch(pageSize: dirty.memory.pageSize)) }
    let branch = branches[level - 1]
    if !branch.hasRoom(key) { try finishBranch(level) }
    branch.append(key, child)
  }

  private func finishBranch(_ level: Int) throws(StoreError) {
    let branch = branches[level - 1]
    let frame = try dirty.newFrame()
    let contents = try branch.write(to: dirty.memory.frame(frame), frame, level, table)
    let reference = try finished(frame, contents)
    try add(branch.firstKey, reference, level: level + 1)
    branch.removeAll()
  }
}

// MARK: - Going on with a tree

extension BulkBuilder {
  /// Takes the pages of the right edge apart into pages that are being built.
  private func dissolve(_ root: TreeRoot) throws(StoreError) {
    let memory = dirty.memory
    let top = Int(root.height) - 1
    var edge: [(page: UnsafeRawPointer, reference: Reference)] = []
    var reference = root.reference
    for level in stride(from: top, through: 0, by: -1) {
      let page = try memory.page(reference, level: level)
      edge.append((page, reference))
      if level > 0 {
        let branch = BranchPage(page, memory.pageSize)
        reference = branch.child(max(0, branch.count - 1), of: branch.count)
      }
    }
    for _ in 0..<top { branches.append(PendingBranch(pageSize: memory.pageSize)) }
    // The key of the page at hand in its parent; that of the root stands for "below everything".
    separator.set(UnsafeRawBufferPointer(start: nil, count: 0))
    for (offset, page) in edge.dropLast().enumerated() {
      try take(BranchPage(page.page, memory.pageSize), into: branches[top - offset - 1])
    }
    leaf.begin(separator.key)
    if let last = edge.last { try take(LeafPage(last.page, memory.pageSize)) }
    for page in edge { dirty.release(page.reference) }
  }

  /// Takes all children but the last, and leaves the last one's key in `separator`.
  private func take(_ page: BranchPage, into branch: PendingBranch) throws(StoreError) {
    let count = page.count
    let own = KeyBuffer(pageSize: dirty.memory.pageSize)
    own.set(separator.key)
    for index in 0..<count {
      if index > 0 {
        _ = try separator.fill { (bytes, capacity) throws(StoreError) in
          try page.copyKey(index, of: count, to: bytes, capacity: capacity)
        }
      }
      let key = index == 0 ? own.key : separator.key
      if index < count - 1 { branch.append(key, page.child(index, of: count)) } else { separator.set(key) }
    }
  }

  private func take(_ page: LeafPage) throws(StoreError) {
    let count = page.count
    let key = KeyBuffer(pageSize: dirty.memory.pageSize)
    for index in 0..<count {
      let cell = try page.cell(index, of: count)
      _ = try key.fill { (bytes, capacity) throws(StoreError) in
        try page.copyKey(index, of: count, to: bytes, capacity: capacity)
      }
      if let run = cell.run {
        leaf.append(key.key, .run(run))
      } else {
        leaf.append(key.key, .inline(UnsafeRawBufferPointer(start: cell.value, count: cell.valueLength)))
      }
    }
  }
}
