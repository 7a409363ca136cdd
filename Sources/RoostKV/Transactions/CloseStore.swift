extension StoreCore {
  /// Checkpoints, empties the ring but for its first segment, cuts free space off the end. [C-11]
  func close() throws(StoreError) {
    guard let before = gate.beginClosing() else { return }
    defer {
      _ = gate.close()
      finishClosing(waits: true)
    }
    // A poisoned store writes nothing any more; what is durable is found by the next open.
    if before == .suspended || isInMemory || isReadOnly || commits.poison != nil { return }
    try checkpoint(closing: true)
    try cutOff()
  }

  private func cutOff() throws(StoreError) {
    _ = writerLock.acquire()
    defer { releaseWriter() }
    guard header.journalPosition == ring.segments[0].header.firstGroup else { return }
    ring.current = 0
    while ring.segments.count > 1 { try removeSegment(after: 0) }
    try reclaim()
    let end = freeMap.fileEnd - (try freeMap.freeTail())
    if end < header.pageCount { try writeClosingHeader() }
    guard header.pageCount < freeMap.fileEnd, pageFloor == 0 else { return }
    // First, so that nobody reads ahead into what is cut off.
    memory.fileLimit = header.pageCount
    try file.truncate(to: geometry.offset(header.pageCount))
    freeMap.truncate(to: header.pageCount)
  }

  /// The same state with a smaller page count.
  private func writeClosingHeader() throws(StoreError) {
    let frozen = try freeze(
      CommittedState(
        directory: appended.directory, roots: appended.roots, commit: appended.commit, nextLSN: nextLSN, chain: chain,
        isClosing: true))
    try write(frozen)
    try finish(frozen)
  }

  /// The store has been given up without `close`. What is being written is waited for, so that the file is free afterwards.
  func abandon() {
    // A child of a fork has nothing of its own here, and would wait for threads that it does not have.
    guard forkCount == ForkCount.current, gate.close() else { return }
    finishClosing(waits: true)
  }

  /// Gives the writer lock back; of a closed store the last one to do so lets go of the file.
  func releaseWriter() {
    writerLock.release()
    if gate.state == .closed { finishClosing() }
  }

  /// Lets go of the file of a closed store, unless snapshots or an open transaction still use it: the last of them comes
  /// here again.
  /// - Parameter waits: for upkeep that has the writer lock, so that the file is free when the call returns.
  func finishClosing(waits: Bool = false) {
    while commits.snapshotStatistics().count == 0,
      waits ? writerLock.acquireUnlessTransaction() : writerLock.acquireIfFree()
    {
      defer { writerLock.release() }
      guard ownsFile else { return }
      // Began between the two looks, or is about to find out that the store is closed: it comes here when it ends.
      guard commits.snapshotStatistics().count == 0 else { continue }
      _ = checkpoints.waitUntilWritten()
      commits.settle()
      letGo()
    }
  }

  func letGo() {
    guard ownsFile else { return }
    ownsFile = false
    if isReadOnly {
      for generation in pinnedGenerations { file.unpin(generation: UInt64(generation)) }
    } else if !isInMemory {
      file.unlockForWriting()
    }
    file.close()
  }
}
