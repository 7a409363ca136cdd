import RoostKV
import TestSupport
import Testing

/// Commit, group flush, checkpoint, reuse of pages and snapshots in every order, up to a number of preemptions.
@Suite struct ScheduleTests {
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
