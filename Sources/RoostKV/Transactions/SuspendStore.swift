/// Letting go of a file for a while, so that other processes may write it, and taking it up again as they left it.
extension StoreCore {
  /// Checkpoints and gives the file's locks back.
  /// - Throws: `lockTimeout` when transactions or snapshots don't end in time; the store then goes on as before.
  func suspend() throws(StoreError) {
    try requireOpen()
    let deadline = runtime.now() &+ options.lockTimeout.nanoseconds
    // Most of the work is done while others go on.
    if !isReadOnly { try checkpoint() }
    try acquireForUpkeep()
    defer { releaseWriter() }
    guard gate.change(.open, to: .suspended) else { return try requireOpen() }
    do throws(StoreError) {
      guard commits.waitForSnapshots(until: deadline) else { throw snapshotsHeld() }
      try letOthersWrite()
    } catch {
      _ = gate.change(.suspended, to: .open)
      throw error
    }
  }

  private func letOthersWrite() throws(StoreError) {
    if isInMemory { return }
    if isReadOnly {
      for generation in pinnedGenerations { file.unpin(generation: UInt64(generation)) }
      pinnedGenerations = []
      return
    }
    try settleCheckpoint()
    try checkpointLocked()
    file.unlockForWriting()
  }

  /// Locks the file again and reads what is in it now.
  func resume() throws(StoreError) {
    guard gate.state == .suspended else { return try requireOpen() }
    try acquireForUpkeep()
    defer { releaseWriter() }
    guard gate.state == .suspended else { return try requireOpen() }
    if !isInMemory {
      try file.checkIdentity()
      if isReadOnly { try refreshLocked() } else { try lockAndReload() }
    }
    // Not if the store has been closed meanwhile.
    guard gate.change(.suspended, to: .open) else { return try requireOpen() }
  }

  private func lockAndReload() throws(StoreError) {
    try file.lockForWriting(timeout: options.lockTimeout, runtime)
    do throws(StoreError) { try reload() } catch {
      file.unlockForWriting()
      throw error
    }
  }

  /// Everything that was read from the file is read again; nothing of it may be taken for what it was.
  private func reload() throws(StoreError) {
    let slots = try HeaderSlots(file)
    let (newest, slot) = try slots.newest()
    guard newest.storeID == storeID, newest.geometry == geometry, newest.journalBlock == journalBlock else {
      throw StoreError(
        .fileReplaced, "the file holds another store than before it was suspended",
        remedy: "close the store and open the file anew", path: file.path)
    }
    try newest.requireWritable(path: file.path)
    let fileBytes = try file.size()
    let limit = fileBytes >> UInt64(geometry.pageShift)
    try requireAddressSpace(pages: limit)
    memory.clearMarks(pages: 0..<max(memory.fileLimit, limit))
    memory.fileLimit = limit
    let reader = FileMapPageReader(file, geometry, storeSeed: memory.storeSeed)
    let map = try FreeMap(newest, fileEnd: memory.fileLimit, reader: reader)
    let newRing = try JournalRing(newest, file: file, fileBytes: fileBytes, storeSeed: memory.storeSeed)
    let tables = try CatalogTables(newest.catalog, nextTableID: newest.nextTableID, memory: memory)
    let old = appended
    takeUp(newest, slot, map, newRing, tables)
    headerBytes = slots.bytes[slot]
    retire(frames(of: old), sequence: appended.sequence)
    commits.restart(lsn: nextLSN - 1, appended)
    try finishOpening()
  }

  /// The state of a header, as if the store had just been opened.
  private func takeUp(_ newest: Header, _ slot: Int, _ map: FreeMap, _ newRing: JournalRing, _ tables: CatalogTables) {
    header = newest
    headerSlot = slot
    pendingHeader = nil
    freeMap = map
    limbo = Limbo()
    limboSeen = ([], 0)
    pageFloor = 0
    ring = newRing
    nextLSN = newest.nextLSN
    chain = newest.chain
    nextTableID = newest.nextTableID
    catalog = newest.catalog
    frozenTables = tables.frozen
    freedPages = []
    freedRuns = []
    translation = [:]
    spillStamp = nil
    journalBytes = 0
    journalPeriods = (0, 0)
    unproven = []
    droppedGroups = []
    mustCheckpoint = false
    session = runtime.randomSeed()
    appended = Version(
      sequence: nextSequence(), lastOwner: memory.arena.newSubtransaction(), commit: newest.commit,
      base: newest.generation, directory: tables.directory, roots: tables.roots)
  }

  private func snapshotsHeld() -> StoreError {
    StoreError(
      .lockTimeout, "a read transaction, snapshot or cursor has not ended within \(options.lockTimeout)",
      remedy: "end all of them before the store is suspended", path: file.path)
  }
}
