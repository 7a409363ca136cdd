import RoostKV
import Synchronization
import TestSupport
import Testing

/// Commit, group flush, checkpoint, reuse of pages and snapshots in every order, up to a number of preemptions.
@Suite struct ScheduleTests {
  private struct Problem: Error, CustomStringConvertible { var description: String }

  private func expectAllGood(_ scenario: CommitScenario, preemptions: Int, atLeast least: Int) {
    let result = ScheduleSearch(scenario, preemptions: preemptions).run(threads: 2)
    #expect(result.problem == nil)
    #expect(result.isComplete && result.schedules >= least, "\(result.schedules) schedules")
  }

  @Test("Two writers, a reader and a checkpoint, without preemption")
  func allFour() { expectAllGood(CommitScenario(), preemptions: 0, atLeast: 100) }

  @Test("Two writers")
  func writers() { expectAllGood(CommitScenario(snapshots: 0, checkpoints: 0), preemptions: 1, atLeast: 50) }

  @Test("A writer and a reader")
  func writerAndReader() {
    expectAllGood(CommitScenario(writers: 1, commits: 2, checkpoints: 0), preemptions: 1, atLeast: 50)
  }

  @Test("A writer and a checkpoint")
  func writerAndCheckpoint() {
    expectAllGood(CommitScenario(writers: 1, snapshots: 0), preemptions: 1, atLeast: 50)
  }

  @Test("A large transaction between a writer's commits and checkpoints")
  func largeTransaction() {
    expectAllGood(CommitScenario(snapshots: 1, isSecondLarge: true), preemptions: 0, atLeast: 50)
  }

  @Test("A flush that fails, with a large transaction waiting for the checkpoint that needed it", arguments: 0..<2)
  func failedFlush(_ flush: Int) {
    var scenario = CommitScenario(writers: 2, snapshots: 0, isSecondLarge: true)
    scenario.failingFlush = flush
    let result = ScheduleSearch(scenario, preemptions: 1, limit: 200).run(threads: 2)
    #expect(result.problem == nil)
  }

  /// The pages that such a transaction has written ahead are of the generation that it makes; one that took the snapshot for
  /// older would write over them.
  @Test("A snapshot begun at any moment of a commit larger than memory keeps its pages")
  func snapshotOfSpilledTransaction() {
    var plan: [Int]? = []
    var count = 0
    while let next = plan {
      let scheduler = Scheduler(plan: next)
      let problem = Mutex<String?>(nil)
      scheduler.run {
        do { try Self.snapshotDuringLargeCommit(scheduler) } catch { problem.withLock { $0 = "\(error)" } }
      }
      #expect(problem.withLock { $0 } == nil, "under the plan \(next)")
      count += 1
      // The first decision at which the reader wasn't yet let in comes next.
      let index = next.lastIndex { $0 > 0 } ?? -1
      plan = index + 1 < scheduler.decisions.count || next.isEmpty ? [Int](repeating: 0, count: index + 1) + [1] : nil
      if problem.withLock({ $0 }) != nil { return }
    }
    #expect(count > 5)
  }

  private static func snapshotDuringLargeCommit(_ scheduler: Scheduler) throws {
    var options = StoreOptions()
    options.pageSize = 4096
    options.memoryBound = 1 << 20
    options.addressSpace = 1 << 30
    let runtime = ScheduledRuntime(scheduler)
    let disk = SimulatedDisk(SimulatedMedium(DiskImage(try Store.emptyFile(options))))
    let store = try Store.open(disk, options, runtime: runtime)
    let keys = (0..<700).map { "key \($0)" }
    @Sendable func fill(_ number: UInt8) throws -> WriteTransaction {
      var transaction = try store.beginWrite()
      let table = try transaction.createTableIfMissing("t")
      for key in keys { try transaction.put(key, [UInt8](repeating: number, count: 1900), in: table) }
      return transaction
    }
    try fill(0).commit()
    final class Shared: @unchecked Sendable {
      var isRewritten = false
      var problem: String?
      var isDone = false
    }
    let shared = Shared()
    let monitor = runtime.makeMonitor()
    let transaction = try fill(1)
    runtime.start("reader") {
      do {
        let snapshot = try store.snapshot()
        let table = try snapshot.table("t")
        let first = try snapshot.get(keys[0], in: table)
        monitor.withLock { while !shared.isRewritten { _ = monitor.wait(until: nil) } }
        for key in keys where try snapshot.get(key, in: table) != first { shared.problem = "a snapshot changed" }
      } catch {
        shared.problem = "\(error)"
      }
      monitor.withLock { shared.isDone = true }
      monitor.wakeAll()
    }
    scheduler.explore(true)
    try transaction.commit()
    scheduler.explore(false)
    for number in 2..<5 {
      try fill(UInt8(number)).commit()
      try store.checkpoint()
    }
    monitor.withLock { shared.isRewritten = true }
    monitor.wakeAll()
    monitor.withLock { while !shared.isDone { _ = monitor.wait(until: nil) } }
    if let problem = shared.problem { throw Problem(description: problem) }
  }

  /// The search finds a lost update and a deadlock where there is one.
  @Test("The search can fail")
  func findsErrors() {
    var found: Set<String> = []
    for preemptions in 0...1 {
      var plans: [[Int]] = [[]]
      while let plan = plans.popLast() {
        let scheduler = Scheduler(plan: plan)
        let outcome = twoCounters(scheduler)
        if scheduler.deadlock != nil { found.insert("\(preemptions): deadlock") }
        if outcome == 1 { found.insert("\(preemptions): lost update") }
        for (index, decision) in scheduler.decisions.enumerated() where index >= plan.count {
          let before = scheduler.decisions[..<index]
          guard before.count(where: { $0.taken >= $0.free }) < preemptions || decision.free > 1 else { continue }
          for choice in 1..<decision.choices { plans.append(before.map(\.taken) + [choice]) }
        }
      }
    }
    #expect(found == ["1: deadlock", "1: lost update"])
  }

  /// Two threads that add to a number without holding a lock in between, and take two locks in opposite order.
  private func twoCounters(_ scheduler: Scheduler) -> Int {
    final class Shared: @unchecked Sendable { var number = 0 }
    let shared = Shared()
    scheduler.run {
      let runtime = ScheduledRuntime(scheduler)
      let locks = [runtime.makeMonitor(), runtime.makeMonitor()]
      for thread in 0..<2 {
        runtime.start("thread \(thread)") {
          let old = shared.number
          locks[thread].withLock { locks[1 - thread].withLock {} }
          shared.number = old + 1
        }
      }
      scheduler.explore(true)
    }
    return scheduler.deadlock == nil ? shared.number : -1
  }
}
