import Synchronization

/// Whether a store may be used at the moment.
///
/// A reader takes its hold first and asks afterwards; whoever shuts the gate shuts it first and looks for holds
/// afterwards. So none slips through between.
final class Gate: Sendable {
  enum State: UInt8, AtomicRepresentable { case open, suspended, closed }

  private let value = Atomic<State>(.open)

  var state: State {
    @inline(__always)
    get { value.load(ordering: .sequentiallyConsistent) }
  }

  /// Shuts it for good; returns what it was before.
  func close() -> State { value.exchange(.closed, ordering: .sequentiallyConsistent) }

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
