extension StoreCore {
  /// Checkpoints, empties the ring but for its first segment, cuts free space off the end. [C-11]
  func close() throws(StoreError) {
    guard !isClosed else { return }
    isClosed = true
    if isInMemory || isReadOnly { return finishClosing() }
    // A poisoned store writes nothing any more; what is durable is found by the next open.
    defer { finishClosing() }
    if commits.poison != nil { return }
    try checkpoint(closing: true)
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
      directory: appended.directory, roots: appended.roots, commit: appended.commit, lsn: nextLSN, chain: chain,
      closing: true)
    try write(frozen)
    try finish(frozen)
  }

  private func finishClosing() {
    let file = file, writes = !isInMemory && !isReadOnly
    guard writes, commits.allPins.isEmpty else { return }
    isUnlocked = true
    file.unlockForWriting()
  }

  func closedError() -> StoreError {
    StoreError(.closed, "the store has been closed", remedy: "open it again", path: file.path)
  }

  func requireOpen() throws(StoreError) {
    if isClosed { throw closedError() }
  }
}
