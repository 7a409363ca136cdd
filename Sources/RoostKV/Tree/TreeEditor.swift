// Bounds: the path has room for the greatest height; key and value are together shorter than the page
// that they are copied to.

/// A value for an entry.
package enum TreeValue {
  /// To be stored in the leaf; key and value have to fit by `TreeLimits`.
  case inline(UnsafeRawBufferPointer)
  case run(RunDescriptor)
}

/// What fits where. [T-5], SPEC section 14.
package struct TreeLimits: Sendable {
  package let pageSize: Int

  package init(pageSize: Int) { self.pageSize = pageSize }

  package var maximumKey: Int { pageSize / 4 }

  /// Whether key and value go into the leaf together; else the value goes into a run.
  @inline(__always)
  package func fitsInline(key: Int, value: Int) -> Bool { key + value <= pageSize / 2 - 64 }
}

/// Changes trees within a write transaction.
///
/// Each operation first goes down reading, and verifies the pages on its way; then it reserves frames;
/// then it changes pages. So after `keyTooLong`, `valueTooLong` and `sizeLimit` the tree is as it was before
/// the call. After `pageDamaged` it may be half changed, for entries that contradict each other are met
/// only when a page is written anew: the transaction has to be rolled back. `WriteState` sees to it.
///
/// Keys and values may lie in pages of the tree that is changed: such are copied first.
package final class TreeEditor {
  package let dirty: DirtySet
  let memory: PageMemory
  let pageSize: Int
  package let limits: TreeLimits

  /// The way to the entry at hand; element 0 is the leaf. Room for the greatest height.
  let path: UnsafeMutablePointer<Step>
  /// A page's size each: the old content of a page that is written anew; a key and value from the caller.
  let image: UnsafeMutableRawPointer
  private let borrowed: UnsafeMutableRawPointer
  private let descriptor: UnsafeMutableRawPointer

  let separator: KeyBuffer
  let promoted: KeyBuffer
  let prefix: KeyBuffer
  let firstKey: KeyBuffer
  let secondKey: KeyBuffer

  /// One page of the way down.
  struct Step {
    var page: UnsafeRawPointer
    var reference: Reference
    /// Of the child taken; in the leaf, of the entry.
    var index: Int
  }

  package init(_ dirty: DirtySet) {
    self.dirty = dirty
    memory = dirty.memory
    pageSize = memory.pageSize
    limits = TreeLimits(pageSize: pageSize)
    path = .allocate(capacity: TreeRoot.maximumHeight)
    image = .allocate(byteCount: pageSize, alignment: 64)
    borrowed = .allocate(byteCount: pageSize, alignment: 64)
    descriptor = .allocate(byteCount: RunDescriptor.size, alignment: 8)
    separator = KeyBuffer(pageSize: pageSize)
    promoted = KeyBuffer(pageSize: pageSize)
    prefix = KeyBuffer(pageSize: pageSize)
    firstKey = KeyBuffer(pageSize: pageSize)
    secondKey = KeyBuffer(pageSize: pageSize)
  }

  deinit {
    path.deallocate()
    image.deallocate()
    borrowed.deallocate()
    descriptor.deallocate()
  }
}

// MARK: - Operations on one entry

extension TreeEditor {
  /// Puts an entry, and returns whether it replaced one. The replaced value's run is released.
  ///
  /// - Throws: `keyTooLong`; `valueTooLong` for an inline value that doesn't fit a leaf; `sizeLimit`.
  package func put(
    _ key: UnsafeRawBufferPointer, _ value: TreeValue, in root: inout TreeRoot
  ) throws(StoreError) -> Bool {
    let entry = try makeEntry(key, value)
    guard root.height > 0 else {
      try plant(entry, &root)
      return false
    }
    let position = try descend(to: entry.key, root)
    try dirty.reserve(frames: 2 * Int(root.height) + 1)
    let leaf = LeafEditing(try makePathMutable(&root), pageSize)
    let runs: UInt64 = entry.valueLength < 0 ? Reference.runsBit : 0
    guard position.isFound else {
      let split = try insert(entry, into: leaf, at: position.index, in: root)
      try carryUp(split, change: 1 | runs, &root)
      return false
    }
    if let run = try leaf.page.cell(position.index, of: leaf.count).run { dirty.releaseRun(run) }
    if try leaf.overwrite(entry, at: position.index) {
      try carryUp(nil, change: runs, &root)
    } else {
      try leaf.remove(at: position.index)
      let split = try insert(entry, into: leaf, at: position.index, in: root)
      try carryUp(split, change: runs, &root)
    }
    return true
  }

  /// Removes an entry, and returns whether there was one. Its run is released.
  package func remove(_ key: UnsafeRawBufferPointer, in root: inout TreeRoot) throws(StoreError) -> Bool {
    guard root.height > 0 else { return false }
    let key = try makeEntry(key, .inline(UnsafeRawBufferPointer(start: nil, count: 0))).key
    let position = try descend(to: key, root)
    guard position.isFound else { return false }
    try dirty.reserve(frames: Int(root.height))
    let leaf = LeafEditing(try makePathMutable(&root), pageSize)
    if let run = try leaf.page.cell(position.index, of: leaf.count).run { dirty.releaseRun(run) }
    try leaf.remove(at: position.index)
    try tidyPath(&root, removed: 1)
    return true
  }

