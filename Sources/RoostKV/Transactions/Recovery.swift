/// From the header's state to the last committed one. SPEC.md section 12.
extension StoreCore {
  /// Applies the journal in memory. [O-3] Nothing is written.
  /// - Parameter looksForGap: judges what lies behind the last group, which takes the time of the whole journal. Else it takes
  ///   that of the groups that have come since the last time.
  func replayJournal(looksForGap: Bool = true) throws(StoreError) {
    var reader = JournalReader(resuming: self)
    let state = WriteState(replaying: self)
    defer { state.end() }
    var commit = appended.commit
    let apply = { (group: GroupHeader, bytes: [UInt8]) throws(StoreError) in
      guard group.commit < 1 << 63 else { throw state.damagedGroup(group.lsn) }
      try state.apply(bytes, lsn: group.lsn)
      commit = group.commit
      self.journalBytes += UInt64(bytes.count)
    }
    var found = try reader.replay(apply)
    var behindGap = looksForGap ? try reader.newestBehindGap() : nil
    // Beside a writer, what was missing may have been written between the two looks.
    while isReadOnly, behindGap != nil {
      let before = reader.nextLSN
      reader.readAnew()
      found += try reader.replay(apply)
      if reader.nextLSN == before { break }
      behindGap = try reader.newestBehindGap()
    }
    if let behindGap, !options.opensUpToJournalGap || isReadOnly { throw reader.gap(behindGap) }
    ring = reader.ring
    nextLSN = reader.nextLSN
    chain = reader.chain
    if let behindGap {
      // Groups behind the gap must never again look like ones of this journal. [J-8]
      givenUp = nextLSN...behindGap
      nextLSN = behindGap + 1
      chain = runtime.randomSeed()
      mustCheckpoint = true
    }
    if !isReadOnly {
      unproven = (unproven ?? []) + found
      droppedGroups = reader.dropped
    }
    guard state.hasChanges || commit != appended.commit else { return }
    let version = try takeOver(state, commit: commit)
    commits.publish(lsn: nextLSN - 1, version)
  }

  /// Writes again what this process has read and the disk may not have, before anything is built on it: the page cache may be
  /// that of a writer whose flush failed. [O-4] With the writer lock held, before the first write of the session.
  func prepareForWriting() throws(StoreError) {
    if isInMemory { return }
    try writeAgain()
    try placeMapPages()
  }

  private func writeAgain() throws(StoreError) {
    guard let groups = unproven, !planted(.recoveryTrustsCache) else { return }
    do throws(StoreError) {
      for found in groups { try rewrite(found) }
      try ring.level()
      // A group that was dropped must not come back when what comes before it has changed.
      let zeros = [UInt8](repeating: 0, count: GroupHeader.byteCount)
      for offset in droppedGroups where !planted(.droppedGroupsStay) {
        try zeros.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: offset) }
      }
      try file.flushForUpkeep()
      // Whoever made the file may have ended before its name was durable.
      try file.flushName()
      try writeHeader(headerBytes, firstSlot: 1 - headerSlot)
    } catch {
      commits.poison(error)
      throw error
    }
    unproven = nil
  }

  private func rewrite(_ found: JournalReader.Found) throws(StoreError) {
    let group = try file.readBytes(Int(found.header.length), at: found.offset)
    var runs: [RunDescriptor] = []
    group.withUnsafeBytes { group in
      var records = GroupRecordReader(group)
      while let (_, record) = records.next() {
        if case .putRun(_, let run) = record { runs.append(run) }
      }
    }
    for run in runs {
      for page in memory.pages(of: run) {
        let bytes = try file.readBytes(geometry.pageSize, at: geometry.offset(page))
        try bytes.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: geometry.offset(page)) }
      }
    }
    try group.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: found.offset) }
  }
}

extension WriteState {
  /// Applies the records of a group. [J-6]
  func apply(_ group: [UInt8], lsn: UInt64) throws(StoreError) {
    try group.withBytes { (bytes) throws(StoreError) in
      var records = GroupRecordReader(bytes)
      while let (id, record) = records.next() { try apply(record, id, lsn) }
      if records.isDamaged { throw damagedGroup(lsn) }
    }
  }

  fileprivate func damagedGroup(_ lsn: UInt64) -> StoreError {
    StoreError(
      .journalDamaged, "transaction \(lsn) in the journal makes no sense", remedy: damageRemedy, path: core.file.path)
  }

  private func apply(_ record: GroupRecord, _ id: UInt32, _ lsn: UInt64) throws(StoreError) {
    changeCount += 1
    if case .createTable(let name) = record {
      guard UInt64(id) >= nextTableID, let name = validName(name), directory.slot(named: name) == nil
      else {
        throw damagedGroup(lsn)
      }
      return insertTable(name, id)
    }
    guard let slot = directory.slot(of: id, hint: Int.max) else { throw damagedGroup(lsn) }
    switch record {
    case .createTable: break
    case .put(let key, let value):
      guard core.limits.fitsInline(key: key.count, value: value.count), key.count <= core.limits.maximumKey else {
        throw damagedGroup(lsn)
      }
      _ = try editor.put(key, .inline(value), in: &roots[slot])
    case .putRun(let key, let run):
      guard key.count <= core.limits.maximumKey, run.length <= RunLayout.maximumLength else { throw damagedGroup(lsn) }
      let pages = core.memory.pages(of: run)
      guard !pages.isEmpty else { throw damagedGroup(lsn) }
      if !core.isReadOnly { try core.freeMap.hold(pages) }
      runs.append(pages)
      _ = try editor.put(key, .run(run), in: &roots[slot])
    case .delete(let key):
      guard key.count <= core.limits.maximumKey else { throw damagedGroup(lsn) }
      _ = try editor.remove(key, in: &roots[slot])
    case .deleteRange(let range):
      _ = try range.withBounds { (lower, upper) throws(StoreError) in
        try editor.removeRange(lower, upper, in: &roots[slot])
      }
    case .dropTable:
      try removeTable(id, slot)
    case .renameTable(let name):
      guard let name = validName(name), directory.slot(named: name) == nil else { throw damagedGroup(lsn) }
      setTables(directory.tables.map { $0.id == id ? (name, $0.id) : $0 })
    }
  }

  private func validName(_ name: UnsafeRawBufferPointer) -> [UInt8]? {
    guard (1...255).contains(name.count), String(validating: name, as: UTF8.self) != nil else { return nil }
    return Array(name)
  }
}

extension JournalReader {
  /// Goes on behind what the store has applied already.
  init(resuming core: StoreCore) {
    self.init(
      ring: core.ring, memory: core.memory, isPadded: core.journalBlock == .padded, nextLSN: core.nextLSN,
      chain: core.chain)
  }
}
