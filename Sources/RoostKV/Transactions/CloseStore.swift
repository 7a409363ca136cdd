extension StoreCore {
  /// Checkpoints, empties the ring but for its first segment, cuts free space off the end. [C-11]
  func close() throws(StoreError) {
    let before = gate.close()
    guard before != .closed else { return }
    // A poisoned store writes nothing any more; what is durable is found by the next open.
    defer { finishClosing() }
    if before == .suspended || isInMemory || isReadOnly || commits.poison != nil { return }
    try checkpoint(closing: true)
    try cutOff()
  }

  private func cutOff() throws(StoreError) {
    _ = writerLock.acquire()
    defer { writerLock.release() }
    guard header.journalPosition == ring.segments[0].header.firstGroup else { return }
    ring.current = 0
    while ring.segments.count > 1 { try removeSegment(after: 0) }
    try reclaim()
    let end = freeMap.fileEnd - (try freeMap.freeTail())
    if end < header.pageCount { try writeClosingHeader() }
    guard header.pageCount < freeMap.fileEnd, pageFloor == 0 else { return }
    try file.truncate(to: geometry.offset(header.pageCount))
    freeMap.truncate(to: header.pageCount)
    memory.fileLimit = header.pageCount
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

  /// The store has been given up without `close`. A checkpoint that runs is waited for, so that the file is free afterwards.
  func abandon() {
    guard gate.close() != .closed else { return }
    checkpoints.waitUntilIdle()
    finishClosing()
  }

  /// Lets go of the file, unless snapshots or an open transaction still use it: then the last of them does.
  private func finishClosing() {
    guard commits.snapshotStatistics().count == 0, writerLock.acquireUnlessTransaction() else { return }
    defer { writerLock.release() }
    letGo()
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
