extension PageMemory {
  /// The page's bytes, verified against the reference.
  ///
  /// - Parameter level: 0 for a leaf, one more than its children for a branch.
  /// - Throws: `pageDamaged`; `ioError` if the disk doesn't give the page.
  @inline(__always)
  package func page(_ reference: Reference, level: Int) throws(StoreError) -> UnsafeRawPointer {
    throw StoreError(.unsupported, "", remedy: "")
  }
}
