/// A place in a table that moves in key order.
///
/// A cursor of a write transaction stays right while its transaction changes the table: it stands at a key, and finds its place
/// anew when the tree has changed. It throws `transactionFinished` once that transaction has ended. A cursor of a read
/// transaction keeps that transaction's view alive.
public final class Cursor {
  /// Whose state the cursor is in.
  enum Holder {
    case snapshot(SharedHold)
    case transaction(WriteState)
  }

  private let holder: Holder
  private let table: Table
  private var cursor: TreeCursor
  /// The key the cursor stands at, kept for write transactions.
  private var place: [UInt8]?
  private var seenChange: UInt64

  init(_ view: _StoreView, _ table: Table, _ root: TreeRoot) {
    self.table = table
    cursor = TreeCursor(root, view.core.memory)
    switch view.holder {
    case .snapshot(let version):
      holder = .snapshot(SharedHold(view.core.commits.snapshots.hold(again: version, view.core)))
      seenChange = 0
    case .transaction(let state):
      holder = .transaction(state)
      seenChange = state.changeCount
    }
  }

  private var core: StoreCore {
    switch holder {
    case .snapshot(let shared): shared.hold.core
    case .transaction(let state): state.core
    }
  }

  // MARK: Moving

  /// To the first entry. Each move returns whether the cursor is then at an entry.
  @discardableResult
  public func first() throws(StoreError) -> Bool {
    try refresh()
    return try arrive(try cursor.first())
  }

  /// To the last entry.
  @discardableResult
  public func last() throws(StoreError) -> Bool {
    try refresh()
    return try arrive(try cursor.last())
  }

  /// To the first entry at or above `key`.
  @discardableResult
  public func seek(_ key: some ByteSource) throws(StoreError) -> Bool {
    try refresh()
    let isFound = try key.withBytes { (key) throws(StoreError) in try cursor.seek(key) }
    return try arrive(isFound)
  }

  /// To the last entry at or below `key`.
  @discardableResult
  public func seekLast(_ key: some ByteSource) throws(StoreError) -> Bool {
    try refresh()
    let isFound = try key.withBytes { (key) throws(StoreError) in try cursor.seekBackward(key) }
    return try arrive(isFound)
  }

  /// To the entry after this one, also when this one has been deleted; from no entry to the first one.
  @discardableResult
  public func next() throws(StoreError) -> Bool {
    if try refresh(), let place {
      return try arrive(try cursor.seekLower(.excluded(place)))
    }
    if cursor.isValid { return try arrive(try cursor.next()) }
    return try arrive(try cursor.first())
  }

  /// To the entry before this one, also when this one has been deleted; from no entry to the last one.
  @discardableResult
  public func previous() throws(StoreError) -> Bool {
    if try refresh(), let place {
      return try arrive(try cursor.seekUpper(.excluded(place)))
    }
    if cursor.isValid { return try arrive(try cursor.previous()) }
    return try arrive(try cursor.last())
  }

  /// Takes in changes of the transaction; true when the tree is another one, and the cursor in it nowhere yet.
  @discardableResult
  private func refresh() throws(StoreError) -> Bool {
    guard case .transaction(let state) = holder else {
      if case .snapshot(let shared) = holder { try shared.hold.requireSameProcess() }
      return false
    }
    try state.requireOpen()
    guard seenChange != state.changeCount else { return false }
    seenChange = state.changeCount
    cursor = TreeCursor(state.roots[try state.slot(table)], state.core.memory)
    return true
  }

  private func arrive(_ isAtEntry: Bool) throws(StoreError) -> Bool {
    if case .transaction = holder { place = isAtEntry ? Array(try cursor.key()) : nil }
    return isAtEntry
  }

  /// Finds the entry under the cursor again after changes; false when there is none, or it has been deleted.
  private func isAtEntry() throws(StoreError) -> Bool {
    if try refresh(), let place {
      let isFound = try place.withBytes { (key) throws(StoreError) in
        guard try cursor.seek(key) else { return false }
        return KeyBytes.compare(try cursor.key(), key) == 0
      }
      // Nowhere, but with its place kept for `next` and `previous`.
      if !isFound { seenChange &-= 1 }
      return isFound
    }
    return cursor.isValid
  }

  // MARK: Reading

  /// A copy of the key under the cursor; `nil` when it is at no entry, also when that entry has been deleted since.
  public func key() throws(StoreError) -> [UInt8]? {
    guard try isAtEntry() else { return nil }
    return Array(try cursor.key())
  }

  /// A copy of the value under the cursor.
  public func value() throws(StoreError) -> [UInt8]? {
    guard try isAtEntry() else { return nil }
    return Array(try core.bytes(of: try cursor.entry()))
  }

  /// Calls `body` with key and value in place, valid only during the call; `nil` when the cursor is at no entry.
  public func withEntry<R>(
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    guard try isAtEntry() else { return nil }
    return try body(try cursor.key(), try core.bytes(of: try cursor.entry()))
  }
}
