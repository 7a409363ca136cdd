/// Brings groups into the file, makes them durable, and publishes versions to readers.
///
/// Two states of the store meet here: writers build on the version appended last, readers see `visible`. A durable commit
/// becomes visible when its flush returns, a relaxed one when it is written, and with it every one before. [C-2]
///
/// Whoever waits for durability and finds nobody flushing does it for all that are queued (group commit).
final class CommitQueue: @unchecked Sendable {
  private struct Group {
    var lsn: UInt64
    var offset: UInt64
    var bytes: [UInt8]
    /// Runs that must be on the disk with the group.
    var runCount: UInt64
  }

  private let file: any StorageFile
  private let runtime: any Runtime
  private let monitor: any Monitor

  let snapshots: Snapshots

  // All below is guarded by the monitor.
  private var queue: [Group] = []
  private var isWriting = false
  /// Groups of the last durable write, and how many the next one waits for while somebody waits.
  private var lastBatch = 0
  private var awaitedBatch = 0
  private var writtenLSN: UInt64
  private var flushedLSN: UInt64
  /// Groups were written without being flushed.
  private var hasUnflushedGroups = false
  private var runsWritten: UInt64 = 0
  private var runsFlushed: UInt64 = 0
  private var pending: [(lsn: UInt64, version: Version)] = []
  private var failure: StoreError?
  private var callbacks: [(lsn: UInt64, call: @Sendable (StoreError?) -> Void)] = []
  private var hasFlusher = false
  private var counters = Counters()

  /// How far a write went.
  private enum Progress {
    case written
    /// Every group, and the runs that they name.
    case groupsDurable
    /// All that was in the file when it began.
    case allDurable
  }

  /// What commits cost so far.
  struct Counters: Sendable {
    var groups: UInt64 = 0
    var flushes: UInt64 = 0
    var journalBytes: UInt64 = 0
  }

  init(_ version: Version, lsn: UInt64, file: any StorageFile, runtime: any Runtime) {
    snapshots = Snapshots(version)
    writtenLSN = lsn
    flushedLSN = lsn
    self.file = file
    self.runtime = runtime
    monitor = runtime.makeMonitor()
  }

  // MARK: Snapshots

  var visible: Version { monitor.withLock { snapshots.visible } }

  /// The versions that readers have or may get, in their order.
  func heldVersions() -> [HeldVersion] {
    monitor.withLock { snapshots.heldVersions() + pending.map { HeldVersion($0.version) } }
  }

  /// How many snapshots are held, the oldest commit that one sees, and the time since when that is outdated.
  func snapshotStatistics() -> (count: Int, oldestCommit: UInt64?, outdatedSince: UInt64?) {
    monitor.withLock {
      let oldest = snapshots.oldest()
      return (snapshots.count, oldest?.commit, oldest?.since)
    }
  }

  /// Waits until no snapshot is held; false when the deadline has passed.
  func waitForSnapshots(until deadline: UInt64) -> Bool {
    monitor.withLock {
      while snapshots.count > 0 {
        let now = runtime.now()
        if now >= deadline { return false }
        // The end of a snapshot wakes nobody, since it is to cost nothing.
        _ = monitor.wait(until: min(deadline, now &+ 1_000_000))
      }
      return true
    }
  }

  /// Readers see `version` from now on. With the monitor held.
  private func show(_ version: Version) { snapshots.publish(version, now: runtime.now()) }

  // MARK: Appending

  var durableLSN: UInt64 { monitor.withLock { flushedLSN } }

  /// A run has been written to the file; the group that names it must not be durable before it.
  func didWriteRun() { monitor.withLock { runsWritten += 1 } }

  /// Queues a group. With the writer lock held, so that LSNs come in order.
  func append(lsn: UInt64, offset: UInt64, bytes: [UInt8], version: Version) throws(StoreError) {
    try monitor.withLock { () throws(StoreError) in
      if let failure { throw failure }
      counters.groups += 1
      counters.journalBytes += UInt64(bytes.count)
      queue.append(Group(lsn: lsn, offset: offset, bytes: bytes, runCount: runsWritten))
      pending.append((lsn, version))
      if planted(.visibleBeforeFlush) { show(version) }
      if queue.count == awaitedBatch { monitor.wakeAll() }
    }
  }

