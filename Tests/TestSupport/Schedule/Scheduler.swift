import RoostKV

/// Runs threads one at a time, and decides by a plan which one goes on at each point where another one could.
///
/// The same plan gives the same execution, so an execution that went wrong can be repeated, and all of them can be
/// gone through in order (`ScheduleSearch`). Threads are real ones; one of them has the baton, and everything here is
/// touched by that one alone.
package final class Scheduler: @unchecked Sendable {
  /// A point at which there was a choice.
  package struct Decision: Sendable {
    /// The number of choices, of which the first `free` let go on whoever would go on anyway, or are forced as nobody
    /// can; the others are preemptions: somebody is interrupted, or a wait ends by its deadline before it had to.
    package var choices: Int
    package var free: Int
    package var taken: Int
  }

  private enum State: Equatable {
    case runnable
    /// Wants a monitor that another thread has.
    case blocked(ObjectIdentifier)
    case waiting(ObjectIdentifier, deadline: UInt64?)
    case finished
  }

  private final class Thread: Sendable {
    let name: String
    let monitor = SystemMonitor()
    private let flag = Box()

    private final class Box: @unchecked Sendable { var hasBaton = false }

    init(_ name: String) { self.name = name }

    func giveBaton() {
      monitor.withLock { flag.hasBaton = true }
      monitor.wakeAll()
    }

    func waitForBaton() {
      monitor.withLock {
        while !flag.hasBaton { _ = monitor.wait(until: nil) }
        flag.hasBaton = false
      }
    }
  }

  /// Deadlines further away than this are never met before their time: they guard against a hang.
  private static let longestPatience: UInt64 = 1_000_000_000

  private let plan: [Int]
  private var threads: [Thread] = []
  private var states: [State] = []
  private var current = 0
  private var clock: UInt64 = 1
  private var isExploring = false
  private let end = Thread("end")
  package private(set) var decisions: [Decision] = []
  /// What every thread waits for, if nobody can go on.
  package private(set) var deadlock: String?

  package init(plan: [Int]) { self.plan = plan }

  /// Runs `body` as the first thread; returns when all threads have ended, or none can go on.
  package func run(_ body: @escaping @Sendable () -> Void) {
    spawn("main", body)
    threads[0].giveBaton()
    end.waitForBaton()
  }

  /// Starts a thread, which waits for its turn.
  package func spawn(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let thread = Thread(name)
    threads.append(thread)
    states.append(.runnable)
    SystemRuntime().start(name) {
      thread.waitForBaton()
      body()
      self.leave(.finished)
    }
  }

  /// From here on the plan decides; before, whoever runs goes on for as long as it can.
  package func explore(_ isOn: Bool) { isExploring = isOn }

  package func now() -> UInt64 {
    clock += 1
    return clock
  }

  // MARK: Points

  /// The running thread can be interrupted here.
  package func point() {
    guard isExploring else { return }
    let others = runnable().filter { $0 != current }
    let early = patientWaiters()
    guard !others.isEmpty || !early.isEmpty else { return }
    let choice = decide(1 + others.count + early.count, free: 1)
    if choice == 0 { return }
    go(to: (others + early)[choice - 1])
  }

  func block(on monitor: ObjectIdentifier) { leave(.blocked(monitor)) }

  /// Returns false if the deadline came first.
  func wait(on monitor: ObjectIdentifier, until deadline: UInt64?) -> Bool {
    leave(.waiting(monitor, deadline: deadline))
    return deadline.map { clock < $0 } ?? true
  }

  /// Whoever waits for the monitor, or wants it, may try again.
  func wake(_ monitor: ObjectIdentifier, waiters: Bool) {
    for id in states.indices {
      switch states[id] {
      case .blocked(monitor): states[id] = .runnable
      case .waiting(monitor, _) where waiters: states[id] = .runnable
      default: break
      }
    }
  }

  // MARK: Who goes on

  private func runnable() -> [Int] { states.indices.filter { states[$0] == .runnable } }

  /// Threads whose wait may end by its deadline any time.
  private func patientWaiters() -> [Int] {
    states.indices.filter {
      if case .waiting(_, let deadline?) = states[$0] { deadline < clock + Self.longestPatience } else { false }
    }
  }

  private func decide(_ choices: Int, free: Int) -> Int {
    let index = decisions.count
    let taken = index < plan.count ? min(plan[index], choices - 1) : 0
    decisions.append(Decision(choices: choices, free: free, taken: taken))
    return taken
  }

  /// The running thread can't go on until its state changes.
  private func leave(_ state: State) {
    states[current] = state
    let ready = runnable()
    let early = ready.isEmpty || !isExploring ? [] : patientWaiters()
    if ready.isEmpty { return expire() }
    let choices = ready + early
    go(to: choices[isExploring && choices.count > 1 ? decide(choices.count, free: ready.count) : 0])
  }

  /// Nobody can go on: time passes until the next deadline.
  private func expire() {
    var next: (id: Int, deadline: UInt64)?
    for id in states.indices {
      guard case .waiting(_, let deadline?) = states[id] else { continue }
      if next.map({ deadline < $0.deadline }) ?? true { next = (id, deadline) }
    }
    if let next { return go(to: next.id) }
    let stuck = states.indices.filter { states[$0] != .finished }
    if !stuck.isEmpty { deadlock = stuck.map { "\(threads[$0].name): \(states[$0])" }.joined(separator: "; ") }
    let isMe = states[current] != .finished
    end.giveBaton()
    if isMe { threads[current].waitForBaton() }
  }

  private func go(to id: Int) {
    if case .waiting(_, let deadline?) = states[id] { clock = max(clock, deadline) }
    let me = current
    let stays = states[me] != .finished
    states[id] = .runnable
    guard id != me else { return }
    current = id
    threads[id].giveBaton()
    if stays { threads[me].waitForBaton() }
  }
}
