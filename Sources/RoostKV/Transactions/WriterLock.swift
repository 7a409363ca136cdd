/// Lets one writer at a time through, first come first served. Not tied to a thread: a task may take it on one thread and
/// give it back on another.
final class WriterLock: Sendable {
  /// Somebody waiting in line. Guarded by the monitor.
  private final class Waiter: @unchecked Sendable {
    var isGranted = false
    let resume: (@Sendable () -> Void)?
    init(_ resume: (@Sendable () -> Void)?) { self.resume = resume }
  }

  private final class State: @unchecked Sendable {
    var isHeld = false
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
  func acquire(timeout: UInt64? = nil) -> Bool {
    monitor.withLock {
      if !state.isHeld {
        state.isHeld = true
        return true
      }
      let waiter = Waiter(nil)
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
  func acquireAsync() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isFree = monitor.withLock {
        if !state.isHeld {
          state.isHeld = true
          return true
        }
        state.waiters.append(Waiter { continuation.resume() })
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  func release() {
    let resume: (@Sendable () -> Void)? = monitor.withLock {
      guard !state.waiters.isEmpty else {
        state.isHeld = false
        return nil
      }
      let next = state.waiters.removeFirst()
      next.isGranted = true
      return next.resume
    }
    if let resume { resume() } else { monitor.wakeAll() }
  }
}
