import Foundation
import Synchronization

/// What a run of the crash simulation has seen; shared by its workers.
package final class CrashFindings: Sendable {
  package struct Violation: Sendable, CustomStringConvertible {
    package var history: String
    package var message: String
    package var description: String { "\(history): \(message)" }
  }

  /// What became of an image: the content it opens to, or why it doesn't.
  enum Verdict: Sendable {
    case content(ContentDigest)
    case failed
  }

  private struct Shard {
    var verdicts: [UInt64: Verdict] = [:]
  }

  private static let shardCount = 16
  private let shards: [Mutexed<Shard>]
  private let state = Mutex<(violations: [Violation], count: Int)>(([], 0))
  private let distinct = Atomic<Int>(0)
  private let damagedImages = Atomic<Int>(0)
  /// Whether the first violation ends the run.
  package let stopsAtViolation: Bool
  private let isStopped = Atomic<Bool>(false)
  private let limit: Int
  private let imageFolder: String?

  /// - Parameter limit: the number of states after which the run ends.
  package init(limit: Int = Int.max, stopsAtViolation: Bool = false, imageFolder: String? = nil) {
    self.imageFolder = imageFolder
    shards = (0..<Self.shardCount).map { _ in Mutexed(Shard()) }
    self.limit = limit
    self.stopsAtViolation = stopsAtViolation
  }

  /// Different images that were opened and judged.
  package var states: Int { distinct.load(ordering: .relaxed) }

  /// Images with damage beyond what a power loss does, which were opened as well.
  package var damaged: Int { damagedImages.load(ordering: .relaxed) }

  package var violationCount: Int { state.withLock { $0.count } }

  /// The first of them.
  package var violations: [Violation] { state.withLock { $0.violations } }

  package var isDone: Bool { states >= limit || isStopped.load(ordering: .relaxed) }

  package func stop() { isStopped.store(true, ordering: .relaxed) }

  func verdict(_ image: UInt64) -> Verdict? {
    shards[Int(image % UInt64(Self.shardCount))].mutex.withLock { $0.verdicts[image] }
  }

  func record(_ image: UInt64, _ verdict: Verdict) {
    let isNew = shards[Int(image % UInt64(Self.shardCount))].mutex.withLock {
      $0.verdicts.updateValue(verdict, forKey: image) == nil
    }
    if isNew { distinct.add(1, ordering: .relaxed) }
  }

  func recordDamaged() { damagedImages.add(1, ordering: .relaxed) }

  package func violated(_ history: String, _ message: String, image: @autoclosure () -> DiskImage? = nil) {
    let isKept = state.withLock { state in
      state.count += 1
      if state.violations.count < 50 { state.violations.append(Violation(history: history, message: message)) }
      return state.violations.count < 50 ? state.count : nil
    }
    if let isKept, let imageFolder, let image = image() {
      try? image.save(to: imageFolder + "/violation-\(isKept).roost")
    }
    if stopsAtViolation { stop() }
  }

  private final class Mutexed<T>: Sendable {
    let mutex: Mutex<T>
    init(_ value: sending T) { mutex = Mutex(value) }
  }
}
