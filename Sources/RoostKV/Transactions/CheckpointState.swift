/// Which checkpoint is being written, if any. At most one at a time.
///
///     idle --begin--> writing --didWrite--> written --didFinish--> idle
///
/// It leaves *idle* only with the writer lock held.
/// *Written* means that both header slots hold the new header, and that the store in memory has not yet taken that in; it
/// does so with the writer lock held, by whoever comes first: the checkpoint's thread, or a large transaction.
final class CheckpointState: @unchecked Sendable {
  enum Phase { case idle, writing, written }

  private let monitor: any Monitor
  private var phase = Phase.idle
  private var version: HeldVersion?
  private var isScheduled = false

  init(_ runtime: any Runtime) { monitor = runtime.makeMonitor() }

  /// The version that the checkpoint is of: its frames are being read.
  var frozenVersion: HeldVersion? { monitor.withLock { version } }

  var isIdle: Bool { monitor.withLock { phase == .idle && !isScheduled } }

  /// Begins a checkpoint of a version. With the writer lock held, and none running.
  func begin(_ version: HeldVersion) {
    monitor.withLock {
      phase = .writing
      self.version = version
    }
  }

  /// Whether the caller shall start a thread for a checkpoint: not when one runs, or is about to.
  func schedule() -> Bool {
    monitor.withLock {
      guard phase == .idle, !isScheduled else { return false }
      isScheduled = true
      return true
    }
  }

  func didStart() {
    monitor.withLock { isScheduled = false }
    monitor.wakeAll()
  }

  func didWrite() { change(.written) }

  func didFinish() {
    monitor.withLock { version = nil }
    change(.idle)
  }

  /// Waits until no checkpoint is at work on the disk; returns whether one has still to be finished.
  func waitUntilWritten() -> Bool {
    monitor.withLock {
      while phase == .writing { _ = monitor.wait(until: nil) }
      return phase == .written
    }
  }

  /// Whether the checkpoint whose thread asks has still to be finished, or somebody did it.
  var isWritten: Bool { monitor.withLock { phase == .written } }

  /// False when the deadline has passed.
  func waitUntilIdle(until deadline: UInt64? = nil) -> Bool {
    monitor.withLock {
      while phase != .idle || isScheduled {
        if !monitor.wait(until: deadline) { return phase == .idle && !isScheduled }
      }
      return true
    }
  }

  private func change(_ new: Phase) {
    monitor.withLock { phase = new }
    monitor.wakeAll()
  }
}
