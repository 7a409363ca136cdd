import Foundation
import RoostKV
import Synchronization

/// Writers, a reader and a checkpoint on one small store, under one schedule.
///
/// Each writer counts its own key up, by durable commits or, the second writer, by relaxed ones before the last. What
/// the reader may see follows from that alone: each key only ever grows, both are at least what was acknowledged before
/// the snapshot began, and a snapshot's values stay.
package struct CommitScenario: Sendable {
  /// One or two.
  package var writers = 2
  /// Commits of each writer.
  package var commits = 1
  /// Snapshots that a reader takes one after the other.
  package var snapshots = 1
  package var checkpoints = 1
  /// The second writer's transactions are too large for the journal, and commit by being a checkpoint.
  package var isSecondLarge = false
  /// Which flush from the beginning on fails, if one does. Whoever is told then stops.
  package var failingFlush: Int?
  /// Also tried: crashes at the end that lose what was not flushed.
  package var crashes = 2
  /// The ends that were judged already; many schedules have the same.
  private let judged = Judged()

  private final class Judged: Sendable {
    let ends = Mutex(Set<[UInt64]>())
  }

  package init(
    writers: Int = 2, commits: Int = 1, snapshots: Int = 1, checkpoints: Int = 1, isSecondLarge: Bool = false
  ) {
    self.isSecondLarge = isSecondLarge
    self.writers = writers
    self.commits = commits
    self.snapshots = snapshots
    self.checkpoints = checkpoints
  }

  package struct Outcome: Sendable {
    package var decisions: [Scheduler.Decision]
    /// What went wrong.
    package var problem: String?
  }

  private struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
  }

  /// What the threads share; one runs at a time.
  private final class Shared: @unchecked Sendable {
    var acknowledged = [0, 0]
    var attempted = [0, 0]
    var running = 0
    var problem: String?
  }

  private static let keys = ["a", "b"]

  private static var options: StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.journalBound = 64 << 10
    options.addressSpace = 64 << 20
    return options
  }

  /// Runs the schedule of a plan.
  package func run(_ plan: [Int]) -> Outcome {
    let scheduler = Scheduler(plan: plan)
    let shared = Shared()
    scheduler.run { [self] in
      do { try main(scheduler, shared) } catch { shared.problem = shared.problem ?? "\(error)" }
    }
    return Outcome(
      decisions: scheduler.decisions, problem: scheduler.deadlock.map { "deadlock: \($0)" } ?? shared.problem)
  }

  private func main(_ scheduler: Scheduler, _ shared: Shared) throws {
    let runtime = ScheduledRuntime(scheduler)
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options)))
    let store = try Store.open(ScheduledDisk(SimulatedDisk(medium), scheduler), Self.options, runtime: runtime)
    // Checkpoints before leave pages that can be used again.
    for round in 0..<2 {
      try store.write { transaction in
        let table = try transaction.createTableIfMissing("t")
        for key in Self.keys { try transaction.put(key, "0", in: table) }
        for number in 0..<3 {
          try transaction.put("other \(number)", [UInt8](repeating: UInt8(round), count: 900), in: table)
        }
      }
      try store.checkpoint()
    }
    let monitor = runtime.makeMonitor()
    func start(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
      shared.running += 1
      runtime.start(name) {
        do { try body() } catch {
          if !isExpected(error) { shared.problem = shared.problem ?? "\(name): \(error)" }
        }
        monitor.withLock { shared.running -= 1 }
        monitor.wakeAll()
      }
    }
    for writer in 0..<writers { start("writer \(writer)") { try write(store, writer, shared) } }
    if snapshots > 0 { start("reader") { try read(store, shared, scheduler) } }
    for number in 0..<checkpoints { start("checkpoint \(number)") { try store.checkpoint() } }
    if let failingFlush { medium.inject(DiskFault(.flush, call: failingFlush, .flush(EIO, .forgotten))) }
    scheduler.explore(true)
    monitor.lock()
    while shared.running > 0 { _ = monitor.wait(until: nil) }
    monitor.unlock()
    scheduler.explore(false)
    if shared.problem == nil { try judge(store, medium, shared) }
  }

  private func isExpected(_ error: any Error) -> Bool {
    guard failingFlush != nil, let error = error as? StoreError else { return false }
    return [.commitOutcomeUnknown, .poisoned, .ioError].contains(error.code)
  }

  private func write(_ store: Store, _ writer: Int, _ shared: Shared) throws {
    for number in 1...commits {
      let isRelaxed = writer == 1 && number < commits
      shared.attempted[writer] = number
      try store.write(isRelaxed ? .relaxed : .durable) { transaction in
        let table = try transaction.table("t")
        guard try Self.value(transaction, writer) == number - 1 else {
          throw Failure("a writer doesn't see its last commit")
        }
        try transaction.put(Self.keys[writer], "\(number)", in: table)
        try transaction.put("other \(writer)", [UInt8](repeating: UInt8(number), count: 900), in: table)
        if writer == 1, isSecondLarge {
          for part in 0..<40 {
            try transaction.put("part \(part)", [UInt8](repeating: UInt8(number), count: 900), in: table)
          }
        }
      }
      if !isRelaxed { shared.acknowledged[writer] = number }
    }
  }

  private func read(_ store: Store, _ shared: Shared, _ scheduler: Scheduler) throws {
    var last = [0, 0]
    for _ in 0..<snapshots {
      scheduler.point()
      let known = shared.acknowledged
      let snapshot = try store.snapshot()
      let first = try Self.values(snapshot)
      scheduler.point()
      guard try Self.values(snapshot) == first else { throw Failure("a snapshot changed") }
      for writer in 0..<2
      where first[writer] < max(last[writer], known[writer]) || first[writer] > shared.attempted[writer] {
        throw Failure("the reader saw \(first), after \(last), with \(known) acknowledged")
      }
      last = first
    }
  }

  /// The store at the end, after a kill, and after power losses.
  private func judge(_ store: Store, _ medium: SimulatedMedium, _ shared: Shared) throws {
    if failingFlush == nil { try expect(store, shared.attempted, shared, "at the end") }
    let kill = medium.killImage
    let end = [
      kill.bytes.withUnsafeBytes { XXH3.hash($0) }, UInt64(shared.acknowledged[0]), UInt64(shared.acknowledged[1]),
    ]
    guard judged.ends.withLock({ $0.insert(end).inserted }) else { return }
    let images = [kill] + medium.state.crashStates(limit: crashes, seed: 1)
    for (index, image) in images.enumerated() {
      let reopened = try Store.open(SimulatedDisk(SimulatedMedium(image)), Self.options)
      try expect(reopened, shared.acknowledged, shared, index == 0 ? "after a kill" : "after a crash")
      try reopened.write { try $0.put("a", "9", in: try $0.table("t")) }
      try reopened.checkpoint()
      try requireSound(reopened, "after one more commit")
    }
  }

  private func expect(_ store: Store, _ least: [Int], _ shared: Shared, _ when: String) throws {
    let values = try store.read { try Self.values($0) }
    for writer in 0..<2 where values[writer] < least[writer] || values[writer] > shared.attempted[writer] {
      throw Failure("\(when) the store holds \(values), and \(least) were acknowledged")
    }
    try requireSound(store, when)
  }

  private func requireSound(_ store: Store, _ when: String) throws {
    let problems = try store.check().problems
    guard problems.isEmpty else { throw Failure("\(when) the check finds \(problems.prefix(3))") }
  }

  private static func values(_ view: borrowing ReadTransaction) throws -> [Int] {
    try [0, 1].map { writer in
      guard let bytes = try view.get(keys[writer], in: try view.table("t")) else { throw Failure("a key is gone") }
      return Int(String(decoding: bytes, as: UTF8.self)) ?? -1
    }
  }

  private static func value(_ transaction: borrowing WriteTransaction, _ writer: Int) throws -> Int {
    guard let bytes = try transaction.get(keys[writer], in: try transaction.table("t")) else {
      throw Failure("a key is gone")
    }
    return Int(String(decoding: bytes, as: UTF8.self)) ?? -1
  }
}
