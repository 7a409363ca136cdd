/// A place in a tree. Stays usable as long as the pages of the tree's state do.
///
/// Holds the way from the root as addresses and indices; moving within a leaf touches only the leaf.
///
/// Bounds: `steps` has room for the greatest height, and indices are compared with the counts read
/// from the pages at each use; what is read in pages goes through `LeafPage` and `BranchPage`.
package struct TreeCursor: ~Copyable {
  package let memory: PageMemory
  package let root: TreeRoot

  /// The branches from the root (at height - 2) to level 1 (at 0), with the indices of the children taken.
  private let steps: UnsafeMutablePointer<Step>
  private var leaf: UnsafeRawPointer?
  private var index = 0
  private var keyBuffer: UnsafeMutableRawPointer?

  private struct Step {
    var page: UnsafeRawPointer
    var index: Int
  }

  /// Before the first and behind the last entry at once, until it is moved.
  package init(_ root: TreeRoot, _ memory: PageMemory) {
    self.root = root
    self.memory = memory
    steps = .allocate(capacity: TreeRoot.maximumHeight)
  }

  deinit {
    steps.deallocate()
    keyBuffer?.deallocate()
  }

  /// Whether the cursor is at an entry.
  package var isValid: Bool { leaf != nil }
}

// MARK: - Moving

// Each returns whether there is such an entry. When there is none, or on a throw, the cursor is nowhere.
extension TreeCursor {
  package mutating func first() throws(StoreError) -> Bool {
    try descend { (_) throws(StoreError) in 0 }
    return settle(at: 0)
  }

  package mutating func last() throws(StoreError) -> Bool {
    try descend { (branch) throws(StoreError) in max(0, branch.count - 1) }
    return settle(at: leafCount - 1)
  }

  /// To the entry of the key if there is one, else the first behind it.
  package mutating func seek(_ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard let found = try position(key) else { return false }
    return try settle(atOrBehind: found.index)
  }

  /// To the first entry behind the key.
  package mutating func seek(behind key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard let found = try position(key) else { return false }
    return try settle(atOrBehind: found.isFound ? found.index + 1 : found.index)
  }

  /// To the entry of the key if there is one, else the last before it.
  package mutating func seekBackward(_ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard let found = try position(key) else { return false }
    return try settle(atOrBefore: found.isFound ? found.index : found.index - 1)
  }

  /// To the last entry before the key.
  package mutating func seekBackward(before key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard let found = try position(key) else { return false }
    return try settle(atOrBefore: found.index - 1)
  }

  /// To the entry with so many before it.
  package mutating func seek(rank: UInt64) throws(StoreError) -> Bool {
    guard rank < root.count else {
      leaf = nil
      return false
    }
    var rest = rank
    try descend { (branch) throws(StoreError) in
      let count = branch.count
      for index in 0..<count {
        let entries = branch.child(index, of: count).count
        if rest < entries { return index }
        rest -= entries
      }
      throw .damaged(PageHeader.number(branch.bytes), "has fewer entries below it than its parent says")
    }
    return settle(at: rest < UInt64(leafCount) ? Int(rest) : leafCount)
  }

  @inline(__always)
  package mutating func next() throws(StoreError) -> Bool {
    guard leaf != nil else { return false }
    return try settle(atOrBehind: index &+ 1)
  }

  @inline(__always)
  package mutating func previous() throws(StoreError) -> Bool {
    guard leaf != nil else { return false }
    return try settle(atOrBefore: index &- 1)
  }
}

// MARK: - Reading

extension TreeCursor {
  /// The key, put together in the cursor's buffer; valid until the cursor moves.
  ///
  /// - Throws: `cursorInvalid` when the cursor is nowhere.
  package mutating func key() throws(StoreError) -> UnsafeRawBufferPointer {
    guard let leaf else { throw Self.nowhere }
    let buffer = keyBuffer ?? makeKeyBuffer()
    let page = LeafPage(leaf, memory.pageSize)
    let count = page.count
    guard index < count else { throw .inconsistent(leaf) }
    let length = try page.copyKey(index, of: count, to: buffer, capacity: Self.keyCapacity(memory))
    return UnsafeRawBufferPointer(start: buffer, count: length)
  }

