/// A write transaction at work. Holds the writer lock from `StoreCore.beginWrite` until it ends.
final class WriteState {
  let core: StoreCore
  let dirty: DirtySet
  let editor: TreeEditor
  var directory: Directory
  var roots: [TreeRoot]
  /// The records for the journal; `nil` once they are too many and the transaction will commit as a checkpoint.
  var records: GroupBuilder?
  /// Grows with each change, so that cursors notice.
  var changeCount: UInt64 = 0
  /// Runs written for this transaction.
  var runs: [Range<UInt64>] = []
  /// Pages written ahead for this transaction, and those of them that it has given up since.
  var spilled: [Range<UInt64>] = []
  var onlyDeletes = true
  /// Space is taken only behind this page; giving the transaction up cuts the file back to it.
  let floor: UInt64
  private(set) var isFinished = false
  /// Why the transaction can only be rolled back, as a whole or to a savepoint: a change has stopped midway.
  private var failure: StoreError?
  private(set) var nextTableID: UInt64
  /// Extents of `spilled` that a rollback to a savepoint has made useless.
  private var abandonedSpill: [Range<UInt64>] = []
  /// The changed bytes at which memory is made free next.
  var nextSpill = 0

  init(_ core: StoreCore, keepsFile: Bool) {
    self.core = core
    dirty = DirtySet(memory: core.memory)
    editor = TreeEditor(dirty)
    directory = core.appended.directory
    roots = core.appended.roots
    records = core.isInMemory ? nil : GroupBuilder()
    floor = keepsFile ? core.freeMap.fileEnd : 0
    nextTableID = core.nextTableID
  }

  /// For applying the journal: takes no lock, records nothing.
  init(replaying core: StoreCore) {
    self.core = core
    dirty = DirtySet(memory: core.memory)
    editor = TreeEditor(dirty)
    directory = core.appended.directory
    roots = core.appended.roots
    floor = 0
    nextTableID = core.nextTableID
  }

  deinit {
    if !isFinished { rollback() }
  }

  var hasChanges: Bool { changeCount > 0 }

  /// Whether it commits by being a checkpoint.
  var isLarge: Bool { records == nil && !core.isInMemory }

  func requireOpen() throws(StoreError) {
    try requireUnfinished()
    if let failure { throw failure }
  }

  func requireUnfinished() throws(StoreError) {
    guard !isFinished else { throw transactionFinished() }
  }

  /// Takes in that a change has failed. Want of frames is noticed before anything is changed; behind any other failure the
  /// trees may be half changed, or have what the caller was told they don't.
  private func failed(_ error: StoreError) -> StoreError {
    if error.code != .sizeLimit { failure = error }
    return error
  }

  /// The slot of a table in `roots`.
  func slot(_ table: Table) throws(StoreError) -> Int {
    if let failure { throw failure }
    guard let slot = directory.slot(of: table.id, hint: table.slot) else { throw tableNotFound(table.name) }
    return slot
  }

  // MARK: Entries

