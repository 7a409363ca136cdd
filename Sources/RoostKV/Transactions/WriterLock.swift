/// Lets one writer at a time through, first come first served. Not tied to a thread: a task may take it on one thread and
/// give it back on another.
final class WriterLock: Sendable {
  /// Somebody waiting in line. Guarded by the monitor.
  private final class Waiter: @unchecked Sendable {
    var isGranted = false
    let purpose: Purpose
    let resume: (@Sendable () -> Void)?
    init(_ purpose: Purpose, _ resume: (@Sendable () -> Void)?) {
      self.purpose = purpose
      self.resume = resume
    }
  }

  /// What somebody wants the lock for. Upkeep ends by itself; a transaction ends when its user says so.
  enum Purpose { case upkeep, transaction }

  private final class State: @unchecked Sendable {
    var holder: Purpose?
    var waiters: [Waiter] = []
  }

  private let runtime: any Runtime
  private let monitor: any Monitor
  private let state = State()

  init(_ runtime: any Runtime) {
    self.runtime = runtime
    monitor = runtime.makeMonitor()
  }

  /// Blocks the thread until the lock is had; false when `timeout` nanoseconds have passed.
  func acquire(for purpose: Purpose = .upkeep, timeout: UInt64? = nil) -> Bool {
    monitor.withLock {
      if state.holder == nil {
        state.holder = purpose
        return true
      }
      let waiter = Waiter(purpose, nil)
      state.waiters.append(waiter)
      let deadline = timeout.map { runtime.now() &+ $0 }
      while !waiter.isGranted {
        if !monitor.wait(until: deadline), !waiter.isGranted {
          state.waiters.removeAll { $0 === waiter }
          return false
        }
      }
      return true
    }
  }

  /// Suspends the task until the lock is had.
  func acquireAsync(for purpose: Purpose) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isFree = monitor.withLock {
        if state.holder == nil {
          state.holder = purpose
          return true
        }
        state.waiters.append(Waiter(purpose) { continuation.resume() })
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  /// Blocks until the lock is had; false when a transaction holds it or waits for it.
  func acquireUnlessTransaction() -> Bool {
    let isTransaction = monitor.withLock {
      state.holder == .transaction || state.waiters.contains { $0.purpose == .transaction }
    }
    return isTransaction ? false : acquire()
  }

  func release() {
    let resume: (@Sendable () -> Void)? = monitor.withLock {
      guard !state.waiters.isEmpty else {
        state.holder = nil
        return nil
      }
      let next = state.waiters.removeFirst()
      state.holder = next.purpose
      next.isGranted = true
      return next.resume
    }
    if let resume { resume() } else { monitor.wakeAll() }
  }
}
