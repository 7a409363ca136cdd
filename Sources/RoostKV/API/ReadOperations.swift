/// What can be asked of a state of the store: by a read transaction, and by a write transaction of its own state.
public protocol ReadOperations: ~Copyable {
  /// The state that is asked. Not for use outside the library.
  var _view: _StoreView { get throws(StoreError) }
}

/// A state of the store as transactions see it. Not for use outside the library.
public struct _StoreView {
  let core: StoreCore
  let directory: Directory
  let roots: [TreeRoot]
  let holder: Holder

  /// Whose state it is.
  enum Holder {
    /// A version that is held while the view is used.
    case snapshot(Version)
    case transaction(WriteState)
  }

  func root(_ table: Table) throws(StoreError) -> TreeRoot {
    guard let slot = directory.slot(of: table.id, hint: table.slot) else { throw core.tableNotFound(table.name) }
    return roots[slot]
  }
}

extension ReadOperations where Self: ~Copyable {
  /// The tables' names, in byte order. Names that begin with a zero byte are the library's own and left out.
  public func tableNames() throws(StoreError) -> [String] {
    try allTableNames().filter { !$0.utf8.starts(with: [0]) }
  }

  /// The same with the library's own tables.
  package func allTableNames() throws(StoreError) -> [String] {
    try _view.directory.names.map { String(decoding: $0, as: UTF8.self) }
  }

  /// The table of that name. O(log of the number of tables).
  /// - Throws: `tableNotFound`.
  public func table(_ name: String) throws(StoreError) -> Table {
    guard let table = try tableIfPresent(name) else { throw try _view.core.tableNotFound(name) }
    return table
  }

  /// The table of that name, or `nil`.
  public func tableIfPresent(_ name: String) throws(StoreError) -> Table? {
    let directory = try _view.directory
    return directory.slot(named: Array(name.utf8)).map { Table(name: name, id: directory.ids[$0], slot: $0) }
  }

  /// The number of entries. O(1).
  public func count(_ table: Table) throws(StoreError) -> Int { Int(clamping: try _view.root(table).count) }

  /// The number of entries in a range. O(log n).
  public func count(_ table: Table, in range: KeyRange) throws(StoreError) -> Int {
    let view = try _view
    let root = try view.root(table)
    let end = try view.core.rank(after: range.upper, isUpper: true, in: root)
    let start = try view.core.rank(after: range.lower, isUpper: false, in: root)
    return Int(clamping: end - min(start, end))
  }

  /// A copy of the value of `key`, or `nil`. O(log n).
  /// - Throws: `tableNotFound`; `pageDamaged`, `runDamaged`, `ioError` when the file can't be read there.
  public func get(_ key: some ByteSource, in table: Table) throws(StoreError) -> [UInt8]? {
    let view = try _view
    let root = try view.root(table)
    return try key.withBytes { (key) throws(StoreError) in
      guard let entry = try TreeReader.find(key, in: root, view.core.memory) else { return nil }
      return Array(try view.core.bytes(of: entry))
    }
  }

  /// Calls `body` with the value's bytes in place, which are valid only during the call. Returns `nil` when there is no such
  /// key. Nothing is copied.
  public func withValue<R>(
    of key: some ByteSource, in table: Table, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    let view = try _view
    let root = try view.root(table)
    let value = try key.withBytes { (key) throws(StoreError) -> UnsafeRawBufferPointer? in
      guard let entry = try TreeReader.find(key, in: root, view.core.memory) else { return nil }
      return try view.core.bytes(of: entry)
    }
    return try value.map(body)
  }

  /// Calls `body` with each entry of the range, in key order or reversed, until it returns false. The bytes are valid only
  /// during the call.
  public func forEach(
    in table: Table, _ range: KeyRange = .all, reversed: Bool = false,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    let view = try _view
    var cursor = TreeCursor(try view.root(table), view.core.memory)
    var isAtEntry = try reversed ? cursor.seekUpper(range.upper) : cursor.seekLower(range.lower)
    while isAtEntry {
      let key = try cursor.key()
      guard reversed ? range.lower.isBelow(key) : range.upper.isAbove(key) else { return }
      guard try body(key, try view.core.bytes(of: try cursor.entry())) else { return }
      isAtEntry = try reversed ? cursor.previous() : cursor.next()
    }
  }

  /// A cursor, at no entry until it is moved. It keeps its state of the store alive.
  public func cursor(_ table: Table) throws(StoreError) -> Cursor {
    let view = try _view
    return Cursor(view, table, try view.root(table))
  }
}

extension KeyRange.Bound {
  /// For a lower bound: whether `key` is within it.
  func isBelow(_ key: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .unbounded: true
    case .included(let bound): bound.withUnsafeBytes { KeyBytes.compare($0, key) <= 0 }
    case .excluded(let bound): bound.withUnsafeBytes { KeyBytes.compare($0, key) < 0 }
    }
  }

  /// For an upper bound: whether `key` is within it.
  func isAbove(_ key: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .unbounded: true
    case .included(let bound): bound.withUnsafeBytes { KeyBytes.compare($0, key) >= 0 }
    case .excluded(let bound): bound.withUnsafeBytes { KeyBytes.compare($0, key) > 0 }
    }
  }
}

extension TreeCursor {
  /// To the first entry within a lower bound.
  mutating func seekLower(_ bound: KeyRange.Bound) throws(StoreError) -> Bool {
    switch bound {
    case .unbounded: return try first()
    case .included(let key):
      return try key.withBytes { (key) throws(StoreError) in try seek(key) }
    case .excluded(let key):
      return try key.withBytes { (key) throws(StoreError) in try seek(behind: key) }
    }
  }

  /// To the last entry within an upper bound.
  mutating func seekUpper(_ bound: KeyRange.Bound) throws(StoreError) -> Bool {
    switch bound {
    case .unbounded: return try last()
    case .included(let key):
      return try key.withBytes { (key) throws(StoreError) in try seekBackward(key) }
    case .excluded(let key):
      return try key.withBytes { (key) throws(StoreError) in try seekBackward(before: key) }
    }
  }
}

extension StoreCore {
  func tableNotFound(_ name: String) -> StoreError {
    StoreError(
      .tableNotFound, "there is no table \"\(name)\"", remedy: "create it, or look up the tables' names",
      path: file.path)
  }

  /// An entry's value, wherever it lies.
  @inline(__always)
  func bytes(of entry: LeafCell) throws(StoreError) -> UnsafeRawBufferPointer {
    if let run = entry.run { return try memory.value(of: run) }
    return entry.inlineValue
  }

  /// Entries before a bound; for an upper one those within it.
  func rank(after bound: KeyRange.Bound, isUpper: Bool, in root: TreeRoot) throws(StoreError) -> UInt64 {
    guard let key = bound.key else { return isUpper ? root.count : 0 }
    return try key.withBytes { (key) throws(StoreError) in
      var countsKey = isUpper
      if case .excluded = bound { countsKey.toggle() }
      return try TreeReader.rank(of: key, orEqual: countsKey, in: root, memory)
    }
  }
}