  func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ table: Table
  ) throws(StoreError) -> Bool {
    let slot = try slot(table)
    guard key.count <= core.limits.maximumKey else { throw keyTooLong(key.count) }
    if core.limits.fitsInline(key: key.count, value: value.count) {
      let replaced = try put(key, .inline(value), slot)
      try record { $0.put(key, value, table: table.id) }
      return replaced
    }
    let run = try writeRun(value)
    do throws(StoreError) {
      let replaced = try put(key, .run(run), slot)
      try record { $0.putRun(key, run, table: table.id) }
      return replaced
    } catch {
      // Nothing refers to the run, unless the transaction has failed and goes back anyway.
      if failure == nil { core.giveBack(runs.suffix(1)); runs.removeLast() }
      throw error
    }
  }

  private func put(
    _ key: UnsafeRawBufferPointer, _ value: TreeValue, _ slot: Int
  ) throws(StoreError) -> Bool {
    do throws(StoreError) { return try editor.put(key, value, in: &roots[slot]) } catch { throw failed(error) }
  }

  private func writeRun(_ value: UnsafeRawBufferPointer) throws(StoreError) -> RunDescriptor {
    try core.prepareForWriting()
    let writer = RunWriter(file: core.file, geometry: core.geometry, storeSeed: core.memory.storeSeed)
    let pages = try core.allocateRun(try writer.pages(for: value.count), from: floor)
    core.memory.clearMarks(pages: pages)
    runs.append(pages)
    let salt = planted(.sessionNotInRuns) ? 0 : core.session
    let run: RunDescriptor
    do throws(StoreError) { run = try writer.write(value, at: pages.lowerBound, salt: salt) } catch {
      throw core.poisonUnlessFull(error)
    }
    core.commits.didWriteRun()
    return run
  }

  func delete(_ key: UnsafeRawBufferPointer, _ table: Table) throws(StoreError) -> Bool {
    let slot = try slot(table)
    do throws(StoreError) {
      guard try editor.remove(key, in: &roots[slot]) else { return false }
    } catch {
      throw failed(error)
    }
    try record(isDelete: true) { $0.delete(key, table: table.id) }
    return true
  }

  func deleteRange(_ range: KeyRange, _ table: Table) throws(StoreError) -> Int {
    let slot = try slot(table)
    let count: UInt64
    do throws(StoreError) {
      count = try range.withBounds { (lower, upper) throws(StoreError) in
        try editor.removeRange(lower, upper, in: &roots[slot])
      }
    } catch {
      throw failed(error)
    }
    if count > 0 { try record(isDelete: true) { $0.deleteRange(range, table: table.id) } }
    return Int(clamping: count)
  }

  /// Takes in a change: its record, and whether memory has to be made free.
  func record(isDelete: Bool = false, _ add: (inout GroupBuilder) -> Void) throws(StoreError) {
    changeCount += 1
    if !isDelete { onlyDeletes = false }
    if records != nil {
      add(&records!)
      // A group has to fit a segment, and replaying it has to stay cheap.
      if records!.count > core.options.journalBound / 2 { records = nil }
    }
    guard core.dirtyBytes > core.memoryBound else { return }
    do throws(StoreError) { try spill() } catch {
      // The change is made, and its caller is told that it isn't.
      failure = error
      throw error
    }
  }

  // MARK: Tables

  func createTable(_ name: String) throws(StoreError) -> Table {
    try requireOpen()
    let bytes = Array(name.utf8)
    guard (1...255).contains(bytes.count) else { throw invalidName(name) }
    guard directory.slot(named: bytes) == nil else {
      throw StoreError(
        .tableExists, "there is a table \"\(name)\" already", remedy: "use it, or drop it first", path: core.file.path)
    }
    guard nextTableID > 0, nextTableID <= UInt64(UInt32.max) else {
      throw StoreError(
        .sizeLimit, "the store has had 4,294,967,295 tables, which is all that its format allows",
        remedy: "dump it and load the dump into a new store", path: core.file.path)
    }
    let id = UInt32(nextTableID)
    insertTable(bytes, id)
    try record { $0.createTable(bytes, table: id) }
    return try table(bytes)
  }

  func dropTable(_ table: Table) throws(StoreError) {
    try removeTable(table.id, try slot(table))
    try record(isDelete: true) { $0.dropTable(table.id) }
  }

  func renameTable(_ table: Table, to name: String) throws(StoreError) -> Table {
    let bytes = Array(name.utf8)
    let old = try slot(table)
    guard (1...255).contains(bytes.count) else { throw invalidName(name) }
    if directory.names[old] == bytes { return try self.table(bytes) }
    guard directory.slot(named: bytes) == nil else {
      throw StoreError(
        .tableExists, "there is a table \"\(name)\" already", remedy: "choose another name, or drop it first",
        path: core.file.path)
    }
    setTables(directory.tables.map { $0.id == table.id ? (bytes, $0.id) : $0 })
    try record { $0.renameTable(table.id, to: bytes) }
    return try self.table(bytes)
  }

  func insertTable(_ name: [UInt8], _ id: UInt32) {
    nextTableID = UInt64(id) + 1
    setTables(directory.tables + [(name, id)])
  }

  func removeTable(_ id: UInt32, _ slot: Int) throws(StoreError) {
    do throws(StoreError) { try editor.removeAll(in: &roots[slot]) } catch { throw failed(error) }
    setTables(directory.tables.filter { $0.id != id })
  }

  /// Rebuilds the directory; new tables are empty.
  func setTables(_ tables: [(name: [UInt8], id: UInt32)]) {
    let old = directory
    let new = Directory(tables)
    roots = new.ids.map { id in old.slot(of: id, hint: Int.max).map { roots[$0] } ?? .empty(table: id) }
    directory = new
  }

  func table(_ name: [UInt8]) throws(StoreError) -> Table {
    guard let slot = directory.slot(named: name) else { throw tableNotFound(String(decoding: name, as: UTF8.self)) }
    return Table(name: String(decoding: name, as: UTF8.self), id: directory.ids[slot], slot: slot)
  }

  // MARK: Bulk

  func bulkLoad(_ entries: some Sequence<Entry>, _ table: Table) throws(StoreError) {
    let slot = try slot(table)
    // A throw midway leaves the half-built right edge; going back makes it whole again.
    let point = savepoint()
    do throws(StoreError) {
      let builder = try BulkBuilder(dirty, root: roots[slot])
      for entry in entries {
        try entry.key.withBytes { (key) throws(StoreError) in
          try entry.value.withBytes { (value) throws(StoreError) in try append(key, value, builder, table) }
        }
      }
      roots[slot] = try builder.finish()
      if core.dirtyBytes > core.memoryBound { try spill() }
    } catch {
      rollback(to: point)
      throw error
    }
  }

  private func append(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ builder: BulkBuilder, _ table: Table
  ) throws(StoreError) {
    guard key.count <= core.limits.maximumKey else { throw keyTooLong(key.count) }
    changeCount += 1
    onlyDeletes = false
    if core.limits.fitsInline(key: key.count, value: value.count) {
      try builder.append(key, .inline(value))
      records?.put(key, value, table: table.id)
    } else {
      let run = try writeRun(value)
      try builder.append(key, .run(run))
      records?.putRun(key, run, table: table.id)
    }
    if let records, records.count > core.options.journalBound / 2 { self.records = nil }
  }

  // MARK: Savepoints

  struct Savepoint {
    fileprivate var dirty: DirtySet.Savepoint
    fileprivate var directory: Directory
    fileprivate var roots: [TreeRoot]
    fileprivate var recordBytes: Int?
    fileprivate var runs: Int
    fileprivate var spilled: Int
    fileprivate var nextTableID: UInt64
    fileprivate var onlyDeletes: Bool
  }

  func savepoint() -> Savepoint {
    Savepoint(
      dirty: dirty.mark(), directory: directory, roots: roots, recordBytes: records?.count, runs: runs.count,
      spilled: spilled.count, nextTableID: nextTableID, onlyDeletes: onlyDeletes)
  }

  func rollback(to point: Savepoint) {
    dirty.rollback(to: point.dirty)
    directory = point.directory
    roots = point.roots
    // Records given up meanwhile can't come back: the transaction stays large.
    if let bytes = point.recordBytes { records?.truncate(to: bytes) }
    core.giveBack(runs[point.runs...])
    runs.removeSubrange(point.runs...)
    abandonedSpill += spilled[point.spilled...]
    spilled.removeSubrange(point.spilled...)
    nextTableID = point.nextTableID
    onlyDeletes = point.onlyDeletes
    failure = nil
    changeCount += 1
  }

  // MARK: End

  /// Hands the transaction's parts to whoever commits it.
  func finish() {
    isFinished = true
    core.nextTableID = nextTableID
  }

  /// Ends a replay, which holds no lock.
  func end() {
    guard !isFinished else { return }
    isFinished = true
    dirty.abandon()
  }

  /// Pages written ahead: those that the new state reaches, and those that only this transaction knew of. `freed` are the
  /// pages that it has given up.
  func takeSpilled(_ freed: [FreedPage]) -> (kept: [UInt64], useless: [Range<UInt64>]) {
    guard !spilled.isEmpty else { return ([], abandonedSpill) }
    let given = Set(freed.map(\.page))
    return (spilled.flatMap { $0 }.filter { !given.contains($0) }, abandonedSpill)
  }

  /// Ends the transaction without a trace, and lets the next writer in.
  func rollback() {
    guard !isFinished else { return }
    isFinished = true
    dirty.abandon()
    core.giveBack(runs[...])
    core.giveBack(spilled[...])
    core.giveBack(abandonedSpill[...])
    core.spillStamp = nil
    if floor > 0 { core.cutBack(to: floor) }
    core.writerLock.release()
  }
}

