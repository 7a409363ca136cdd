import Synchronization

/// Whether a store may be used at the moment.
///
/// A reader takes its hold first and asks afterwards; whoever shuts the gate shuts it first and looks for holds
/// afterwards. So none slips through between.
final class Gate: Sendable {
  enum State: UInt8, AtomicRepresentable {
    case open, suspended
    /// Nobody begins anything any more; the last checkpoint is being made.
    case closing
    /// Whoever used the store last lets go of the file.
    case closed
  }

  private let value = Atomic<State>(.open)

  var state: State {
    @inline(__always)
    get { value.load(ordering: .sequentiallyConsistent) }
  }

  /// Begins to shut it for good; returns what it was before, `nil` if it is shut or being shut already.
  func beginClosing() -> State? {
    if change(.open, to: .closing) { return .open }
    return change(.suspended, to: .closing) ? .suspended : nil
  }

  /// Shuts it for good; false if it was shut.
  func close() -> Bool { value.exchange(.closed, ordering: .sequentiallyConsistent) != .closed }

  /// Goes from one state to another; false if it was not in the first.
  func change(_ old: State, to new: State) -> Bool {
    value.compareExchange(expected: old, desired: new, ordering: .sequentiallyConsistent).exchanged
  }
}

extension StoreCore {
  /// - Throws: `closed`, `suspended`, `forked`.
  @inline(__always)
  func requireOpen() throws(StoreError) {
    guard gate.state == .open, forkCount == ForkCount.current else { throw unusable() }
  }

  @inline(never)
  private func unusable() -> StoreError {
    guard forkCount == ForkCount.current else { return .forked(path: file.path) }
    if gate.state == .suspended {
      return StoreError(.suspended, "the store is suspended", remedy: "call resume first", path: file.path)
    }
    return StoreError(.closed, "the store has been closed", remedy: "open it again", path: file.path)
  }
}