  /// The same state with other pages: takes the place of the version of this LSN once that is visible.
  func replace(lsn: UInt64, _ version: Version) {
    monitor.withLock {
      if pending.isEmpty { show(version) } else { pending.append((lsn, version)) }
    }
  }

  /// A state that a checkpoint has made durable, and that no group describes.
  func publish(lsn: UInt64, _ version: Version) {
    monitor.withLock {
      writtenLSN = max(writtenLSN, lsn)
      flushedLSN = max(flushedLSN, lsn)
      pending.removeAll { $0.lsn <= lsn }
      show(version)
    }
    monitor.wakeAll()
  }

  /// The store has been read anew from its file.
  func restart(lsn: UInt64, _ version: Version) {
    monitor.withLock {
      writtenLSN = lsn
      flushedLSN = lsn
      hasUnflushedGroups = false
      pending = []
      show(version)
    }
  }

  // MARK: Writing and flushing

  /// Returns when every group to `lsn` is in the file, and makes their versions visible.
  func writeOut(to lsn: UInt64) throws(StoreError) {
    try lead { state in
      state.writtenLSN >= lsn
    } write: { (queue, groups) throws(StoreError) in
      try queue.write(groups)
      return .written
    }
  }

  /// Returns when every group to `lsn` is durable.
  ///
  /// - Throws: `commitOutcomeUnknown` when the flush failed.
  func waitUntilDurable(_ lsn: UInt64) throws(StoreError) {
    try lead(gathers: true) { state in
      state.flushedLSN >= lsn
    } write: { (queue, groups) throws(StoreError) in
      try queue.writeDurably(groups)
    }
  }

  /// Flushes everything that has been written to the file so far, groups or not.
  func flushAll() throws(StoreError) {
    var isDone = false
    try lead { _ in
      isDone
    } write: { (queue, groups) throws(StoreError) in
      try queue.write(groups)
      try queue.file.flush()
      queue.monitor.withLock { queue.counters.flushes += 1 }
      isDone = true
      return .allDurable
    }
  }

  /// Calls back when every group to `lsn` is durable, with the error if it can't be; never blocks.
  func whenDurable(_ lsn: UInt64, _ call: @escaping @Sendable (StoreError?) -> Void) {
    let mustStart = monitor.withLock {
      callbacks.append((lsn, call))
      defer { hasFlusher = true }
      return !hasFlusher
    }
    if mustStart { runtime.start("roost.flush") { self.serveCallbacks() } }
  }

  /// The engine thread behind `whenDurable`: flushes until nobody waits.
  private func serveCallbacks() {
    while true {
      let newest: UInt64? = monitor.withLock {
        if callbacks.isEmpty { hasFlusher = false }
        return callbacks.map(\.lsn).max()
      }
      guard let newest else { return }
      var failure: StoreError?
      do throws(StoreError) { try waitUntilDurable(newest) } catch { failure = error }
      let done = monitor.withLock {
        let done = callbacks.filter { $0.lsn <= newest }
        callbacks.removeAll { $0.lsn <= newest }
        return done
      }
      for entry in done { entry.call(failure) }
    }
  }

  /// Waits for the condition, and does the work whenever nobody else does. `write` gets all queued groups and says
  /// what is durable when it returns.
  private func lead(
    gathers: Bool = false,
    until isDone: (CommitQueue) -> Bool,
    write: (CommitQueue, [Group]) throws(StoreError) -> Progress
  ) throws(StoreError) {
    monitor.lock()
    defer { monitor.unlock() }
    while !isDone(self) {
      if let failure { throw failure }
      if isWriting {
        _ = monitor.wait(until: nil)
        continue
      }
      isWriting = true
      if gathers { gather() }
      let groups = queue
      queue = []
      let runs = runsWritten
      monitor.unlock()
      var outcome: Result<Progress, StoreError>
      do throws(StoreError) { outcome = .success(try write(self, groups)) } catch { outcome = .failure(error) }
      monitor.lock()
      isWriting = false
      take(outcome, groups, runs)
      monitor.wakeAll()
    }
  }

