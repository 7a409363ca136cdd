/// The end of a write transaction. SPEC.md section 11.
extension StoreCore {
  /// Takes the writer lock and begins a transaction on the newest state.
  /// - Parameter keepsFile: giving the transaction up leaves the file with the bytes it had.
  func beginWrite(keepsFile: Bool = false) throws(StoreError) -> WriteState {
    var attempt = 0
    while true {
      attempt += 1
      try requireWritable()
      guard writerLock.acquire(for: .transaction, timeout: options.lockTimeout.nanoseconds) else { throw lockTimeout() }
      if try mayBegin(attempt) { return WriteState(self, keepsFile: keepsFile) }
      checkpoints.waitUntilIdle()
    }
  }

  /// The same for a task, which is suspended rather than blocked.
  func beginWriteAsync() async throws(StoreError) -> WriteState {
    var attempt = 0
    while true {
      attempt += 1
      try requireWritable()
      switch await writerLock.acquireAsync(for: .transaction, timeout: options.lockTimeout.nanoseconds) {
      case .granted: break
      case .timedOut: throw lockTimeout()
      case .cancelled: throw cancelled()
      }
      if try mayBegin(attempt) { return WriteState(self, keepsFile: false) }
      await withCheckedContinuation { continuation in
        runtime.start("roost.wait") {
          self.checkpoints.waitUntilIdle()
          continuation.resume()
        }
      }
    }
  }

  /// With the writer lock held; releases it unless the transaction may begin now. False: a checkpoint has to end first. One
  /// that has failed twice, for want of space, is not waited for again: a transaction that deletes must be able to begin.
  private func mayBegin(_ attempt: Int) throws(StoreError) -> Bool {
    do throws(StoreError) {
      if let poison = commits.poison { throw poison }
      try requireOpen()
      try reclaim()
    } catch {
      writerLock.release()
      throw error
    }
    if isInMemory { return true }
    if isOverBound, attempt < 3 {
      checkpointIfDue()
      if !checkpoints.isIdle {
        writerLock.release()
        return false
      }
    }
    return true
  }

  private func requireWritable() throws(StoreError) {
    try requireOpen()
    if isReadOnly {
      throw StoreError(
        .readOnly, "the store was opened for reading only", remedy: "open it with access .readWrite", path: file.path)
    }
    if let poison = commits.poison { throw poison }
  }

  /// The writer lock for something that is no transaction; not for ever, since the caller's own transaction may hold it.
  func acquireForUpkeep() throws(StoreError) {
    guard writerLock.acquire(timeout: options.lockTimeout.nanoseconds) else { throw lockTimeout() }
  }

  private func cancelled() -> StoreError {
    StoreError(
      .cancelled, "the task was cancelled before its transaction began",
      remedy: "nothing has changed; begin it again if it is still wanted", path: file.path)
  }

  private func lockTimeout() -> StoreError {
    StoreError(
      .lockTimeout, "another write transaction has not ended within \(options.lockTimeout)",
      remedy: "keep write transactions short, or raise the lock timeout", path: file.path)
  }

  // MARK: Commit

  /// Appends the transaction, and returns the LSN whose durability it depends on; `nil` when there is nothing to wait
  /// for. The writer lock is released in any case.
  func append(_ state: WriteState, _ durability: Durability) throws(StoreError) -> UInt64? {
    do throws(StoreError) {
      try state.requireOpen()
      guard state.hasChanges else {
        state.rollback()
        return nil
      }
      if let poison = commits.poison { throw poison }
      if isInMemory {
        try commitInMemory(state)
        return nil
      }
      if state.isLarge {
        try commitLarge(state)
        return nil
      }
      return try appendGroup(state, durability)
    } catch {
      state.rollback()
      throw error
    }
  }

  private func commitInMemory(_ state: WriteState) throws(StoreError) {
    let version = try takeOver(state)
    defer { writerLock.release() }
    commits.publish(lsn: nextLSN - 1, version)
    try reclaim()
  }

  private func appendGroup(_ state: WriteState, _ durability: Durability) throws(StoreError) -> UInt64 {
    guard let records = state.records else { throw transactionFinished() }
    try prepareForWriting()
    try reserveForCommit(drawsOnReserve: state.onlyDeletes)
    var group = records.finished()
    if journalBlock == .padded { group += [UInt8](repeating: 0, count: (4096 - group.count % 4096) % 4096) }
    let offset = try placeForGroup(group.count)
    let lsn = nextLSN
    let version = try takeOver(state)
    // From here on the transaction is the newest state, and only the disk can fail, which poisons the store.
    defer { writerLock.release() }
    chain = GroupHeader.seal(
      &group, lsn: lsn, chain: chain, durableLSN: planted(.tearTakenForGap) ? lsn - 1 : commits.durableLSN,
      session: session, commit: version.commit,
      offset: offset, storeSeed: memory.storeSeed)
    ring.advance(lsn: lsn, offset: offset, length: group.count)
    nextLSN += 1
    journalBytes += UInt64(group.count)
    try commits.append(lsn: lsn, offset: offset, bytes: group, version: version)
    checkpointIfDue()
    // Written before the lock is released, so that relaxed commits come into the file in order.
    if durability == .relaxed { try commits.writeOut(to: lsn) }
    return lsn
  }