  /// The value in place.
  ///
  /// - Throws: `cursorInvalid` when the cursor is nowhere.
  @inline(__always)
  package func entry() throws(StoreError) -> LeafCell {
    guard let leaf else { throw Self.nowhere }
    let page = LeafPage(leaf, memory.pageSize)
    let count = page.count
    guard index < count else { throw .inconsistent(leaf) }
    return try page.cell(index, of: count)
  }

  private static func keyCapacity(_ memory: PageMemory) -> Int { memory.pageSize / 4 }

  @inline(never)
  private mutating func makeKeyBuffer() -> UnsafeMutableRawPointer {
    // A head is always written whole, hence the 8 bytes more.
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: Self.keyCapacity(memory) + 8, alignment: 8)
    keyBuffer = buffer
    return buffer
  }

  private static var nowhere: StoreError {
    StoreError(.cursorInvalid, "The cursor isn't at an entry", remedy: "move it to one first")
  }
}

// MARK: - The way down and sideways

extension TreeCursor {
  private var leafCount: Int { leaf.map { LeafPage($0, memory.pageSize).count } ?? 0 }

  /// Goes from the root to a leaf by the children chosen.
  @inline(__always)
  private mutating func descend(
    choosing child: (BranchPage) throws(StoreError) -> Int
  ) throws(StoreError) {
    leaf = nil
    guard root.height > 0 else { return }
    try descend(from: root.reference, level: Int(root.height) - 1, choosing: child)
  }

  @inline(__always)
  private mutating func descend(
    from start: Reference, level top: Int, choosing child: (BranchPage) throws(StoreError) -> Int
  ) throws(StoreError) {
    var reference = start
    var level = top
    while level > 0 {
      // `page` refuses levels from `maximumHeight` on, so `steps` has room.
      let page = try memory.page(reference, level: level)
      let branch = BranchPage(page, memory.pageSize)
      let index = try child(branch)
      steps[level - 1] = Step(page: page, index: index)
      reference = branch.child(index, of: branch.count)
      level -= 1
    }
    leaf = try memory.page(reference, level: 0)
  }

  private mutating func position(
    _ key: UnsafeRawBufferPointer
  ) throws(StoreError) -> LeafPage.Position? {
    try descend { (branch) throws(StoreError) in try branch.childIndex(key, of: branch.count) }
    guard let leaf else { return nil }
    do throws(StoreError) {
      return try LeafPage(leaf, memory.pageSize).search(key)
    } catch {
      self.leaf = nil
      throw error
    }
  }

  private mutating func settle(at index: Int) -> Bool {
    self.index = index
    if index < 0 || index >= leafCount { leaf = nil }
    return leaf != nil
  }

  @inline(__always)
  private mutating func settle(atOrBehind index: Int) throws(StoreError) -> Bool {
    self.index = index
    if let leaf, index < LeafPage(leaf, memory.pageSize).count { return true }
    return try enterNextLeaf()
  }

  @inline(__always)
  private mutating func settle(atOrBefore index: Int) throws(StoreError) -> Bool {
    self.index = index
    if index >= 0 { return true }
    return try enterPreviousLeaf()
  }

  @inline(never)
  private mutating func enterNextLeaf() throws(StoreError) -> Bool {
    leaf = nil
    for level in 1..<max(1, Int(root.height)) {
      let step = steps[level - 1]
      let branch = BranchPage(step.page, memory.pageSize)
      let count = branch.count
      guard step.index + 1 < count else { continue }
      steps[level - 1].index = step.index + 1
      try descend(from: branch.child(step.index + 1, of: count), level: level - 1) {
        (_) throws(StoreError) in 0
      }
      return settle(at: 0)
    }
    return false
  }

  @inline(never)
  private mutating func enterPreviousLeaf() throws(StoreError) -> Bool {
    leaf = nil
    for level in 1..<max(1, Int(root.height)) {
      let step = steps[level - 1]
      let branch = BranchPage(step.page, memory.pageSize)
      guard step.index > 0, step.index <= branch.count else { continue }
      steps[level - 1].index = step.index - 1
      try descend(from: branch.child(step.index - 1, of: branch.count), level: level - 1) {
        (branch) throws(StoreError) in max(0, branch.count - 1)
      }
      return settle(at: leafCount - 1)
    }
    return false
  }
}
