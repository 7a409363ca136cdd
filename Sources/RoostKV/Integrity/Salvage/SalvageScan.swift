/// What is found in the pages that no tree leads to.
struct SalvageScan {
  /// A tree page, by what its header says.
  struct Found {
    var page: UInt64
    var generation: UInt32
    var table: UInt32
    var attempt: UInt16
    var count: UInt16
    var level: UInt8

    var reference: Reference {
      Reference(page: page, attempt: attempt, generation: generation, count: UInt64(count), hasRuns: false)
    }
  }

  private(set) var pages: [Found] = []
  private(set) var spacePages: [UInt64] = []
  /// Segments whose own header can be read, as they lie in the file.
  private(set) var segments: [SegmentHeader] = []

  /// Looks at every page that isn't `reached`. Memory: 24 bytes for each tree page found.
  init(
    _ source: SalvageSource, reached: Bitmap, progress: (UInt64) throws(StoreError) -> Void
  ) throws(StoreError) {
    var number = source.geometry.firstPage
    while number < source.pageCount {
      defer { number += 1 }
      if number % 1024 == 0 { try progress(number) }
      guard !reached[Int(number)], let bytes = source.bytes(number), let page = bytes.baseAddress else { continue }
      guard source.isIntact(page, number) else {
        takeSegment(bytes, number, source)
        continue
      }
      switch PageHeader.kind(page) {
      case .leaf, .branch:
        pages.append(
          Found(
            page: number, generation: PageHeader.generation(page), table: PageHeader.table(page),
            attempt: PageHeader.attempt(page), count: UInt16(PageHeader.count(page)),
            level: UInt8(PageHeader.level(page))))
      case .space: spacePages.append(number)
      case .freeMap, nil: break
      }
    }
  }

  /// Either copy of a segment header that begins in the page.
  private mutating func takeSegment(_ bytes: UnsafeRawBufferPointer, _ number: UInt64, _ source: SalvageSource) {
    let start = source.geometry.offset(number)
    for offset in stride(from: 0, to: bytes.count, by: 4096) {
      guard let copy = bytes.part(offset, SegmentHeader.byteCount) else { continue }
      for distance in SegmentHeader.copyOffsets where start + UInt64(offset) >= distance {
        let place = start + UInt64(offset) - distance
        guard let header = SegmentHeader(copy, at: place, storeSeed: source.storeSeed),
          header.end <= source.fileBytes
        else { continue }
        segments.removeAll { $0.offset == place && $0.sequence < header.sequence }
        if !segments.contains(where: { $0.offset == place }) { segments.append(header) }
      }
    }
  }

  /// The page that a table's tree hangs on: each checkpoint that changes a tree writes its root, so that is the highest of the
  /// newest pages. `nil` when there is more than one, since then the root is lost.
  static func root(of pages: [Found], table: UInt32) -> TreeRoot? {
    guard let newest = pages.lazy.map(\.generation).max() else { return nil }
    let candidates = pages.filter { $0.generation == newest }
    guard let height = candidates.lazy.map(\.level).max() else { return nil }
    let top = candidates.filter { $0.level == height }
    // A leaf is a root only when it is all there is of that generation.
    guard let root = top.first, top.count == 1 else { return nil }
    return TreeRoot(reference: root.reference, height: root.level + 1, table: table)
  }
}
