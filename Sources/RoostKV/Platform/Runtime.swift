/// Where the engine gets its clock, its waiting and its threads from.
///
/// All of it goes through here, so that a test can run the engine under a scheduler that decides
/// who goes next, and find the same order again.
package protocol Runtime: Sendable {
  /// Nanoseconds on a clock that never goes back.
  func now() -> UInt64

  func makeMonitor() -> any Monitor

  /// Starts a thread of the engine, which ends when `body` returns.
  func start(_ name: String, _ body: @escaping @Sendable () -> Void)

  /// A random number for the ids of stores and sessions.
  func randomSeed() -> UInt64
}

/// A lock with one condition. Not recursive.
package protocol Monitor: AnyObject, Sendable {
  func lock()
  func unlock()

  /// Releases the lock, waits for `wakeAll`, and takes the lock again. It may also return without
  /// a wake, so callers test what they wait for in a loop.
  ///
  /// - Parameter deadline: the time of `Runtime.now()` to give up at.
  /// - Returns: false if the deadline has passed.
  func wait(until deadline: UInt64?) -> Bool

  /// Wakes all that wait. The caller needn't hold the lock.
  func wakeAll()
}

extension Monitor {
  @inline(__always)
  package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try body()
  }
}
