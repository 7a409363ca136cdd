import Synchronization

/// The numbers that a store counts up, each in a row of its own, eight bytes big-endian; and its name.
enum Counters {
  /// Object numbers from here on were never those of records.
  static let nextNumber = Array("next number".utf8)
  /// The number of the newest commit that changed objects.
  static let commit = Array("commit".utf8)
  /// The store's name in identifiers, as text.
  static let identifier = Array("identifier".utf8)
  /// The greatest order key of any link.
  static let order = Array("order".utf8)

  static func read(_ name: [UInt8], _ value: [UInt8]?) -> UInt64 {
    value.flatMap { $0.withUnsafeBytes { RecordKey.number($0) } } ?? 0
  }
}

/// Gives out object numbers, each once in the life of a process: also those of objects that are never saved.
///
/// A save stores a limit above all numbers given out until then, and so above those of all records; a process
/// that opens the store begins there. After a crash the numbers that were given out since the last save can be
/// given out again, from the limit on, which lies `block` above what that save had given out. They were those of
/// objects that were never stored: no record, link or history has ever held them, and the objects are gone
/// with the process. Only an identifier that a program wrote down elsewhere before it saved the object can find
/// another object then, and that only after more than `block` unsaved insertions.
final class NumberSource: Sendable {
  private static let block: UInt64 = 4096
  private let state: Mutex<(next: UInt64, limit: UInt64)>

  init(next: UInt64) {
    let first = max(next, 1)
    state = Mutex((first, first))
  }

  func next() -> UInt64 {
    state.withLock { state in
      defer { state.next &+= 1 }
      return state.next
    }
  }

  /// The limit to store with the next commit, if the stored one is too low.
  func newLimit() -> UInt64? {
    state.withLock { state in
      guard state.next >= state.limit else { return nil }
      return state.next &+ Self.block
    }
  }

  /// The limit has been stored.
  func didStore(limit: UInt64) {
    state.withLock { state in state.limit = max(state.limit, limit) }
  }
}
