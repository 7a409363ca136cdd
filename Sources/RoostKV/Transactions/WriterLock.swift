/// Lets one writer at a time through, first come first served. Not tied to a thread: a task may take it on one thread and
/// give it back on another.
final class WriterLock: Sendable {
  /// What somebody wants the lock for. Upkeep ends by itself; a transaction ends when its user says so.
  enum Purpose { case upkeep, transaction }

  enum Outcome { case granted, timedOut, cancelled }

  /// Somebody waiting in line. Guarded by the monitor.
  private final class Waiter: @unchecked Sendable {
    let purpose: Purpose
    /// The time to give up at.
    let deadline: UInt64
    var isGranted = false
    var isCancelled = false
    /// Resumes the task that waits; `nil` for a thread.
    var resume: (@Sendable (Outcome) -> Void)?

    init(_ purpose: Purpose, _ deadline: UInt64) {
      self.purpose = purpose
      self.deadline = deadline
    }
  }

  private final class State: @unchecked Sendable {
    var holder: Purpose?
    var waiters: [Waiter] = []
    /// A thread looks after the deadlines of tasks.
    var isWatching = false

    /// Takes the waiter out of the line; false if it is in it no more.
    func remove(_ waiter: Waiter) -> Bool {
      guard let index = waiters.firstIndex(where: { $0 === waiter }) else { return false }
      waiters.remove(at: index)
      return true
    }
  }

  private let runtime: any Runtime
  private let monitor: any Monitor
  private let state = State()

  init(_ runtime: any Runtime) {
    self.runtime = runtime
    monitor = runtime.makeMonitor()
  }

  // MARK: Threads

  /// Blocks the thread until the lock is had; false when `timeout` nanoseconds have passed.
  func acquire(for purpose: Purpose = .upkeep, timeout: UInt64? = nil) -> Bool {
    monitor.withLock {
      if state.holder == nil {
        state.holder = purpose
        return true
      }
      let deadline = timeout.map { runtime.now() &+ $0 }
      let waiter = Waiter(purpose, deadline ?? UInt64.max)
      state.waiters.append(waiter)
      while !waiter.isGranted {
        if !monitor.wait(until: deadline), !waiter.isGranted {
          _ = state.remove(waiter)
          return false
        }
      }
      return true
    }
  }

  /// Takes the lock for upkeep if nobody has it.
  func acquireIfFree() -> Bool {
    monitor.withLock {
      guard state.holder == nil else { return false }
      state.holder = .upkeep
      return true
    }
  }

  /// Blocks until the lock is had for upkeep; false when a transaction has it or waits for it.
  func acquireUnlessTransaction() -> Bool {
    let isTransaction = monitor.withLock {
      state.holder == .transaction || state.waiters.contains { $0.purpose == .transaction }
    }
    return isTransaction ? false : acquire()
  }

  func release() {
    let resume: (@Sendable (Outcome) -> Void)? = monitor.withLock {
      guard !state.waiters.isEmpty else {
        state.holder = nil
        return nil
      }
      let next = state.waiters.removeFirst()
      state.holder = next.purpose
      next.isGranted = true
      return next.resume
    }
    if let resume { resume(.granted) } else { monitor.wakeAll() }
  }

  // MARK: Tasks

  /// Suspends the task until the lock is had, `timeout` nanoseconds have passed, or the task is cancelled.
  func acquireAsync(for purpose: Purpose, timeout: UInt64) async -> Outcome {
    let waiter = Waiter(purpose, runtime.now() &+ timeout)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if let outcome = enter(waiter, { continuation.resume(returning: $0) }) {
          continuation.resume(returning: outcome)
        }
      }
    } onCancel: {
      cancel(waiter)
    }
  }

  /// Takes the lock if it is free, else joins the line.
  private func enter(_ waiter: Waiter, _ resume: @escaping @Sendable (Outcome) -> Void) -> Outcome? {
    let (outcome, mustWatch) = monitor.withLock { () -> (Outcome?, Bool) in
      if waiter.isCancelled { return (.cancelled, false) }
      if state.holder == nil {
        state.holder = waiter.purpose
        return (.granted, false)
      }
      waiter.resume = resume
      state.waiters.append(waiter)
      defer { state.isWatching = true }
      return (nil, !state.isWatching)
    }
    if mustWatch { runtime.start("roost.deadline") { self.watchDeadlines() } }
    return outcome
  }

  private func cancel(_ waiter: Waiter) {
    let wasWaiting = monitor.withLock {
      waiter.isCancelled = true
      return state.remove(waiter)
    }
    if wasWaiting { waiter.resume?(.cancelled) }
  }

  /// Sends tasks away that have waited long enough, until no task waits.
  private func watchDeadlines() {
    while true {
      let late: [Waiter]? = monitor.withLock {
        let tasks = state.waiters.filter { $0.resume != nil }
        guard let next = tasks.map(\.deadline).min() else {
          state.isWatching = false
          return nil
        }
        let now = runtime.now()
        if now < next { _ = monitor.wait(until: next) }
        let late = tasks.filter { $0.deadline <= runtime.now() }
        return late.filter { state.remove($0) }
      }
      guard let late else { return }
      for waiter in late { waiter.resume?(.timedOut) }
    }
  }
}