  /// Makes the transaction's state the newest one, in memory.
  func takeOver(_ state: WriteState, commit: UInt64? = nil) throws(StoreError) -> Version {
    let changes = state.dirty.takeChanges()
    let base = pendingHeader?.generation ?? header.generation
    let version = Version(
      sequence: nextSequence(), lastOwner: memory.arena.newSubtransaction(), commit: commit ?? appended.commit + 1,
      base: isInMemory ? 0 : base, directory: state.directory, roots: state.roots)
    retire(changes.retired, sequence: version.sequence)
    // A frame that a checkpoint has given a page in the file leaves that page behind.
    for frame in changes.retired {
      guard let place = translation[frame] else { continue }
      freedPages.append(FreedPage(page: place.page, generation: place.generation))
    }
    if !isReadOnly {
      for pages in state.runs { try freeMap.setReachable(pages, true) }
      let spilled = state.takeSpilled(changes.freedPages)
      for page in spilled.kept { try freeMap.setReachable(page..<page + 1, true) }
      // Released with what the next header frees: no earlier place may be written twice with one stamp.
      let generation = spillStamp?.generation ?? 0
      freedPages += spilled.useless.flatMap { $0 }.map { FreedPage(page: $0, generation: generation) }
    }
    freedPages += changes.freedPages
    freedRuns += changes.freedRuns.map { memory.pages(of: $0) }
    if planted(.runsReusedEarly) { for pages in freedRuns { try freeMap.release(pages) } }
    state.finish()
    appended = version
    return version
  }

  /// Where the next group goes; the ring grows when no segment has room.
  private func placeForGroup(_ length: Int) throws(StoreError) -> UInt64 {
    let step: UInt64 = journalBlock == .padded ? 4096 : 8
    let headers = [planted(.journalReusedEarly) ? nil : header, pendingHeader ?? header].compactMap { $0 }
    let oldest = headers.reduce(UInt64.max) { min($0, $1.nextLSN) }
    let place = ring.place(
      length, step: step, oldestNeeded: oldest, positions: headers.map(\.journalPosition))
    let offset: UInt64
    if let free = place.offset { offset = free } else { offset = try addSegment(for: length) }
    // A reader tries these places before; nothing that is left there from another session may look like this group.
    for range in place.passedOver where !planted(.droppedGroupsStay) {
      let zeros = [UInt8](repeating: 0, count: range.count)
      do throws(StoreError) {
        try zeros.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: range.lowerBound) }
      } catch {
        commits.poison(error)
        throw error
      }
      commits.didWriteRun()
    }
    return offset
  }

  private func addSegment(for length: Int) throws(StoreError) -> UInt64 {
    let bytes = ring.newSegmentLength(for: length, pageSize: geometry.pageSize)
    let pages = try allocateRun(Int(geometry.pages(bytes)), from: 0)
    do throws(StoreError) {
      try ring.insert(offset: geometry.offset(pages.lowerBound), length: bytes)
    } catch {
      commits.poison(error)
      throw error
    }
    return ring.enterNext()
  }

  // MARK: Rollback

  /// Makes pages of an uncommitted transaction available again.
  func giveBack(_ extents: ArraySlice<Range<UInt64>>) {
    for pages in extents {
      // Their zones are loaded, since the pages were allocated from them; so this doesn't fail.
      try? freeMap.release(pages)
    }
  }

  /// Cuts the file back to the pages it had. Should that fail, the tail stays as free space.
  func cutBack(to pages: UInt64) {
    guard pages < freeMap.fileEnd else { return }
    do throws(StoreError) {
      try file.truncate(to: geometry.offset(pages))
      memory.fileLimit = pages
      freeMap.truncate(to: pages)
    } catch {}
  }
}

extension Duration {
  /// Whole nanoseconds, within what an unsigned 64-bit number holds.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0 else { return 0 }
    let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? UInt64.max / 2 : min(whole, UInt64.max / 2) + UInt64(max(0, attoseconds) / 1_000_000_000)
  }
}
