/// Builds a tree, or goes on building one, from entries in ascending order. Pages are filled, and
/// none is touched twice. `finish()` has to be called.
package final class BulkBuilder {
  /// - Parameter root: the tree whose right edge is appended to.
  package init(_ dirty: DirtySet, root: TreeRoot = .empty) throws(StoreError) {}

  /// - Throws: `unsortedInput` unless the key is greater than all before.
  package func append(_ key: UnsafeRawBufferPointer, _ value: TreeValue) throws(StoreError) {}

  package func finish() throws(StoreError) -> TreeRoot { throw StoreError(.unsupported, "", remedy: "") }
}
