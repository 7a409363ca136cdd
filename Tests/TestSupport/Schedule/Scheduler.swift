import RoostKV

/// Runs threads one at a time, and decides by a plan, or by a seed, which one goes on at each point where another one could.
///
/// The same plan or seed gives the same execution, so an execution that went wrong can be repeated; and all plans can be
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
  /// Decides where there is no plan; lets another thread go on in one of so many of the cases in which it could.
  private var random: (generator: SplitMix64, oneIn: Int)?
  private var threads: [Thread] = []
  private var states: [State] = []
  private var current = 0
  private var clock: UInt64 = 1
  private var isExploring = false
  private let end = Thread("end")
  package private(set) var decisions: [Decision] = []
  /// What every thread waits for, if nobody can go on.
  package private(set) var deadlock: String?

  /// Decides by a plan, once `explore` says so; `run` begins.
  package init(plan: [Int]) { self.plan = plan }

  /// Decides by a seed. The calling thread is the first one, and with those that it starts the only one to use this.
  package init(seed: UInt64, switchesOneIn: Int) {
    plan = []
    random = (SplitMix64(seed: seed), switchesOneIn)
    isExploring = true
    threads = [Thread("main")]
    states = [.runnable]
  }

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
      // For whoever drains.
      self.wake(ObjectIdentifier(self), waiters: false)
      self.leave(.finished)
    }
  }

  /// Lets every other thread run to its end.
  package func drain() {
    while states.indices.contains(where: { $0 != current && states[$0] != .finished }) {
      block(on: ObjectIdentifier(self))
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
    if let oneIn = random?.oneIn {
      guard !others.isEmpty, random?.generator.oneIn(oneIn) == true else { return }
      return go(to: pick(others))
    }
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

  private func pick(_ threads: [Int]) -> Int {
    let index = random.map { _ in Int(truncatingIfNeeded: random?.generator.next() ?? 0) & Int.max } ?? 0
    return threads[index % threads.count]
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
    if ready.isEmpty { return expire() }
    if random != nil { return go(to: pick(ready)) }
    let early = isExploring ? patientWaiters() : []
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
    guard random == nil || stuck.isEmpty else { fatalError("all threads of the simulation wait: \(deadlock ?? "")") }
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
