/// A place in a tree. Stays valid as long as the pages of the tree's state do.
package struct TreeCursor: ~Copyable {
  package let memory: PageMemory
  package let root: TreeRoot

  package init(_ root: TreeRoot, _ memory: PageMemory) {
    self.root = root
    self.memory = memory
  }

  /// Whether the cursor is at an entry.
  package var isValid: Bool { false }

  // Each returns whether there is such an entry. When there is none, or on a throw, the cursor is nowhere.
  package mutating func first() throws(StoreError) -> Bool { false }
  package mutating func last() throws(StoreError) -> Bool { false }
  /// To the first entry whose key isn't less.
  package mutating func seek(_ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool { false }
  /// To the last entry whose key isn't greater.
  package mutating func seekBackward(_ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool { false }
  /// To the entry with so many before it.
  package mutating func seek(rank: UInt64) throws(StoreError) -> Bool { false }
  package mutating func next() throws(StoreError) -> Bool { false }
  package mutating func previous() throws(StoreError) -> Bool { false }

  /// The key, put together in the cursor's buffer; valid until the cursor moves.
  package mutating func key() throws(StoreError) -> UnsafeRawBufferPointer {
    throw StoreError(.unsupported, "", remedy: "")
  }

  /// The value in place.
  package func entry() throws(StoreError) -> LeafEntry { throw StoreError(.unsupported, "", remedy: "") }
}
