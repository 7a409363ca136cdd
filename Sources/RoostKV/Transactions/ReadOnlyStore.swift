/// A store that is only read, beside a writer in another process. SPEC.md section 13.
///
/// It never writes. What looks like damage may be the writer at work, so it is believed only when nothing has changed
/// since.
extension StoreCore {
  private static let attempts = 20

  static func openReader(
    _ file: any StorageFile, _ options: StoreOptions, _ runtime: any Runtime
  ) throws(StoreError) -> StoreCore {
    var attempt = 0
    while true {
      attempt += 1
      let before = try HeaderSlots(file)
      var pinned: UInt64?
      do throws(StoreError) {
        let (header, slot) = try before.newest()
        try file.pin(generation: UInt64(header.generation))
        pinned = UInt64(header.generation)
        let again = try HeaderSlots(file)
        guard case (let now, _) = try again.newest(), now.generation == header.generation else {
          throw changedMeanwhile(file)
        }
        let core = try assemble(file, header, slot, before.bytes[slot], options, runtime)
        try core.replayJournal()
        guard case (let end, _) = try HeaderSlots(file).newest(), end.generation == header.generation else {
          throw changedMeanwhile(file)
        }
        core.pinnedGenerations = [header.generation]
        return core
      } catch {
        if let pinned { file.unpin(generation: pinned) }
        let hasChanged = try HeaderSlots(file).bytes != before.bytes
        let mayBeWriter = hasChanged || [.journalDamaged, .headerDamaged, .changedMeanwhile].contains(error.code)
        guard mayBeWriter, attempt < attempts else { throw error }
      }
    }
  }

  private static func changedMeanwhile(_ file: any StorageFile) -> StoreError {
    StoreError(
      .changedMeanwhile, "the store changed faster than it could be read", remedy: "try again", path: file.path)
  }

  /// Takes in what the writer has committed since.
  func refresh() throws(StoreError) {
    try acquireForUpkeep()
    defer { releaseWriter() }
    // It may have been suspended meanwhile, and must not pin anything then.
    try requireOpen()
    try refreshLocked()
  }

  func refreshLocked() throws(StoreError) {
    for attempt in 1... {
      do throws(StoreError) {
        let (newest, slot) = try HeaderSlots(file).newest()
        if newest.generation == header.generation, pinnedGenerations.contains(header.generation) {
          try followJournal()
        } else {
          try rebase(newest, slot)
        }
        guard case (let now, _) = try HeaderSlots(file).newest(), now.generation == header.generation else { continue }
        unpinUnused()
        return
      } catch {
        guard attempt < Self.attempts, [.journalDamaged, .headerDamaged].contains(error.code) else { throw error }
      }
    }
  }

  private func followJournal() throws(StoreError) {
    try takeInLength()
    // The ring may have grown behind the writer; places in it stay.
    var fresh = try JournalRing(header, file: file, fileBytes: try file.size(), storeSeed: memory.storeSeed)
    let place = ring.position
    guard let current = fresh.segments.firstIndex(where: { $0.header.firstGroup <= place && place <= $0.header.end })
    else {
      throw JournalRing.damaged("the place of the last group is in no segment", place, file)
    }
    fresh.current = current
    fresh.position = place
    ring = fresh
    try replayJournal(looksForGap: false)
    try reclaim()
  }

  /// Goes over to a newer checkpoint.
  private func rebase(_ newest: Header, _ slot: Int) throws(StoreError) {
    try file.pin(generation: UInt64(newest.generation))
    pinnedGenerations.insert(newest.generation)
    guard case (let now, _) = try HeaderSlots(file).newest(), now.generation == newest.generation else { return }
    memory.clearMarks(pages: 0..<memory.fileLimit)
    try takeInLength()
    let tables = try CatalogTables(newest.catalog, nextTableID: newest.nextTableID, memory: memory)
    let newRing = try JournalRing(newest, file: file, fileBytes: try file.size(), storeSeed: memory.storeSeed)
    let old = (header, ring, appended, nextLSN, chain, nextTableID)
    header = newest
    headerSlot = slot
    ring = newRing
    nextLSN = newest.nextLSN
    chain = newest.chain
    nextTableID = newest.nextTableID
    appended = Version(
      sequence: nextSequence(), lastOwner: memory.arena.newSubtransaction(), commit: newest.commit,
      base: newest.generation, directory: tables.directory, roots: tables.roots)
    let first = appended.sequence
    do throws(StoreError) {
      try replayJournal()
    } catch {
      (header, ring, appended, nextLSN, chain, nextTableID) = old
      throw error
    }
    retire(frames(of: old.2), sequence: first)
    commits.publish(lsn: nextLSN - 1, appended)
    try reclaim()
  }

  private func takeInLength() throws(StoreError) {
    let pages = try file.size() >> UInt64(geometry.pageShift)
    try requireAddressSpace(pages: pages)
    memory.fileLimit = pages
  }

  /// The frames of a version.
  func frames(of version: Version) -> [PageNumber] {
    var frames: [PageNumber] = []
    for root in version.roots where root.height > 0 { collectFrames(root.reference, Int(root.height) - 1, &frames) }
    return frames
  }

  /// Drops the pins of generations that no snapshot here is of.
  private func unpinUnused() {
    let used = Set(commits.heldVersions().map(\.base)).union([header.generation])
    for generation in pinnedGenerations where !used.contains(generation) {
      file.unpin(generation: UInt64(generation))
    }
    pinnedGenerations.formIntersection(used)
  }
}
