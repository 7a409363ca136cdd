// Bounds: frames alone, whose counts are in range because they were made here; images are of a page's
// size.

/// A tree page's children, for whoever writes pages out and carries references over.
///
/// For frames, whose count is in range because we made them.
package enum TreePage {
  package static func isBranch(_ page: UnsafeRawPointer) -> Bool { PageHeader.level(page) > 0 }

  /// The reference to a child of a branch; `index` is less than `PageHeader.count(page)`.
  package static func child(_ page: UnsafeRawPointer, _ index: Int) -> Reference {
    Reference(loading: page + (PageHeader.size + 8 * PageHeader.count(page) + Reference.size * index))
  }

  package static func setChild(_ page: UnsafeMutableRawPointer, _ index: Int, _ reference: Reference) {
    reference.store(to: page + (PageHeader.size + 8 * PageHeader.count(page) + Reference.size * index))
  }

  /// Copies a frame as the page of the file that it becomes.
  ///
  /// - Parameter translate: gives the file's reference for a child's; ask it of children that are frames.
  package static func stage(
    _ frame: UnsafeRawPointer, to image: UnsafeMutableRawPointer, pageSize: Int, storeSeed: UInt64,
    number: PageNumber, attempt: UInt16, generation: UInt32,
    translate: (Reference) throws(StoreError) -> Reference
  ) throws(StoreError) {
    image.copyMemory(from: frame, byteCount: pageSize)
    PageHeader.setIdentity(image, number: number, attempt: attempt, generation: generation)
    if isBranch(image) {
      for index in 0..<PageHeader.count(image) {
        let child = child(image, index)
        let translated = try translate(child)
        if translated != child { setChild(image, index, translated) }
      }
    }
    PageHeader.seal(image, pageSize: pageSize, storeSeed: storeSeed, number: number)
  }
}
