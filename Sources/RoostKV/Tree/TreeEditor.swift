/// A value for an entry.
package enum TreeValue {
  /// To be stored in the leaf; key and value fit by `TreeLimits`.
  case inline(UnsafeRawBufferPointer)
  case run(RunDescriptor)
}

/// What fits where. [T-5], SPEC section 14.
package struct TreeLimits: Sendable {
  package let pageSize: Int

  package init(pageSize: Int) { self.pageSize = pageSize }

  package var maximumKey: Int { pageSize / 4 }

  /// Whether key and value go into the leaf together; else the value goes into a run.
  package func fitsInline(key: Int, value: Int) -> Bool { key + value <= pageSize / 2 - 64 }
}

/// Changes trees. After a throw the tree is as it was before the call, unless said otherwise.
package final class TreeEditor {
  package let dirty: DirtySet

  package init(_ dirty: DirtySet) { self.dirty = dirty }

  /// Puts an entry, and returns whether it replaced one. A run replaced is released.
  ///
  /// - Throws: `keyTooLong`; `valueTooLong` for an inline value that doesn't fit a leaf.
  package func put(
    _ key: UnsafeRawBufferPointer, _ value: TreeValue, in root: inout TreeRoot
  ) throws(StoreError) -> Bool { throw StoreError(.unsupported, "", remedy: "") }

  /// Removes an entry, and returns whether there was one. Its run is released.
  package func remove(_ key: UnsafeRawBufferPointer, in root: inout TreeRoot) throws(StoreError) -> Bool {
    throw StoreError(.unsupported, "", remedy: "")
  }

  /// One end of a range.
  package enum Bound {
    case unbounded
    case included(UnsafeRawBufferPointer)
    case excluded(UnsafeRawBufferPointer)
  }

  /// Removes the entries between the bounds and returns their number. Leaves within the range aren't
  /// read unless their subtree has runs. O(log n + pages freed).
  package func removeRange(
    _ lower: Bound, _ upper: Bound, in root: inout TreeRoot
  ) throws(StoreError) -> UInt64 { throw StoreError(.unsupported, "", remedy: "") }

  /// Removes everything: releases each page and run of the tree.
  package func removeAll(in root: inout TreeRoot) throws(StoreError) {
    throw StoreError(.unsupported, "", remedy: "")
  }
}
