/// A transaction that changes the store. There is one at a time; it rolls back when it ends without `commit`.
///
/// After a change that met damage, or for which the disk had no room, every further call throws that error again, `commit`
/// too: only a rollback is left, of the whole transaction or to a savepoint.
///
/// Not bound to a thread, but used by one at a time.
public struct WriteTransaction: ~Copyable, ReadOperations {
  private let state: WriteState

  init(_ state: WriteState) { self.state = state }

  deinit { state.rollback() }

  /// What the reading operations work on; not for programs.
  public var _view: _StoreView {
    get throws(StoreError) {
      try state.requireOpen()
      return _StoreView(core: state.core, directory: state.directory, roots: state.roots, holder: .transaction(state))
    }
  }

  // MARK: Tables

  /// Makes an empty table. The name has 1 to 255 bytes of UTF-8.
  /// - Throws: `tableExists`, `invalidName`.
  public mutating func createTable(_ name: String) throws(StoreError) -> Table { try state.createTable(name) }

  /// The table of that name, made if there is none.
  public mutating func createTableIfMissing(_ name: String) throws(StoreError) -> Table {
    if let table = try tableIfPresent(name) { return table }
    return try createTable(name)
  }

  /// Removes a table with all its entries. O(pages of its upper levels; leaves are read only for values in runs).
  public mutating func dropTable(_ table: Table) throws(StoreError) { try state.dropTable(table) }

  /// Gives a table another name. Handles to it stay valid.
  /// - Throws: `tableExists`, `invalidName`.
  public mutating func renameTable(_ table: Table, to name: String) throws(StoreError) -> Table {
    try state.renameTable(table, to: name)
  }

  // MARK: Entries

  /// Puts an entry, in place of the one with this key if there is one. O(log n).
  /// - Throws: `keyTooLong`, `valueTooLong`, `sizeLimit`, or `noSpace` for a long value: the entry is then as it was.
  public mutating func put(
    _ key: some ByteSource, _ value: some ByteSource, in table: Table
  ) throws(StoreError) {
    try key.withBytes { (key) throws(StoreError) in
      try value.withBytes { (value) throws(StoreError) in _ = try state.put(key, value, table) }
    }
  }

  /// Puts only where the key is missing; says whether it did.
  @discardableResult
  public mutating func putIfAbsent(
    _ key: some ByteSource, _ value: some ByteSource, in table: Table
  ) throws(StoreError) -> Bool {
    try key.withBytes { (key) throws(StoreError) in
      guard try TreeReader.find(key, in: state.roots[try state.slot(table)], state.core.memory) == nil else {
        return false
      }
      try value.withBytes { (value) throws(StoreError) in _ = try state.put(key, value, table) }
      return true
    }
  }

  /// Puts, and returns the value that was there.
  @discardableResult
  public mutating func replace(
    _ key: some ByteSource, _ value: some ByteSource, in table: Table
  ) throws(StoreError) -> [UInt8]? {
    let old = try get(key, in: table)
    try put(key, value, in: table)
    return old
  }

  /// Deletes an entry; says whether it was there. O(log n).
  @discardableResult
  public mutating func delete(_ key: some ByteSource, in table: Table) throws(StoreError) -> Bool {
    try key.withBytes { (key) throws(StoreError) in try state.delete(key, table) }
  }

  /// Deletes every entry of the range; returns how many there were. O(log n + pages freed), not O(entries).
  @discardableResult
  public mutating func deleteRange(_ range: KeyRange, in table: Table) throws(StoreError) -> Int {
    try state.deleteRange(range, table)
  }

  /// Removes and returns the first entry.
  public mutating func popFirst(in table: Table) throws(StoreError) -> Entry? { try pop(table, last: false) }

  /// Removes and returns the last entry.
  public mutating func popLast(in table: Table) throws(StoreError) -> Entry? { try pop(table, last: true) }

  private mutating func pop(_ table: Table, last: Bool) throws(StoreError) -> Entry? {
    var cursor = TreeCursor(state.roots[try state.slot(table)], state.core.memory)
    guard try last ? cursor.last() : cursor.first() else { return nil }
    let entry = Entry(key: Array(try cursor.key()), value: Array(try state.core.bytes(of: try cursor.entry())))
    try delete(entry.key, in: table)
    return entry
  }

  /// Appends entries that come in ascending key order, all above the table's last key, into full pages.
  /// - Throws: `unsortedInput` and what `put` throws; the table is then as it was.
  public mutating func bulkLoad(_ entries: some Sequence<Entry>, into table: Table) throws(StoreError) {
    try state.bulkLoad(entries, table)
  }

  // MARK: Savepoints

  /// A point that the transaction can go back to. They nest: going back to one ends the later ones.
  public struct Savepoint: ~Copyable {
    fileprivate let point: WriteState.Savepoint
  }

  /// Remembers the transaction's state. O(number of tables).
  public mutating func savepoint() throws(StoreError) -> Savepoint {
    try state.requireOpen()
    return Savepoint(point: state.savepoint())
  }

  /// Undoes all that was done since `savepoint`, which stays usable.
  public mutating func rollback(to savepoint: borrowing Savepoint) throws(StoreError) {
    try state.requireUnfinished()
    try state.rollback(to: savepoint.point)
  }

  // MARK: End

  /// Makes the transaction's changes the store's. A transaction without changes costs nothing.
  /// - Throws: `noSpace`, `sizeLimit` with the store unchanged; `commitOutcomeUnknown` when the disk did not confirm: the
  ///   changes may or may not be there when the store is opened again.
  public consuming func commit(_ durability: Durability = .durable) throws(StoreError) {
    let core = state.core
    guard let lsn = try core.append(state, durability), durability == .durable else { return }
    try core.commits.waitUntilDurable(lsn)
  }

  /// The same, suspending the task while the disk works; commits of other tasks share the flush.
  public consuming func commit(_ durability: Durability = .durable) async throws {
    let core = state.core
    guard let lsn = try core.append(state, durability), durability == .durable else { return }
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      core.commits.whenDurable(lsn) { error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
      }
    }
  }

  /// Ends the transaction without a trace.
  public consuming func rollback() { state.rollback() }
}
