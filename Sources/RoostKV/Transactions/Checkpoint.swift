// Bounds: the staging buffer holds a whole number of pages, and is emptied before a page more than it
// holds.

/// Brings the trees in the file up to date, so that the journal can be used anew. SPEC.md [C-4] to [C-8]
extension StoreCore {
  /// Writes a checkpoint of everything appended so far, unless the file holds it already. Not with the writer lock held.
  func checkpoint(closing: Bool = false) throws(StoreError) {
    if isInMemory { return }
    while true {
      try acquireForUpkeep()
      if checkpoints.isIdle { break }
      writerLock.release()
      checkpoints.waitUntilIdle()
    }
    try runCheckpoint(closing: closing)
  }

  /// Starts a checkpoint on a thread of its own when the journal or the changed pages have grown enough. Failures poison
  /// the store, and show there.
  func checkpointIfDue() {
    guard !isInMemory, !isReadOnly, isCheckpointDue, commits.poison == nil, checkpoints.schedule() else { return }
    runtime.start("roost.checkpoint") {
      _ = self.writerLock.acquire()
      do throws(StoreError) {
        // A large transaction may have been quicker.
        if self.isCheckpointDue { try self.runCheckpoint(closing: false) } else { self.endCheckpoint() }
      } catch {}
    }
  }

  private func endCheckpoint() {
    checkpoints.didStart()
    writerLock.release()
  }

  /// With the writer lock held.
  ///
  /// A snapshot pins the changed pages of its state, at most as many as there are between two checkpoints. Readers stand in
  /// them, so they can't be moved to the file; instead checkpoints come sooner, and writers wait for them, the more is
  /// pinned, so that later snapshots pin less: all together `memoryBound`, and an eighth of it for each.
  var isCheckpointDue: Bool {
    journalBytes >= UInt64(options.journalBound) / 2
      || dirtyBytes >= max(memoryBound / 16, memoryBound / 2 - pinnedBytes)
  }

  /// Whether writers have to wait for the checkpoint before they add more.
  var isOverBound: Bool {
    journalBytes >= UInt64(options.journalBound) * 2 || dirtyBytes >= max(memoryBound / 8, memoryBound - pinnedBytes)
  }

  /// With the writer lock held and no checkpoint running; gives the lock back.
  private func runCheckpoint(closing: Bool) throws(StoreError) {
    guard let frozen = try freezeAndUnlock(closing: closing) else { return }
    try write(frozen)
    writtenState = frozen
    checkpoints.didWrite()
    _ = writerLock.acquire()
    defer { writerLock.release() }
    if checkpoints.isWritten { try finish(frozen) }
  }

  /// The same without letting go of the lock.
  func checkpointLocked() throws(StoreError) {
    guard let frozen = try freezeAppended(closing: false) else { return }
    try write(frozen)
    try finish(frozen)
  }

  private func freezeAndUnlock(closing: Bool) throws(StoreError) -> FrozenState? {
    // Want of space leaves everything as it was; the next checkpoint tries again.
    defer { endCheckpoint() }
    return try freezeAppended(closing: closing)
  }

  /// Freezes the newest state for a checkpoint, unless the file has it. With the writer lock held.
  private func freezeAppended(closing: Bool) throws(StoreError) -> FrozenState? {
    if let poison = commits.poison { throw poison }
    try prepareForWriting()
    let isClean = nextLSN == header.nextLSN && dirtyBytes == 0 && freedPages.isEmpty && freedRuns.isEmpty
    let isCompact = ring.segments.count == 1 && freeMap.fileEnd == header.pageCount
    if isClean, !closing || isCompact { return nil }
    let frozen = try freeze(
      CommittedState(
        directory: appended.directory, roots: appended.roots, commit: appended.commit, nextLSN: nextLSN, chain: chain,
        isClosing: closing))
    checkpoints.begin(HeldVersion(appended))
    return frozen
  }

  // MARK: Writing

