import RoostKV

/// Does things to a store on a simulated disk and keeps book of what the store has promised by then.
///
/// It runs on the threads of one `ScheduledRuntime`, one at a time, so its fields need no lock.
package final class CrashHistory: @unchecked Sendable {
  /// A state that a commit tried to reach.
  private struct Version {
    var reference: ReferenceStore
    var digest: ContentDigest
    var isDurable: Bool
    /// The commit failed cleanly, or a later open didn't show it: it must never appear.
    var isVoid = false
  }

  package let name: String
  package let options: StoreOptions
  package private(set) var runtime: ScheduledRuntime
  package private(set) var medium: SimulatedMedium
  package private(set) var store: Store
  package private(set) var segments: [Segment] = []
  /// The disk has lied: nothing more can be promised.
  package private(set) var isLying = false
  private var versions: [Version]
  /// The greatest version that was acknowledged as durable, and the one before it.
  private var floor = 0
  private var floorBefore = 0
  private var expectations: [Segment.Expectation] = []
  private var start: DiskState
  private var events: [(position: Int, text: String)] = []
  private var external: (store: Store, oldest: Int)?
  private let isConcurrent: Bool
  private let flaw: DriverFlaw?

  /// A new store.
  package init(
    _ name: String, _ options: StoreOptions, sectorSize: Int, seed: UInt64, isConcurrent: Bool = false,
    flaw: DriverFlaw? = nil
  ) throws {
    self.name = name
    self.options = options
    self.isConcurrent = isConcurrent
    let runtime = ScheduledRuntime(seed: seed)
    self.runtime = runtime
    start = DiskState(DiskImage(try Store.emptyFile(options, runtime: runtime)), sectorSize: sectorSize)
    self.flaw = flaw
    medium = SimulatedMedium(start, beforeCall: { runtime.yield() })
    medium.flaw = flaw
    store = try Store.open(SimulatedDisk(medium), options, runtime: runtime)
    versions = [Version(reference: ReferenceStore(), digest: ContentDigest(), isDurable: true)]
    expect()
  }

  // MARK: Book-keeping

  private var last: Int { versions.count - 1 }
  /// The version that the next transaction builds on.
  private var newest: Int { versions.lastIndex { !$0.isVoid } ?? 0 }

  private func digests(from first: Int) -> [ContentDigest] {
    var seen = Set<ContentDigest>()
    return versions[first...].filter { !$0.isVoid && seen.insert($0.digest).inserted }.map(\.digest)
  }

  private func expect(isStricter: Bool = false) {
    expectations.append(
      Segment.Expectation(
        position: medium.operationCount, allowed: digests(from: isLying ? 0 : floor),
        older: digests(from: isConcurrent ? 0 : floorBefore), isStricter: isStricter))
  }

  /// What was done last.
  var story: String { events.suffix(10).map { "\($0.text) @\($0.position)" }.joined(separator: ", ") }

  private func note(_ text: String) { events.append((medium.operationCount, text)) }

  private func raiseFloor(to version: Int) {
    guard version > floor else { return }
    floorBefore = floor
    floor = version
    note("version \(version) is durable")
    expect(isStricter: true)
  }

  private func endSegment(_ position: Int) {
    segments.append(
      Segment(
        name: name + (segments.isEmpty ? "" : ", segment \(segments.count)"), start: start,
        operations: Array(medium.operations.prefix(position)), expectations: expectations, mayFail: isLying,
        committed: digests(from: 0), events: events))
    expectations = []
    events = []
  }

  // MARK: What is done to the store

  /// Begins a transaction, lets `change` do something to it and to the reference alike, and commits.
  package func commit(
    _ durability: Durability = .durable, _ change: (inout WriteTransaction, inout ReferenceStore) throws -> Void
  ) throws {
    var transaction = try store.beginWrite()
    // The writer lock is held: the newest version is the one to build on.
    var reference = versions[newest].reference
    let digestBefore = versions[newest].digest
    try change(&transaction, &reference)
    let version = versions.count
    versions.append(
      Version(reference: reference, digest: ContentDigest(reference), isDurable: durability == .durable))
    note("commit \(version) (\(durability))")
    expect()
    let operations = medium.operationCount
    do throws(StoreError) {
      try transaction.commit(durability) as Void
    } catch {
      if error.code == .noSpace || error.code == .sizeLimit {
        versions[version].isVoid = true
        note("commit \(version) failed cleanly")
        expect(isStricter: true)
      }
      throw error
    }
    // A transaction without changes costs nothing, and makes nothing durable.
    let isEmpty = medium.operationCount == operations && versions[version].digest == digestBefore
    if durability == .durable, !isEmpty { raiseFloor(to: version) }
  }

  package func checkpoint() throws {
    let version = newest
    note("checkpoint")
    try store.checkpoint()
    raiseFloor(to: version)
  }

  package func flush() throws {
    let version = newest
    note("flush")
    try store.flush()
    raiseFloor(to: version)
  }

  /// Closes the store; a process opens it again.
  package func reopen() throws {
    let version = newest
    note("close")
    try store.close()
    raiseFloor(to: version)
    runtime.drain()
    store = try Store.open(SimulatedDisk(medium), options, runtime: runtime)
    external = nil
    try take(versionOf: try shown())
  }

  // MARK: Readers

  private func shown() throws -> ContentDigest { try store.read { try ContentDigest($0) } }

  /// A reader looks: what it sees is committed, and if that was a durable commit, it stays.
  package func look() throws {
    let before = floor
    let digest = try shown()
    guard let version = index(of: digest, from: before) else { throw Complaint("a reader sees no committed state") }
    if versions[version].isDurable { raiseFloor(to: version) }
  }

  /// A snapshot that is held shows the same for ever.
  package func snapshot() throws -> HeldSnapshot { HeldSnapshot(try store.snapshot()) }

  /// A reader in another process looks: exactly one version, and none older than what it saw before.
  package func lookFromOutside() throws {
    var readOnly = options
    readOnly.access = .readOnly
    if let external {
      try external.store.refresh()
    } else {
      let disk = SimulatedDisk(medium, writable: false)
      let oldest = floor
      external = (try Store.open(disk, readOnly, runtime: runtime), oldest)
    }
    guard let (reader, oldest) = external else { return }
    let digest = try reader.read { try ContentDigest($0) }
    guard let version = index(of: digest, from: oldest) else {
      throw Complaint("a reader in another process sees no committed state, or an older one than before")
    }
    external?.oldest = version
  }

  private func index(of digest: ContentDigest, from first: Int) -> Int? {
    (min(first, last)...last).first { !versions[$0].isVoid && versions[$0].digest == digest }
  }

  // MARK: Ends of processes and power losses

  /// The process ends at this very moment; the next one sees what the system shows.
  package func kill() throws {
    try goOn(medium.state)
  }

  /// The power goes off at this very moment.
  package func losePower(_ random: inout SplitMix64) throws {
    let state = medium.state
    let choices = Array(CrashStates(state, limit: 200, seed: random.next()))
    let choice = choices.randomElement(using: &random) ?? state.noneKept
    try goOn(state.afterPowerLoss(choice), isDurable: true)
  }

  /// The power goes off, and of what was pending only the newest write has reached the disk.
  package func losePowerKeepingNewest() throws {
    let state = medium.state
    let last = state.pending.count - 1
    let fates = state.pending.indices.map { $0 == last ? Fate.kept : .lost }
    try goOn(
      state.afterPowerLoss(CrashChoice(fates: fates, lengthsKept: state.pendingLengths.count)), isDurable: true)
  }

  private func goOn(_ state: DiskState, isDurable: Bool = false) throws {
    endSegment(medium.operationCount)
    // What the old threads still do happens on the old medium, and is forgotten.
    let old = (store, runtime)
    let runtime = ScheduledRuntime(seed: state.hashSum)
    start = state
    external = nil
    let next = SimulatedMedium(state, beforeCall: { runtime.yield() })
    next.flaw = flaw
    store = try Store.open(SimulatedDisk(next), options, runtime: runtime)
    old.1.drain()
    medium = next
    self.runtime = runtime
    try take(versionOf: try shown(), isDurable: isDurable)
  }

  /// An open shows a version; later ones are gone.
  private func take(versionOf digest: ContentDigest, isDurable: Bool = false) throws {
    guard let version = (floor...last).last(where: { !versions[$0].isVoid && versions[$0].digest == digest }) else {
      throw Complaint("an open shows a state that is not from \(floor) to \(last)")
    }
    for later in version + 1..<max(version + 1, versions.count) { versions[later].isVoid = true }
    // While what the system shows is not durable, older states are possible still.
    if isDurable { (floor, floorBefore) = (version, version) }
    versions[version].isDurable = false
    note("opened at version \(version)")
    expect(isStricter: true)
  }

  /// Faults from now on.
  package func inject(_ fault: DiskFault) {
    switch fault.effect {
    case .lie, .late: isLying = true
    default: break
    }
    note("fault \(fault)")
    medium.inject(fault)
  }

  /// Ends the history.
  package func finish() {
    endSegment(medium.operationCount)
    runtime.drain()
  }
}

/// A snapshot with what it showed at first.
package struct HeldSnapshot: ~Copyable {
  private let view: ReadTransaction
  private let digest: ContentDigest?

  init(_ view: consuming ReadTransaction) {
    digest = try? ContentDigest(view)
    self.view = view
  }

  package func check() throws {
    guard try ContentDigest(view) == digest else { throw Complaint("a snapshot has changed") }
  }
}