  /// The committers whom the last write has released are likely to be back in a moment; waits for them, but not for
  /// longer than a flush takes. A lone committer never waits.
  private func gather() {
    if lastBatch > 1 {
      awaitedBatch = lastBatch
      let deadline = runtime.now() &+ Self.longestGathering
      while queue.count < lastBatch, failure == nil, monitor.wait(until: deadline) {}
      awaitedBatch = 0
    }
    lastBatch = queue.count
  }

  /// Nanoseconds.
  private static let longestGathering: UInt64 = 100_000

  private func take(_ outcome: Result<Progress, StoreError>, _ groups: [Group], _ runs: UInt64) {
    switch outcome {
    case .failure(let error):
      guard error.code != .fileReplaced else {
        failure = error
        return
      }
      if planted(.failedFlushRetried) {
        writtenLSN = max(writtenLSN, groups.last?.lsn ?? 0)
        hasUnflushedGroups = true
        return
      }
      failure = StoreError(
        .commitOutcomeUnknown,
        "the disk did not confirm a write (\(error.message)), so the latest commits may or may not be there",
        remedy: "close the store and open it again; it then shows what has survived", path: file.path,
        offset: error.offset, errno: error.errno)
    case .success(let progress):
      if let last = groups.last { writtenLSN = max(writtenLSN, last.lsn) }
      switch progress {
      case .written:
        if !groups.isEmpty { hasUnflushedGroups = true }
      case .groupsDurable:
        flushedLSN = max(flushedLSN, writtenLSN)
      case .allDurable:
        flushedLSN = max(flushedLSN, writtenLSN)
        hasUnflushedGroups = false
        runsFlushed = max(runsFlushed, runs)
      }
      let shown = pending.prefix { $0.lsn <= writtenLSN }
      if let last = shown.last { show(last.version) }
      pending.removeFirst(shown.count)
    }
  }

  private func write(_ groups: [Group]) throws(StoreError) {
    for piece in pieces(groups) {
      try piece.bytes.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: piece.offset) }
    }
  }

  /// What is durable in a file that nobody will find again is not acknowledged.
  private func writeDurably(_ groups: [Group]) throws(StoreError) -> Progress {
    let progress = try writeAndFlush(groups)
    try file.checkIdentity()
    return progress
  }

  /// One durable write does only if all that it depends on is flushed. [C-1]
  private func writeAndFlush(_ groups: [Group]) throws(StoreError) -> Progress {
    let pieces = pieces(groups)
    let needsFlush = monitor.withLock {
      counters.flushes += 1
      return hasUnflushedGroups || groups.contains { $0.runCount > runsFlushed }
    }
    if pieces.count == 1, !needsFlush || planted(.durableWriteAlways) {
      try pieces[0].bytes.withBytes { (bytes) throws(StoreError) in try file.writeDurably(bytes, at: pieces[0].offset) }
      return .groupsDurable
    }
    try write(groups)
    if planted(.commitNotFlushed), !groups.isEmpty { return .allDurable }
    try file.flush()
    return .allDurable
  }

  /// Neighbouring groups as one write.
  private func pieces(_ groups: [Group]) -> [(offset: UInt64, bytes: [UInt8])] {
    var pieces: [(offset: UInt64, bytes: [UInt8])] = []
    for group in groups {
      if let last = pieces.last, last.offset + UInt64(last.bytes.count) == group.offset {
        pieces[pieces.count - 1].bytes += group.bytes
      } else {
        pieces.append((group.offset, group.bytes))
      }
    }
    return pieces
  }

  // MARK: Failure

  /// The error of the first failed write or flush; after it nothing is written any more. [C-3]
  var poison: StoreError? { monitor.withLock { failure } }

  func poison(_ error: StoreError) {
    monitor.withLock { failure = failure ?? error }
    monitor.wakeAll()
  }

  var statistics: Counters { monitor.withLock { counters } }
}