  private func makeEntry(
    _ key: UnsafeRawBufferPointer, _ value: TreeValue
  ) throws(StoreError) -> NewEntry {
    guard key.count <= limits.maximumKey else {
      throw StoreError(
        .keyTooLong, "A key of \(key.count) bytes is too long",
        remedy: "use keys of at most \(limits.maximumKey) bytes, or a larger page size")
    }
    switch value {
    case .run(let run):
      run.store(to: descriptor)
      return NewEntry(key: own(key, at: 0), value: UnsafeRawPointer(descriptor), valueLength: -1)
    case .inline(let bytes):
      guard limits.fitsInline(key: key.count, value: bytes.count) else {
        throw StoreError(
          .valueTooLong, "A value of \(bytes.count) bytes doesn't fit a leaf",
          remedy: "store it in a run of pages")
      }
      let value = own(bytes, at: key.count)
      return NewEntry(
        key: own(key, at: 0), value: value.baseAddress ?? UnsafeRawPointer(descriptor),
        valueLength: value.count)
    }
  }

  /// Copies bytes that lie in a frame, where a change could move them.
  ///
  /// Key and value together are shorter than a page, so both fit `borrowed`.
  private func own(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UnsafeRawBufferPointer {
    guard let start = bytes.baseAddress, start >= memory.address(memory.firstFrame),
      start < memory.address(memory.frameEnd), offset + bytes.count <= pageSize
    else { return bytes }
    (borrowed + offset).copyMemory(from: start, byteCount: bytes.count)
    return UnsafeRawBufferPointer(start: borrowed + offset, count: bytes.count)
  }
}

// MARK: - The path

extension TreeEditor {
  /// Goes down to a key, reading, and remembers the way.
  func descend(
    to key: UnsafeRawBufferPointer, _ root: TreeRoot
  ) throws(StoreError) -> LeafPage.Position {
    var reference = root.reference
    // `page` refuses levels from `maximumHeight` on, so `path` has room.
    for level in stride(from: Int(root.height) - 1, to: 0, by: -1) {
      let page = try memory.page(reference, level: level)
      let branch = BranchPage(page, pageSize)
      let count = branch.count
      let index = try branch.childIndex(key, of: count)
      path[level] = Step(page: page, reference: reference, index: index)
      reference = branch.child(index, of: count)
    }
    let page = try memory.page(reference, level: 0)
    let position = try LeafPage(page, pageSize).search(key)
    path[0] = Step(page: page, reference: reference, index: position.index)
    return position
  }

  /// Makes all pages of the path changeable, and returns the leaf.
  ///
  /// A page made by this subtransaction was put into its parent by it too, so the parent is
  /// changeable when the child is.
  func makePathMutable(_ root: inout TreeRoot) throws(StoreError) -> UnsafeMutableRawPointer {
    if !dirty.isMutable(path[0].reference.page) {
      let top = Int(root.height) - 1
      for level in stride(from: top, through: 0, by: -1) {
        let step = path[level]
        let (page, reference) = try dirty.mutable(step.reference, level: level)
        path[level].page = UnsafeRawPointer(page)
        path[level].reference = reference
        if level == top {
          root.reference = reference
        } else {
          branch(level + 1).setChild(path[level + 1].index, reference)
        }
      }
    }
    return UnsafeMutableRawPointer(mutating: path[0].page)
  }

  /// The branch of the path at a level, which has been made changeable.
  func branch(_ level: Int) -> BranchEditing {
    BranchEditing(UnsafeMutableRawPointer(mutating: path[level].page), pageSize)
  }

  /// The first entry of an empty tree.
  private func plant(_ entry: NewEntry, _ root: inout TreeRoot) throws(StoreError) {
    let frame = try dirty.newFrame()
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    var writer = LeafWriter(
      memory.frame(frame), pageSize: pageSize, number: frame, table: root.table, count: 1, prefix: none)
    try writer.append(entry.key, value: entry.value, valueLength: entry.valueLength)
    try writer.finish()
    root.reference = Reference(page: frame, count: 1, hasRuns: entry.valueLength < 0)
    root.height = 1
  }

  /// Brings a change of the leaf to its ancestors: what it adds to what they say of their subtrees,
  /// and a page that was split off.
  private func carryUp(_ split: Split?, change: UInt64, _ root: inout TreeRoot) throws(StoreError) {
    var split = split
    // Replacing inline values changes nothing above.
    if split == nil, change == 0 { return }
    for level in 1..<max(1, Int(root.height)) {
      let branch = branch(level)
      let index = path[level].index
      if let pair = split {
        branch.setChild(index, pair.left)
        split = try insert(pair.right, into: branch, at: index + 1, level: level, in: root, bias: pair.bias)
      } else {
        var child = branch.child(index)
        child.contents = Reference.sum(child.contents, change)
        branch.setChild(index, child)
      }
    }
    if let pair = split {
      try growRoot(pair, &root)
    } else {
      root.reference.contents = Reference.sum(root.reference.contents, change)
    }
  }

  private func growRoot(_ pair: Split, _ root: inout TreeRoot) throws(StoreError) {
    let frame = try dirty.newFrame()
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    var writer = BranchWriter(
      memory.frame(frame), pageSize: pageSize, number: frame, level: Int(root.height), table: root.table,
      count: 2, prefix: none)
    try writer.append(none, pair.left)
    try writer.append(separator.key, pair.right)
    try writer.finish()
    root.reference = Reference(place: frame, contents: writer.contents, generation: 0)
    root.height += 1
  }
}