// MARK: - Errors

extension WriteState {
  private func keyTooLong(_ count: Int) -> StoreError {
    StoreError(
      .keyTooLong, "a key of \(count) bytes is longer than the \(core.limits.maximumKey) bytes that this store takes",
      remedy: "use shorter keys, or make the store with larger pages", path: core.file.path)
  }

  private func invalidName(_ name: String) -> StoreError {
    StoreError(
      .invalidName, "\"\(name)\" can't be a table's name", remedy: "use 1 to 255 bytes of UTF-8", path: core.file.path)
  }

  private func tableNotFound(_ name: String) -> StoreError { core.tableNotFound(name) }
}

func transactionFinished() -> StoreError {
  StoreError(
    .transactionFinished, "the transaction has ended", remedy: "begin another one, and keep nothing of the old one")
}

extension KeyRange {
  /// Calls `body` with the bounds as the tree takes them.
  func withBounds<R>(
    _ body: (TreeEditor.Bound, TreeEditor.Bound) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let low = lower.key ?? [], high = upper.key ?? []
    return try low.withBytes { (low) throws(StoreError) in
      try high.withBytes { (high) throws(StoreError) in
        func bound(_ bound: Bound, _ key: UnsafeRawBufferPointer) -> TreeEditor.Bound {
          switch bound {
          case .unbounded: .unbounded
          case .included: .included(key)
          case .excluded: .excluded(key)
          }
        }
        return try body(bound(lower, low), bound(upper, high))
      }
    }
  }
}
