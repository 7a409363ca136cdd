/// Reads values that lie in runs, from the file's mapping.
///
/// Bounds: a run's pages are compared with the file's limit before its address is formed, and the value's part of it
/// with the run's length; then the bytes belong to the mapping for as long as the store is open.
extension PageMemory {
  private static let runHeadMark: UInt8 = 8

  /// The value's bytes in place. Each chunk is verified once a process; `range` (all of it by default) says which
  /// bytes will be read.
  func value(of run: RunDescriptor, reading range: Range<UInt64>? = nil) throws(StoreError) -> UnsafeRawBufferPointer {
    guard let layout = RunLayout(length: run.length) else { throw runDamaged(run, "its length is impossible") }
    let start = try placeOfRun(run, layout)
    if marks[Int(run.page)].load(ordering: .acquiring) & Self.runHeadMark == 0 { try verifyHead(run, layout, start) }
    let range = (range ?? 0..<run.length).clamped(to: 0..<run.length)
    if !range.isEmpty {
      for index in range.lowerBound / RunLayout.chunkBytes...(range.upperBound - 1) / RunLayout.chunkBytes {
        try verifyChunk(index, run, layout, start)
      }
    }
    return UnsafeRawBufferPointer(start: start + Int(layout.valueOffset), count: Int(run.length))
  }

  /// Verifies head and all chunks, also where marks say that this was done: for recovery and checks.
  func verifyWholeRun(_ run: RunDescriptor) throws(StoreError) {
    guard let layout = RunLayout(length: run.length) else { throw runDamaged(run, "its length is impossible") }
    _ = try placeOfRun(run, layout)
    clearMarks(pages: run.page..<run.page + pageCount(of: layout))
    _ = try value(of: run)
  }

  /// The pages of a run; none when its descriptor leads out of the file, which no run does.
  func pages(of run: RunDescriptor) -> Range<UInt64> {
    guard let layout = RunLayout(length: run.length), isInFile(run, layout) else { return 0..<0 }
    return run.page..<run.page + pageCount(of: layout)
  }

  private func isInFile(_ run: RunDescriptor, _ layout: RunLayout) -> Bool {
    let limit = fileLimit
    return run.page >= firstFilePage && run.page < limit && pageCount(of: layout) <= limit - run.page
  }

  private func pageCount(of layout: RunLayout) -> UInt64 {
    (layout.byteCount + UInt64(pageSize) - 1) >> UInt64(pageShift)
  }

  private func placeOfRun(_ run: RunDescriptor, _ layout: RunLayout) throws(StoreError) -> UnsafeRawPointer {
    guard isInFile(run, layout) else { throw runDamaged(run, "it lies outside the file") }
    return UnsafeRawPointer(address(run.page))
  }

  private func verifyHead(_ run: RunDescriptor, _ layout: RunLayout, _ start: UnsafeRawPointer) throws(StoreError) {
    try populateRun(run, 0..<layout.headBytes)
    let head = UnsafeRawBufferPointer(start: start, count: Int(layout.headBytes))
    let seed = RunLayout.seed(storeSeed, page: run.page, salt: run.salt)
    guard head.field(0) == RunLayout.magic, head.field(8) == run.page, head.field(16) == run.length,
      head.field(24) == run.salt, XXH3.hash(head, seed: seed) == run.hash
    else { throw runDamaged(run, "its head isn't what was written") }
    marks[Int(run.page)].bitwiseOr(Self.runHeadMark, ordering: .releasing)
  }

  private func verifyChunk(
    _ index: UInt64, _ run: RunDescriptor, _ layout: RunLayout, _ start: UnsafeRawPointer
  ) throws(StoreError) {
    let part = layout.chunk(index)
    // Chunks begin 64 KiB apart and pages are no larger, so each has a page, and a mark, of its own.
    let page = run.page + (layout.valueOffset + part.lowerBound) >> UInt64(pageShift)
    if isChunkVerified(page) { return }
    try populateRun(run, layout.valueOffset + part.lowerBound..<layout.valueOffset + part.upperBound)
    let value = start + Int(layout.valueOffset + part.lowerBound)
    let seed = RunLayout.seed(storeSeed, page: run.page, salt: run.salt)
    let expected: UInt64? = UnsafeRawBufferPointer(start: start, count: Int(layout.headBytes)).field(
      32 + 8 * Int(index))
    guard expected == XXH3.hash(UnsafeRawBufferPointer(start: value, count: part.count), seed: seed &+ index &+ 1)
    else {
      throw runDamaged(run, "bytes \(part.lowerBound) to \(part.upperBound) of the value aren't what was written")
    }
    markChunkVerified(page)
  }

  private func populateRun(_ run: RunDescriptor, _ bytes: Range<UInt64>) throws(StoreError) {
    guard let file else { return }
    try file.populate(offset: run.page << UInt64(pageShift) + bytes.lowerBound, count: bytes.count)
  }

  private func runDamaged(_ run: RunDescriptor, _ why: String) -> StoreError {
    StoreError(
      .runDamaged, "a value of \(run.length) bytes can't be read: \(why)", remedy: damageRemedy, path: file?.path,
      page: run.page)
  }
}
