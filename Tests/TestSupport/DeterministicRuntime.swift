import Foundation
import RoostKV

/// Runs the engine's threads one at a time, in an order that follows from a seed.
///
/// A thread gives up its turn when it has to wait, and at times when it takes a lock or asks for its turn to be
/// looked at. The
/// clock stands still but when all threads wait. So a history that has gone wrong is found again.
///
/// Only the thread that made the runtime and the threads started by it may use it. As one runs at a time, and turns
/// are handed
/// over through semaphores, the fields need no lock.
package final class DeterministicRuntime: Runtime, @unchecked Sendable {
  fileprivate final class Turn: @unchecked Sendable {
    enum Wish {
      case run
      /// For a lock, or for a wake on a condition of that monitor.
      case lock(ObjectIdentifier)
      case wake(ObjectIdentifier, deadline: UInt64?)
    }
    let name: String
    var wish = Wish.run
    var hasTimedOut = false
    let semaphore = DispatchSemaphore(value: 0)
    init(_ name: String) { self.name = name }
  }

  private var random: SplitMix64
  /// In this many of the cases in which it could, a turn goes to another thread.
  private let switchesOneIn: Int
  private var time: UInt64 = 1_000_000_000
  fileprivate var current = Turn("main")
  private var others: [Turn] = []

  package init(seed: UInt64, switchesOneIn: Int = 3) {
    random = SplitMix64(seed: seed)
    self.switchesOneIn = switchesOneIn
  }

  package func now() -> UInt64 { time }

  package func randomSeed() -> UInt64 { random.next() }

  package func makeMonitor() -> any Monitor { DeterministicMonitor(self) }

  package func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let turn = Turn(name)
    others.append(turn)
    SystemRuntime().start(name) { [self] in
      turn.semaphore.wait()
      body()
      end()
    }
  }

  /// A moment at which another thread may go on.
  package func yield() {
    guard !others.isEmpty, random.oneIn(switchesOneIn) else { return }
    let ready = others.filter { if case .run = $0.wish { true } else { false } }
    guard let next = ready.randomElement(using: &random) else { return }
    hand(to: next)
  }

  /// Lets every other thread run to its end.
  package func drain() {
    while !others.isEmpty { wait(.lock(ObjectIdentifier(self))) }
  }

  // MARK: Turns

  private func hand(to next: Turn) {
    let own = current
    others.removeAll { $0 === next }
    others.append(own)
    current = next
    next.semaphore.signal()
    own.semaphore.wait()
  }

  /// Gives up the turn until the wish is fulfilled.
  fileprivate func wait(_ wish: Turn.Wish) {
    current.wish = wish
    current.hasTimedOut = false
    if let next = nextReady() { hand(to: next) }
    current.wish = .run
  }

  /// A thread that can go on; nil when it is the current one.
  private func nextReady() -> Turn? {
    while true {
      let ready = others.filter { if case .run = $0.wish { true } else { false } }
      if let next = ready.randomElement(using: &random) { return next }
      if case .run = current.wish { return nil }
      guard passTime() else {
        let wishes = ([current] + others).map { "\($0.name): \($0.wish)" }
        fatalError("all threads of the simulation wait: \(wishes)")
      }
    }
  }

  /// Goes on to the next deadline of a wait.
  private func passTime() -> Bool {
    var earliest: (turn: Turn, deadline: UInt64)?
    for turn in [current] + others {
      guard case .wake(_, let deadline?) = turn.wish, deadline < earliest?.deadline ?? UInt64.max else { continue }
      earliest = (turn, deadline)
    }
    guard let earliest else { return false }
    time = max(time, earliest.deadline)
    earliest.turn.hasTimedOut = true
    earliest.turn.wish = .run
    return true
  }

  private func end() {
    // Whoever drains waits for the runtime itself, and looks again now.
    release(lock: ObjectIdentifier(self))
    let ended = current
    ended.wish = .wake(ObjectIdentifier(self), deadline: nil)
    guard let next = nextReady() else { return }
    others.removeAll { $0 === next }
    current = next
    next.semaphore.signal()
  }

  fileprivate func release(lock: ObjectIdentifier) {
    for turn in others {
      if case .lock(lock) = turn.wish { turn.wish = .run }
    }
  }

  fileprivate func wake(_ monitor: ObjectIdentifier) {
    for turn in others {
      if case .wake(monitor, _) = turn.wish { turn.wish = .run }
    }
  }

  fileprivate var hasTimedOut: Bool { current.hasTimedOut }
}

private final class DeterministicMonitor: Monitor, @unchecked Sendable {
  private let runtime: DeterministicRuntime
  private var isLocked = false

  init(_ runtime: DeterministicRuntime) { self.runtime = runtime }

  func lock() {
    runtime.yield()
    while isLocked { runtime.wait(.lock(ObjectIdentifier(self))) }
    isLocked = true
  }

  func unlock() {
    isLocked = false
    runtime.release(lock: ObjectIdentifier(self))
  }

  func wait(until deadline: UInt64?) -> Bool {
    unlock()
    runtime.wait(.wake(ObjectIdentifier(self), deadline: deadline))
    let hasTimedOut = runtime.hasTimedOut
    lock()
    return !hasTimedOut
  }

  func wakeAll() {
    runtime.wake(ObjectIdentifier(self))
  }
}
