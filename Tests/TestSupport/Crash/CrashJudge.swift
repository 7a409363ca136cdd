import RoostKV

/// Opens every disk that a power loss could leave of a history, and holds the store to its promises: it opens; it
/// shows exactly
/// a committed state, no older than the last acknowledged one; a check finds nothing; looking at it writes nothing;
/// the next
/// commit works, and survives the next power loss, in the midst of recovery too.
package final class CrashJudge {
  /// How thorough a walk is.
  package struct Effort: Sendable {
    /// Choices at each moment; all of them if they are no more.
    package var choices = 60
    /// The same for what happens at recovery.
    package var choicesInRecovery = 12
    /// Crashes within the recovery from crashes.
    package var depth = 3
    /// One in so many states goes through the crashes of its recovery; of those found there one in four times as many.
    package var recoveryOneIn: UInt64 = 32
    /// One in so many states is damaged as well.
    package var damageOneIn: UInt64 = 16

    package init() {}
  }

  private let findings: CrashFindings
  private let options: StoreOptions
  private let effort: Effort
  private let medium: SimulatedMedium
  private let resolver = CrashResolver()
  /// The greatest length that the file may have after recovery.
  private var lengthBound = 0

  package init(_ findings: CrashFindings, _ options: StoreOptions, sectorSize: Int, effort: Effort = Effort()) {
    self.findings = findings
    self.options = options
    self.effort = effort
    medium = SimulatedMedium(DiskState(DiskImage(), sectorSize: sectorSize))
  }

  // MARK: A history

  package func judge(_ segment: Segment) {
    lengthBound = segment.start.length
    for case .resize(let length) in segment.operations { lengthBound = max(lengthBound, length) }
    walk(segment, depth: 0)
  }

  private func walk(_ segment: Segment, depth: Int) {
    var state = segment.start
    var allowed: [ContentDigest] = []
    var older: [ContentDigest] = []
    var expectations = segment.expectations[...]
    for position in 0...segment.operations.count {
      if findings.isDone { return }
      var mustKeepNewest = false
      if position > 0 {
        let operation = segment.operations[position - 1]
        state.apply(operation)
        if case .write = operation { mustKeepNewest = true }
      }
      func look(_ mustKeepNewest: Bool) {
        guard !allowed.isEmpty else { return }
        crashes(state, Moment(segment, position, allowed, older, depth), mustKeepNewest)
      }
      if position > 0 { look(mustKeepNewest) }
      while let next = expectations.first, next.position <= position {
        expectations.removeFirst()
        allowed = next.allowed
        older = next.older
        if next.isStricter || position == 0 { look(false) }
      }
    }
  }

  /// A moment of a history.
  private struct Moment {
    let segment: Segment
    let position: Int
    let allowed: [ContentDigest]
    let older: [ContentDigest]
    let depth: Int

    init(_ segment: Segment, _ position: Int, _ allowed: [ContentDigest], _ older: [ContentDigest], _ depth: Int) {
      self.segment = segment
      self.position = position
      self.allowed = allowed
      self.older = older
      self.depth = depth
    }
  }

  private func crashes(_ state: DiskState, _ moment: Moment, _ mustKeepNewest: Bool) {
    let limit = moment.depth == 0 ? effort.choices : effort.choicesInRecovery
    let seed = UInt64(moment.position) &* 31 &+ state.hashSum
    for choice in CrashStates(state, limit: limit, seed: seed, mustKeepNewest: mustKeepNewest) {
      if findings.isDone { return }
      examine(state, choice, moment)
    }
    var random = SplitMix64(seed: seed)
    if moment.depth == 0, !state.pending.isEmpty, random.oneIn(4) { killed(state, moment) }
  }

  /// One disk, and now and then the same with other content where nothing was ever written, or with damage.
  private func examine(_ state: DiskState, _ choice: CrashChoice, _ moment: Moment) {
    resolver.resolve(state, choice)
    let hash = resolver.hash
    judgeResolved(state, choice, hash, moment)
    if hash >> 8 % 8 == 0 {
      for fill in [Fill.garbage(hash), .stale(hash)] {
        var filled = choice
        filled.fill = fill
        resolver.resolve(state, filled)
        let filledHash = resolver.hash
        if filledHash != hash { judgeResolved(state, filled, filledHash, moment) }
      }
    }
    if moment.depth == 0, hash >> 16 % effort.damageOneIn == 0 { damage(state, choice, hash, moment) }
  }

  private func judgeResolved(_ state: DiskState, _ choice: CrashChoice, _ hash: UInt64, _ moment: Moment) {
    let found: ContentDigest
    switch findings.verdict(hash) {
    case .failed?: return
    case .content(let digest)?: found = digest
    case nil:
      guard let digest = open(state, choice, hash, moment) else { return }
      found = digest
    }
    if moment.allowed.contains(found) { return }
    report(
      moment, "opens to a state that is none of the \(moment.allowed.count) allowed: \(choice)", state.crash(choice))
  }

  private func report(_ moment: Moment, _ message: String, _ image: @autoclosure () -> DiskImage? = nil) {
    findings.violated(
      moment.segment.name,
      "after operation \(moment.position) of \(moment.segment.operations.count), depth \(moment.depth): \(message) "
        + "[\(moment.segment.story(before: moment.position))]",
      image: image())
  }

  // MARK: One disk

  /// Opens the disk that the resolver holds, and all that follows.
  ///
  /// - Returns: the content found; nil if it can't be opened, which has been reported then.
  private func open(_ state: DiskState, _ choice: CrashChoice, _ hash: UInt64, _ moment: Moment) -> ContentDigest? {
    medium.load(resolver, state)
    let before = medium.length
    let recovery: Recovery
    do {
      recovery = try recover(hash, moment)
    } catch {
      findings.record(hash, .failed)
      if moment.segment.mayFail, error is StoreError { return nil }
      report(moment, "\(error): \(choice)", state.crash(choice))
      return nil
    }
    findings.record(hash, .content(recovery.found))
    // The store is gone: the disk can be another one now.
    // A step of growth, the pages kept free for deleting, and what the marker's commit needs.
    let growth = max(256 << 10, before / 8) + 80 * options.pageSize
    if medium.length > max(before, lengthBound) + growth {
      report(moment, "the file has grown to \(medium.length) bytes")
    }
    if moment.segment.mayFail { return recovery.found }
    followRecovery(state.afterPowerLoss(choice), recovery, hash, moment)
    return recovery.found
  }

  /// What an open, and the next commit, have done.
  private struct Recovery {
    var found: ContentDigest
    var withMarker: ContentDigest
    var operations: [DiskOperation]
    /// Operations when the marker was acknowledged.
    var acknowledged: Int
  }

  /// Opens, looks, commits a marker, and now and then checkpoints and closes.
  private func recover(_ hash: UInt64, _ moment: Moment, on other: SimulatedMedium? = nil) throws -> Recovery {
    let medium = other ?? medium
    let runtime = ScheduledRuntime(seed: hash)
    let store = try Store.open(SimulatedDisk(medium), options, runtime: runtime)
    let start = medium.operationCount
    let found = try store.read { try ContentDigest($0) }
    // Of a disk that has lied nothing is promised but that what shows is a committed state.
    if moment.segment.mayFail { return Recovery(found: found, withMarker: found, operations: [], acknowledged: 0) }
    try check(store, "after the open")
    guard medium.operationCount == start, start == 0 else { throw Complaint("looking at it has written") }
    var marked = found
    let table = "crash marker \(moment.depth)"
    try store.write { transaction in
      if try transaction.tableIfPresent(table) == nil { marked.addTable(table) }
      let key = [UInt8](withUnsafeBytes(of: hash) { Array($0) })
      try transaction.put(key, key, in: try transaction.createTableIfMissing(table))
      marked.addEntry(key, key, in: table)
    }
    let acknowledged = medium.operationCount
    guard try store.read({ try ContentDigest($0) }) == marked else {
      throw Complaint("the next commit shows something else")
    }
    try check(store, "after the next commit")
    if hash >> 24 % 8 == 0 {
      try store.checkpoint()
      try check(store, "after a checkpoint")
      if hash >> 24 % 16 == 0 { try store.close() }
    }
    runtime.drain()
    return Recovery(found: found, withMarker: marked, operations: medium.operations, acknowledged: acknowledged)
  }

  private func check(_ store: Store, _ moment: String) throws {
    let problems = try store.check().problems
    guard problems.isEmpty else { throw Complaint("\(moment) the check finds: \(problems.prefix(3))") }
  }

  /// The next power loss: at any moment of the recovery, or at least right behind its commit.
  private func followRecovery(_ start: DiskState, _ recovery: Recovery, _ hash: UInt64, _ moment: Moment) {
    guard moment.depth < effort.depth else { return }
    let both = [recovery.found, recovery.withMarker]
    let segment = Segment(
      name: moment.segment.name, start: start, operations: recovery.operations,
      expectations: [
        .init(position: 0, allowed: both, isStricter: false),
        .init(position: recovery.acknowledged, allowed: [recovery.withMarker], isStricter: true),
      ], events: moment.segment.events.filter { $0.position <= moment.position }.map { (0, $0.text) })
    if hash >> 32 % (effort.recoveryOneIn << UInt64(2 * moment.depth)) == 0 {
      walk(segment, depth: moment.depth + 1)
    } else if hash >> 32 % 4 == 1 {
      var state = start
      for operation in recovery.operations[..<recovery.acknowledged] { state.apply(operation) }
      examine(
        state, state.noneKept, Moment(segment, recovery.acknowledged, [recovery.withMarker], [], moment.depth + 1))
    }
  }

  // MARK: The process alone ends

  /// The next process reads what the system shows, which may not be on the disk; and then there is a power loss.
  private func killed(_ state: DiskState, _ moment: Moment) {
    let other = SimulatedMedium(state)
    let recovery: Recovery
    do {
      recovery = try recover(state.hashSum ^ UInt64(moment.position), moment, on: other)
    } catch {
      if moment.segment.mayFail, error is StoreError { return }
      return report(moment, "after the end of the process: \(error)")
    }
    guard moment.allowed.contains(recovery.found) else {
      return report(moment, "the next process sees a state that is none of the \(moment.allowed.count) allowed")
    }
    if moment.segment.mayFail { return }
    let segment = Segment(
      name: moment.segment.name + ", end of the process after operation \(moment.position)", start: state,
      operations: recovery.operations,
      expectations: [
        .init(position: 0, allowed: moment.allowed + [recovery.withMarker], isStricter: false),
        .init(position: recovery.acknowledged, allowed: [recovery.withMarker], isStricter: true),
      ], events: moment.segment.events.filter { $0.position <= moment.position }.map { (0, $0.text) })
    walk(segment, depth: moment.depth + 1)
  }

  // MARK: Damage

  /// Rot of one header slot changes nothing; of anything else it is told, or changes nothing, or is taken for a tear.
  private func damage(_ state: DiskState, _ choice: CrashChoice, _ hash: UInt64, _ moment: Moment) {
    var random = SplitMix64(seed: hash)
    for rot in [Rot.header(0), .header(1)] + (0..<4).map({ _ in Rot.random(&random, length: resolver.length) }) {
      resolver.resolve(state, choice)
      medium.load(resolver, state)
      guard rot.apply(to: medium, &random) else { continue }
      findings.recordDamaged()
      do {
        let store = try Store.open(SimulatedDisk(medium), options, runtime: ScheduledRuntime(seed: hash))
        let found = try store.read { try ContentDigest($0) }
        _ = try store.check()
        let others = rot.isHeader ? [] : rot.isBit ? moment.older : moment.segment.committed
        if !moment.allowed.contains(found), !others.contains(found) {
          report(moment, "with \(rot) it opens to a state that is not allowed")
        }
      } catch {
        if rot.isHeader, !moment.segment.mayFail { report(moment, "with \(rot): \(error)") }
        if !(error is StoreError) { report(moment, "with \(rot) an error of another type: \(error)") }
      }
    }
  }
}

/// A promise that was not kept.
struct Complaint: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
