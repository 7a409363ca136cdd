// A stand-in behind the engine's API, replaced by the engine. Whole-file rewrite at each commit.
import Foundation


/// A table of a store.
public struct Table: Hashable, Sendable {
  public let name: String
  package let id: UInt32
}

/// One key with its value.
public struct Entry: Equatable, Sendable { public var key: [UInt8]; public var value: [UInt8]
  public init(key: [UInt8], value: [UInt8]) { self.key = key; self.value = value } }

func less(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }

package struct NaiveState: Sendable {
  var tables: [String: UInt32] = [:]
  var rows: [UInt32: [(key: [UInt8], value: [UInt8])]] = [:]
  var next: UInt32 = 1
  func find(_ t: UInt32, _ k: [UInt8]) -> (Int, Bool) {
    let r = rows[t] ?? []; var lo = 0, hi = r.count
    while lo < hi { let m = (lo + hi) / 2; if less(r[m].key, k) { lo = m + 1 } else { hi = m } }
    return (lo, lo < r.count && r[lo].key == k)
  }
  func bounds(_ t: UInt32, _ range: KeyRange) -> Range<Int> {
    let n = (rows[t] ?? []).count
    let lo: Int = switch range.lower { case .unbounded: 0; case .included(let k): find(t, k).0
      case .excluded(let k): find(t, k).1 ? find(t, k).0 + 1 : find(t, k).0 }
    let hi: Int = switch range.upper { case .unbounded: n; case .excluded(let k): find(t, k).0
      case .included(let k): find(t, k).1 ? find(t, k).0 + 1 : find(t, k).0 }
    return lo..<max(lo, hi)
  }
}

