import Foundation
import RoostKV
import Synchronization

/// Judges histories until enough states have been seen: exhaustive ones, short before long, and random ones in turns.
package struct CrashCampaign: Sendable {
  package struct Result: Sendable {
    package var states: Int
    package var damaged: Int
    package var histories: Int
    package var violations: [CrashFindings.Violation]
    package var violationCount: Int
    package var seconds: Double
    /// States a second.
    package var rate: Double { Double(states) / max(seconds, 0.001) }
  }

  /// Which histories are judged.
  package enum Choice: Sendable {
    case exhaustive(ClosedRange<Int>)
    case random(seed: UInt64)
    case both(seed: UInt64)
  }

  private let choice: Choice
  private let findings: CrashFindings
  private let workers: Int
  private let effort: CrashJudge.Effort
  private let next: Counter
  private let flaw: DriverFlaw?

  /// - Parameters:
  ///   - states: how many different states are wanted.
  ///   - histories: how many histories at most.
  ///   - imageFolder: where to leave the images of violations.
  package init(
    _ choice: Choice, states: Int = Int.max, histories: Int = Int.max, workers: Int = 2,
    effort: CrashJudge.Effort = CrashJudge.Effort(), stopsAtViolation: Bool = false, imageFolder: String? = nil,
    flaw: DriverFlaw? = nil
  ) {
    self.choice = choice
    self.workers = workers
    self.effort = effort
    self.flaw = flaw
    findings = CrashFindings(limit: states, stopsAtViolation: stopsAtViolation, imageFolder: imageFolder)
    if case .exhaustive(let range) = choice {
      next = Counter(limit: min(histories, range.count))
    } else {
      next = Counter(limit: histories)
    }
  }

  private final class Counter: Sendable {
    private let value = Atomic<Int>(0)
    private let limit: Int
    init(limit: Int) { self.limit = limit }
    func take() -> Int? {
      let number = value.add(1, ordering: .relaxed).oldValue
      return number < limit ? number : nil
    }
    var taken: Int { min(limit, value.load(ordering: .relaxed)) }
  }

  /// - Parameter progress: called now and then with what has been seen so far.
  package func run(_ progress: (@Sendable (Int, Double) -> Void)? = nil) -> Result {
    let start = ContinuousClock().now
    let group = DispatchGroup()
    for _ in 0..<workers {
      group.enter()
      let thread = Thread {
        while !findings.isDone, let number = next.take() { judge(number) }
        group.leave()
      }
      thread.stackSize = 8 << 20
      thread.start()
    }
    while group.wait(timeout: .now() + 10) == .timedOut {
      progress?(findings.states, Self.seconds(since: start))
    }
    return Result(
      states: findings.states, damaged: findings.damaged, histories: next.taken, violations: findings.violations,
      violationCount: findings.violationCount, seconds: Self.seconds(since: start))
  }

  private static func seconds(since start: ContinuousClock.Instant) -> Double {
    let (seconds, attoseconds) = (ContinuousClock().now - start).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  private func judge(_ number: Int) {
    switch choice {
    case .exhaustive(let range):
      judge(exhaustive: range.lowerBound + number)
    case .random(let seed):
      judge(random: seed &+ UInt64(number))
    case .both(let seed):
      if number == 0 { CreationHistory(findings, flaw: flaw).judge() }
      if number < ScenarioHistory.count { judge(scenario: number) }
      if number % 2 == 0, number / 2 < ExhaustiveHistories.count {
        judge(exhaustive: number / 2)
      } else {
        judge(random: seed &+ UInt64(number))
      }
    }
  }

  private func judge(scenario number: Int) {
    let scenario = ScenarioHistory(number, flaw)
    do {
      var effort = effort
      effort.choices = 40
      judge(try scenario.segments(), scenario.options, 512, effort)
    } catch {
      findings.violated(scenario.name, "while it ran: \(error)")
    }
  }

  private func judge(exhaustive number: Int) {
    let history = ExhaustiveHistories(number)
    do {
      // These are short: every choice at every moment.
      var effort = effort
      effort.choices = 100_000
      judge(try history.segments(flaw), history.options, history.sectorSize, effort)
    } catch {
      findings.violated(history.name, "while it ran: \(error)")
    }
  }

  private func judge(random seed: UInt64) {
    var history = RandomHistory(seed: seed)
    do {
      judge(try history.segments(flaw), history.options, history.sectorSize, effort)
    } catch {
      findings.violated(history.name, "while it ran: \(error)")
    }
  }

  private func judge(_ segments: [Segment], _ options: StoreOptions, _ sectorSize: Int, _ effort: CrashJudge.Effort) {
    let judge = CrashJudge(findings, options, sectorSize: sectorSize, effort: effort)
    for segment in segments { judge.judge(segment) }
  }
}
