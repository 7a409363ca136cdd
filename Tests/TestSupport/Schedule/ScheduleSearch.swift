import RoostKV

/// Goes through all schedules of a scenario with a bounded number of preemptions, each once.
///
/// Most errors of concurrency need few preemptions (Musuvathi and Qadeer, PLDI 2007), so a small bound finds them in a
/// number of schedules that can be gone through.
package final class ScheduleSearch: @unchecked Sendable {
  package struct Result: Sendable {
    package var schedules = 0
    /// Whether the search came to its end, rather than to its limit or a problem.
    package var isComplete = true
    /// What went wrong first, with the plan that repeats it.
    package var problem: String?
  }

  private let scenario: CommitScenario
  private let preemptions: Int
  private let limit: Int
  private let monitor = SystemMonitor()
  // Guarded by the monitor.
  /// Plans to be run. Each stands for the schedules that begin with it.
  private var plans: [[Int]] = [[]]
  /// Schedules that are being run, which may add plans.
  private var running = 0
  private var workers = 0
  private var result = Result()

  package init(_ scenario: CommitScenario, preemptions: Int, limit: Int = Int.max) {
    self.scenario = scenario
    self.preemptions = preemptions
    self.limit = limit
  }

  /// Runs the search on some threads of the system.
  package func run(threads: Int = 1) -> Result {
    monitor.withLock { workers = max(1, threads) }
    for _ in 1..<max(1, threads) { SystemRuntime().start("search") { self.work() } }
    work()
    return monitor.withLock {
      while workers > 0 { _ = monitor.wait(until: nil) }
      return result
    }
  }

  private func work() {
    while let plan = next() {
      let outcome = scenario.run(plan)
      let more = outcome.problem == nil ? alternatives(outcome.decisions, from: plan.count) : []
      monitor.withLock {
        plans += more
        running -= 1
        if let problem = outcome.problem, result.problem == nil {
          result.problem = "\(problem), under the plan \(plan)"
          result.isComplete = false
        }
      }
      monitor.wakeAll()
    }
    monitor.withLock { workers -= 1 }
    monitor.wakeAll()
  }

  private func next() -> [Int]? {
    monitor.withLock { () -> [Int]? in
      while plans.isEmpty, running > 0 { _ = monitor.wait(until: nil) }
      guard let plan = plans.popLast(), result.problem == nil else { return nil }
      guard result.schedules < limit else {
        result.isComplete = false
        return nil
      }
      result.schedules += 1
      running += 1
      return plan
    }
  }

  /// The schedules that differ from this one first at a decision which its plan left open.
  private func alternatives(_ decisions: [Scheduler.Decision], from start: Int) -> [[Int]] {
    var plans: [[Int]] = []
    var used = 0
    for (index, decision) in decisions.enumerated() {
      if index >= start {
        for choice in decision.taken + 1..<max(decision.taken + 1, decision.choices)
        where used + (choice >= decision.free ? 1 : 0) <= preemptions {
          plans.append(decisions[..<index].map(\.taken) + [choice])
        }
      }
      if decision.taken >= decision.free { used += 1 }
    }
    return plans
  }
}