/// Reading operations that a snapshot and a write transaction share.
public protocol ReadOperations: ~Copyable {
  /// The tables' names, in byte order.
  func tableNames() throws(StoreError) -> [String]
  /// Throws `.tableNotFound` when there is none of that name.
  func table(_ name: String) throws(StoreError) -> Table
  /// `nil` when there is none of that name.
  func tableIfPresent(_ name: String) throws(StoreError) -> Table?
  /// The number of entries. O(1).
  func count(_ table: Table) throws(StoreError) -> Int
  /// The number of entries in a range. O(log n).
  func count(_ table: Table, in range: KeyRange) throws(StoreError) -> Int
  /// A copy of the value of `key`, or `nil`.
  func get(_ key: some ByteSource, in table: Table) throws(StoreError) -> [UInt8]?
  /// Calls `body` with the value's bytes in place, which are valid only during the call; returns `nil` when there is no such key.
  func withValue<R>(of key: some ByteSource, in table: Table, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R?
  /// Calls `body` with each entry of the range in order (or reversed) until it returns false.
  func forEach(in table: Table, _ range: KeyRange, reversed: Bool, _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool) throws
  /// A cursor, before the first entry until it is moved.
  func cursor(_ table: Table) throws(StoreError) -> Cursor
}

public final class NaiveBox: @unchecked Sendable { var state = NaiveState(); init(_ s: NaiveState) { state = s } }

/// A view of the store as of one commit, for the length of a `read` or as long as it is held.
public struct ReadTransaction: ~Copyable, ReadOperations, @unchecked Sendable { public let box: NaiveBox }

/// A transaction that changes the store. Rolls back when it ends without `commit`.
public struct WriteTransaction: ~Copyable, ReadOperations { public let box: NaiveBox; let store: Store
  /// A point to roll back to.
  public struct Savepoint: ~Copyable { let state: NaiveState }
}

extension NaiveBox {
  func get(_ k: [UInt8], _ t: Table) -> [UInt8]? { let (i, f) = state.find(t.id, k); return f ? state.rows[t.id]![i].value : nil }
}
public protocol NaiveReads: ~Copyable { var box: NaiveBox { get } }
extension ReadTransaction: NaiveReads {}
extension WriteTransaction: NaiveReads {}
extension ReadOperations where Self: NaiveReads & ~Copyable {
  public func tableNames() throws(StoreError) -> [String] { box.state.tables.keys.sorted() }
  public func table(_ name: String) throws(StoreError) -> Table {
    guard let t = try tableIfPresent(name) else { throw StoreError(.tableNotFound, "name", remedy: "") }; return t }
  public func tableIfPresent(_ name: String) throws(StoreError) -> Table? { box.state.tables[name].map { Table(name: name, id: $0) } }
  public func count(_ table: Table) throws(StoreError) -> Int { (box.state.rows[table.id] ?? []).count }
  public func count(_ table: Table, in range: KeyRange) throws(StoreError) -> Int { box.state.bounds(table.id, range).count }
  public func get(_ key: some ByteSource, in table: Table) throws(StoreError) -> [UInt8]? { box.get(key.withBytes { Array($0) }, table) }
  public func withValue<R>(of key: some ByteSource, in table: Table, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
    guard let v = try get(key, in: table) else { return nil }; return try v.withUnsafeBytes(body) }
  public func forEach(in table: Table, _ range: KeyRange = .all, reversed: Bool = false, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool) throws {
    let r = box.state.bounds(table.id, range); let rows = Array((box.state.rows[table.id] ?? [])[r])
    for e in reversed ? rows.reversed() : rows { if !(try e.key.withUnsafeBytes { k in try e.value.withUnsafeBytes { v in try body(k, v) } }) { return } } }
  public func cursor(_ table: Table) throws(StoreError) -> Cursor { Cursor(box, table) }
}

/// A place in a table that moves in key order. It stays right while its own transaction changes the table around it.
/// Throws `.transactionFinished` once its transaction has ended.
public final class Cursor {
  let box: NaiveBox; let t: Table; var k: [UInt8]?
  init(_ b: NaiveBox, _ t: Table) { box = b; self.t = t }
  private func at(_ i: Int) -> Bool { let r = box.state.rows[t.id] ?? []; if i >= 0 && i < r.count { k = r[i].key; return true }; k = nil; return false }
  /// Each move returns whether the cursor is then at an entry.
  @discardableResult public func first() throws(StoreError) -> Bool { at(0) }
  @discardableResult public func last() throws(StoreError) -> Bool { at((box.state.rows[t.id] ?? []).count - 1) }
  /// To the first entry at or above `key`.
  @discardableResult public func seek(_ key: some ByteSource) throws(StoreError) -> Bool { at(box.state.find(t.id, key.withBytes { Array($0) }).0) }
  /// To the last entry at or below `key`.
  @discardableResult public func seekLast(_ key: some ByteSource) throws(StoreError) -> Bool { let (i, f) = box.state.find(t.id, key.withBytes { Array($0) }); return at(f ? i : i - 1) }
  @discardableResult public func next() throws(StoreError) -> Bool { guard let k else { return try first() }; let (i, f) = box.state.find(t.id, k); return at(f ? i + 1 : i) }
  @discardableResult public func previous() throws(StoreError) -> Bool { guard let k else { return try last() }; return at(box.state.find(t.id, k).0 - 1) }
  /// The key under the cursor; `nil` when it is at no entry, also when that entry has been deleted since.
  public func key() throws(StoreError) -> [UInt8]? { guard let k, box.state.find(t.id, k).1 else { return nil }; return k }
  public func value() throws(StoreError) -> [UInt8]? { k.flatMap { box.get($0, t) } }
  /// Calls `body` with key and value in place; `nil` when the cursor is at no entry.
  public func withEntry<R>(_ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> R) throws -> R? {
    guard let k = try key(), let v = try value() else { return nil }
    return try k.withUnsafeBytes { a in try v.withUnsafeBytes { b in try body(a, b) } } }
}

extension WriteTransaction {
  /// Throws `.tableExists`.
  public mutating func createTable(_ name: String) throws(StoreError) -> Table {
    if box.state.tables[name] != nil { throw StoreError(.tableExists, "name", remedy: "") }
    box.state.tables[name] = box.state.next; box.state.rows[box.state.next] = []; box.state.next += 1; return try table(name) }
  public mutating func createTableIfMissing(_ name: String) throws(StoreError) -> Table { if let t = try tableIfPresent(name) { return t }; return try createTable(name) }
  public mutating func dropTable(_ table: Table) throws(StoreError) { box.state.tables[table.name] = nil; box.state.rows[table.id] = nil }
  public mutating func renameTable(_ table: Table, to name: String) throws(StoreError) -> Table {
    box.state.tables[table.name] = nil; box.state.tables[name] = table.id; return Table(name: name, id: table.id) }
  public mutating func put(_ key: some ByteSource, _ value: some ByteSource, in table: Table) throws(StoreError) { _ = try replace(key, value, in: table) }
  /// Puts only where the key is missing; says whether it did.
  @discardableResult public mutating func putIfAbsent(_ key: some ByteSource, _ value: some ByteSource, in table: Table) throws(StoreError) -> Bool {
    if try get(key, in: table) != nil { return false }; try put(key, value, in: table); return true }
  /// Puts, and returns the value that was there.
  @discardableResult public mutating func replace(_ key: some ByteSource, _ value: some ByteSource, in table: Table) throws(StoreError) -> [UInt8]? {
    let k = key.withBytes { Array($0) }, v = value.withBytes { Array($0) }; let (i, f) = box.state.find(table.id, k)
    if f { let o = box.state.rows[table.id]![i].value; box.state.rows[table.id]![i].value = v; return o }
    box.state.rows[table.id, default: []].insert((k, v), at: i); return nil }
  /// Says whether the key was there.
  @discardableResult public mutating func delete(_ key: some ByteSource, in table: Table) throws(StoreError) -> Bool {
    let (i, f) = box.state.find(table.id, key.withBytes { Array($0) }); if f { box.state.rows[table.id]!.remove(at: i) }; return f }
  /// Deletes every entry of the range; returns how many there were.
  @discardableResult public mutating func deleteRange(_ range: KeyRange, in table: Table) throws(StoreError) -> Int {
    let r = box.state.bounds(table.id, range); box.state.rows[table.id]?.removeSubrange(r); return r.count }
  /// Removes and returns the first entry.
  public mutating func popFirst(in table: Table) throws(StoreError) -> Entry? { (box.state.rows[table.id] ?? []).isEmpty ? nil : { let e = box.state.rows[table.id]!.removeFirst(); return Entry(key: e.key, value: e.value) }() }
  public mutating func popLast(in table: Table) throws(StoreError) -> Entry? { box.state.rows[table.id]?.popLast().map { Entry(key: $0.key, value: $0.value) } }
  /// Appends entries that come in ascending key order, all above the table's last key. Throws `.unsortedInput`.
  public mutating func bulkLoad(_ entries: some Sequence<Entry>, into table: Table) throws(StoreError) { for e in entries { try put(e.key, e.value, in: table) } }
  public mutating func savepoint() throws(StoreError) -> Savepoint { Savepoint(state: box.state) }
  /// Undoes all that was done since `savepoint`, which stays usable.
  public mutating func rollback(to savepoint: borrowing Savepoint) throws(StoreError) { box.state = savepoint.state }
  /// Makes the transaction's changes the store's. Throws `.noSpace` and the like with the store unchanged, `.commitOutcomeUnknown` when a flush failed.
  public consuming func commit(_ durability: Durability = .durable) throws(StoreError) { try store.publish(box.state) }
  /// Ends the transaction without a trace.
  public consuming func rollback() {}
}

/// A store: one file of tables of sorted key-value entries.
public final class Store: @unchecked Sendable {
  public let path: String?
  public var isReadOnly: Bool { options.access == .readOnly }
  public let pageSize: Int
  /// Bytes of the longest key; at least a quarter of a page.
  public var maximumKeyLength: Int { pageSize / 4 }
  let options: StoreOptions
  let lock = NSLock(), writer = NSRecursiveLock()
  var state = NaiveState()
  init(_ p: String?, _ o: StoreOptions) { path = p; options = o; pageSize = o.pageSize }
  public static func open(_ path: String, _ options: StoreOptions = StoreOptions()) throws(StoreError) -> Store {
    let s = Store(path, options)
    if let d = FileManager.default.contents(atPath: path) {
      guard let j = try? JSONSerialization.jsonObject(with: d) as? [String: [[String]]] else { throw StoreError(.notAStore, "notAStore", remedy: "") }
      for (n, rows) in j { s.state.tables[n] = s.state.next
        s.state.rows[s.state.next] = rows.map { (Array(Data(base64Encoded: $0[0])!), Array(Data(base64Encoded: $0[1])!)) }; s.state.next += 1 }
    } else if !options.createIfMissing || options.access == .readOnly { throw StoreError(.notFound, "path", remedy: "") } else { try s.publish(s.state) }
    return s }
  public static func inMemory(_ options: StoreOptions = StoreOptions()) throws(StoreError) -> Store { Store(nil, options) }
  func publish(_ n: NaiveState) throws(StoreError) {
    lock.withLock { state = n }
    guard let path else { return }
    var j: [String: [[String]]] = [:]
    for (name, id) in n.tables { j[name] = (n.rows[id] ?? []).map { [Data($0.key).base64EncodedString(), Data($0.value).base64EncodedString()] } }
    guard let d = try? JSONSerialization.data(withJSONObject: j), (try? d.write(to: URL(fileURLWithPath: path), options: .atomic)) != nil else { throw StoreError(.ioError, "ioError", remedy: "") } }
  /// Runs `body` on a snapshot of the newest commit. Any number run at once, from any threads, and block nobody.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R { try body(snapshot()) }
  /// Runs `body` as a transaction: commits when it returns, rolls back when it throws. Writers wait for one another. Blocks its thread.
  public func write<R>(_ durability: Durability = .durable, _ body: (inout WriteTransaction) throws -> R) throws -> R {
    var t = try beginWrite(); let r = try body(&t); try t.commit(durability); return r }
  /// The same, but suspends the task where `write` would block.
  public func write<R: Sendable>(_ durability: Durability = .durable, _ body: @Sendable (inout WriteTransaction) throws -> R) async throws -> R {
    var t = try beginWrite(); let r = try body(&t); try t.commit(durability); return r }
  /// A snapshot that lasts as long as it is held.
  public func snapshot() throws(StoreError) -> ReadTransaction { ReadTransaction(box: NaiveBox(lock.withLock { state })) }
  /// Begins a transaction by hand; waits for the writer before it, at most `lockTimeout`.
  public func beginWrite() throws(StoreError) -> WriteTransaction { WriteTransaction(box: NaiveBox(lock.withLock { state }), store: self) }
  /// Makes every commit so far durable.
  public func flush() throws(StoreError) {}
  /// Brings the tree in the file up to date and empties the journal.
  public func checkpoint() throws(StoreError) {}
  /// For a read-only store: takes in what the writer has committed since.
  public func refresh() throws(StoreError) {}
  /// Checkpoints and closes. Later calls throw `.closed`.
  public func close() throws(StoreError) {}
}
