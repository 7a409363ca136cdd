// Bounds: pages are read through `LeafPage` and `BranchPage`.

/// Looks into a tree, without copying, locking or counting references.
package enum TreeReader {
  /// The entry of a key. O(log n).
  @inline(__always)
  package static func find(
    _ key: UnsafeRawBufferPointer, in root: TreeRoot, _ memory: PageMemory
  ) throws(StoreError) -> LeafCell? {
    guard root.height > 0 else { return nil }
    let leaf = try descend(to: key, in: root, memory)
    let position = try leaf.search(key)
    guard position.isFound else { return nil }
    return try leaf.cell(position.index, of: leaf.count)
  }

  /// The leaf in whose bounds the key lies.
  @inline(__always)
  private static func descend(
    to key: UnsafeRawBufferPointer, in root: TreeRoot, _ memory: PageMemory
  ) throws(StoreError) -> LeafPage {
    var reference = root.reference
    // Heights above the maximum are refused by `page`, so this ends.
    var level = Int(root.height) &- 1
    while level > 0 {
      let branch = BranchPage(try memory.page(reference, level: level), memory.pageSize)
      let count = branch.count
      reference = branch.child(try branch.childIndex(key, of: count), of: count)
      level &-= 1
    }
    return LeafPage(try memory.page(reference, level: 0), memory.pageSize)
  }

  /// The number of entries with a lesser key, or with a key not greater. O(log n).
  package static func rank(
    of key: UnsafeRawBufferPointer, orEqual: Bool = false, in root: TreeRoot, _ memory: PageMemory
  ) throws(StoreError) -> UInt64 {
    guard root.height > 0 else { return 0 }
    var reference = root.reference
    var rank: UInt64 = 0
    for level in stride(from: Int(root.height) - 1, to: 0, by: -1) {
      let branch = BranchPage(try memory.page(reference, level: level), memory.pageSize)
      let count = branch.count
      let index = try branch.childIndex(key, of: count)
      // Counts of a hostile file may not add up, hence the wrapping sum.
      for before in 0..<index { rank &+= branch.child(before, of: count).count }
      reference = branch.child(index, of: count)
    }
    let leaf = LeafPage(try memory.page(reference, level: 0), memory.pageSize)
    let position = try leaf.search(key)
    return rank &+ UInt64(position.index) &+ (orEqual && position.isFound ? 1 : 0)
  }
}