  /// Pages, flush, header, flush, the other header, flush. Any failure poisons the store.
  func write(_ frozen: FrozenState) throws(StoreError) {
    do throws(StoreError) {
      try writePages(frozen)
      for page in frozen.mapPages.sorted(by: { $0.page < $1.page }) {
        try page.bytes.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: geometry.offset(page.page)) }
      }
      if !planted(.headerBeforePages) { try commits.flushAll() }
      try file.checkIdentity()
      let slot = frozen.header.encoded()
      // Generation g is in slot g mod 2 first, so the slot written first never holds the newest header.
      let first = Int(frozen.header.generation % 2)
      for index in planted(.oneHeaderSlot) ? [first] : [first, 1 - first] {
        try slot.withBytes { (bytes) throws(StoreError) in
          try file.writeDurably(bytes, at: FileGeometry.slotOffsets[index])
        }
      }
    } catch {
      commits.poison(error)
      checkpoints.didFinish()
      throw error
    }
  }

  /// Writes the pages in contiguous pieces of at most 1 MiB.
  private func writePages(_ frozen: FrozenState) throws(StoreError) {
    let pieceBytes = max(1 << 20, geometry.pageSize)
    let staging = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 4096)
    defer { staging.deallocate() }
    guard let image = staging.baseAddress else { return }
    var count = 0
    var start: UInt64 = 0
    func put() throws(StoreError) {
      guard count > 0 else { return }
      let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(staging)[..<(count << geometry.pageShift)])
      try file.write(bytes, at: geometry.offset(start))
      file.startWriteBack(offset: geometry.offset(start), count: bytes.count)
      count = 0
    }
    for entry in frozen.pages.sorted(by: { $0.page < $1.page }) {
      if count > 0, entry.page != start + UInt64(count) || (count + 1) << geometry.pageShift > pieceBytes { try put() }
      if count == 0 { start = entry.page }
      try stage(entry, frozen, image + count << geometry.pageShift)
      count += 1
    }
    try put()
  }

  private func stage(
    _ entry: (frame: PageNumber, page: UInt64, level: Int), _ frozen: FrozenState,
    _ image: UnsafeMutableRawPointer
  ) throws(StoreError) {
    // The page may have been verified with other content, as part of a state that is gone.
    memory.clearMarks(pages: entry.page..<entry.page + 1)
    try TreePage.stage(
      UnsafeRawPointer(memory.frame(entry.frame)), to: image, pageSize: geometry.pageSize,
      storeSeed: memory.storeSeed, number: entry.page, attempt: frozen.attempt, generation: frozen.header.generation
    ) { (child) throws(StoreError) in
      if !memory.isFrame(child.page) { return child }
      guard let reference = frozen.fileReference(child) else {
        throw StoreError(
          .pageDamaged, "a page in memory refers to one that has no place in the file",
          remedy: "close the store and open it again; report this as a bug", path: file.path, page: child.page)
      }
      return reference
    }
  }

  // MARK: Finishing

  /// Takes in that both slots hold the new header: what only older ones needed is given back, and references to frames
  /// become references to the file's pages. With the writer lock held.
  /// - Parameter fixTrees: false when a large transaction follows at once, which writes every frame anyway.
  func finish(_ frozen: FrozenState, fixTrees: Bool = true) throws(StoreError) {
    header = frozen.header
    headerSlot = 1 - Int(header.generation % 2)
    pendingHeader = nil
    writtenState = nil
    for extent in frozen.limbo { limbo.add(extent) }
    for frame in frozen.catalogFrames {
      memory.arena.free(frame)
      translation[frame] = nil
    }
    if fixTrees { try adoptFilePages() }
    checkpoints.didFinish()
    try reclaim()
    try recycleSegments()
    assert(freeMap.isConsistent, "a page is both free and reachable")
  }

  /// Replaces references to frames that have a place in the file, in a new version of the same state. Published frames are
  /// never changed: a branch with such references is copied.
  private func adoptFilePages() throws(StoreError) {
    let dirty = DirtySet(memory: memory)
    var gone: [PageNumber] = []
    var roots = appended.roots
    for slot in roots.indices where roots[slot].height > 0 {
      roots[slot].reference = try adopted(roots[slot].reference, Int(roots[slot].height) - 1, dirty, &gone)
    }
    let changes = dirty.takeChanges()
    let version = Version(
      sequence: nextSequence(), lastOwner: memory.arena.newSubtransaction(), commit: appended.commit,
      base: header.generation, directory: appended.directory, roots: roots)
    appended = version
    commits.replace(lsn: nextLSN - 1, version)
    retire(gone + changes.retired, sequence: version.sequence)
  }

  /// The reference that takes the place of `reference`: the file's page, a changed copy, or itself.
  private func adopted(
    _ reference: Reference, _ level: Int, _ dirty: DirtySet, _ gone: inout [PageNumber]
  ) throws(StoreError) -> Reference {
    let frame = reference.page
    guard memory.isFrame(frame) else { return reference }
    if let place = translation[frame] {
      collectFrames(reference, level, &gone)
      return Reference(
        page: place.page, attempt: place.attempt, generation: place.generation, count: reference.count,
        hasRuns: reference.hasRuns)
    }
    guard level > 0 else { return reference }
    var result = reference
    let count = PageHeader.count(UnsafeRawPointer(memory.frame(frame)))
    for index in 0..<count {
      let child = TreePage.child(UnsafeRawPointer(memory.frame(result.page)), index)
      let new = try adopted(child, level - 1, dirty, &gone)
      if new == child { continue }
      let (page, copy) = try dirty.mutable(result, level: level)
      result = copy
      TreePage.setChild(page, index, new)
    }
    return result
  }

  /// The frames of a subtree that lies in the file as a whole.
  func collectFrames(_ reference: Reference, _ level: Int, _ frames: inout [PageNumber]) {
    guard memory.isFrame(reference.page) else { return }
    frames.append(reference.page)
    guard level > 0 else { return }
    let page = UnsafeRawPointer(memory.frame(reference.page))
    for index in 0..<PageHeader.count(page) { collectFrames(TreePage.child(page, index), level - 1, &frames) }
  }

  /// Gives segments back that the journal is not likely to need soon: one period's groups are kept while the next one's
  /// are written.
  private func recycleSegments() throws(StoreError) {
    let spare = min(UInt64(options.journalBound), 2 * max(journalPeriods.last, journalPeriods.before))
    var index = 0
    while ring.byteCount > spare, index < ring.segments.count {
      let next = (index + 1) % ring.segments.count
      let segment = ring.segments[next]
      let holdsPosition =
        segment.header.firstGroup <= header.journalPosition && header.journalPosition <= segment.header.end
      if next == 0 || next == ring.current || segment.lastLSN >= header.nextLSN || holdsPosition {
        index += 1
        continue
      }
      try removeSegment(after: index)
    }
  }

  func removeSegment(after index: Int) throws(StoreError) {
    let removed: SegmentHeader
    do throws(StoreError) { removed = try ring.removeSegment(after: index) } catch {
      commits.poison(error)
      throw error
    }
    let first = removed.offset >> UInt64(geometry.pageShift)
    try freeMap.release(first..<first + geometry.pages(removed.length))
  }
}
