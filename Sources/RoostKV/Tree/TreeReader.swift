/// The value of an entry, in place.
package struct LeafEntry {
  /// The value's bytes, or the descriptor of its run.
  package let bytes: UnsafeRawPointer
  /// The value's length; negative: it lies in a run.
  let length: Int

  @inline(__always)
  init(bytes: UnsafeRawPointer, length: Int) {
    self.bytes = bytes
    self.length = length
  }

  /// Where the value lies if not in the leaf.
  @inline(__always)
  package var run: RunDescriptor? { length < 0 ? RunDescriptor(loading: bytes) : nil }

  /// The value if it lies in the leaf, else no bytes. Valid as long as the page is.
  @inline(__always)
  package var inlineValue: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes, count: max(0, length))
  }
}

/// Looks into a tree, without copying anything.
package enum TreeReader {
  /// The entry of a key. O(log n).
  @inline(__always)
  package static func find(
    _ key: UnsafeRawBufferPointer, in root: TreeRoot, _ memory: PageMemory
  ) throws(StoreError) -> LeafEntry? {
    throw StoreError(.unsupported, "", remedy: "")
  }

  /// The number of entries with a lesser key. O(log n).
  package static func rank(
    of key: UnsafeRawBufferPointer, in root: TreeRoot, _ memory: PageMemory
  ) throws(StoreError) -> UInt64 {
    throw StoreError(.unsupported, "", remedy: "")
  }
}
