/// The store that a salvage fills: tables in key order through the bulk builder, then the journal's records.
///
/// Memory: one batch of entries, what the store holds before it writes ahead, and one large value.
final class SalvageOutput {
  private static let batchBytes = 4 << 20

  private let core: StoreCore
  private var state: WriteState
  /// Tables by their id in the damaged store.
  private var tables: [UInt32: Table] = [:]
  private var dropped: Set<UInt32> = []

  // The table being filled.
  private var table: Table?
  private var batch: [Entry] = []
  private var batchSize = 0
  private var lastKey: [UInt8]?
  private(set) var lostValues: UInt64 = 0

  init(_ core: StoreCore) throws(StoreError) {
    self.core = core
    state = try core.beginWrite()
  }

  deinit { state.rollback() }

  // MARK: Tables

  /// Makes a table and begins to fill it. Takes another name when there is one of that name already.
  func beginTable(_ id: UInt32, name: [UInt8]) throws(StoreError) {
    table = try makeTable(id, name)
    (batch, batchSize, lastKey, lostValues) = ([], 0, nil, 0)
  }

  private func makeTable(_ id: UInt32, _ name: [UInt8]) throws(StoreError) -> Table {
    let made = try state.createTable(freeName(name))
    tables[id] = made
    dropped.remove(id)
    return made
  }

  private func freeName(_ name: [UInt8]) -> String {
    let wanted = String(validating: name, as: UTF8.self) ?? ""
    let base = (1...255).contains(name.count) && !wanted.isEmpty ? wanted : "table"
    guard state.directory.slot(named: Array(base.utf8)) != nil else { return base }
    // A made-up name is short, and one that exists has room for a number unless it is as long as a name can be.
    let stem = base.utf8.count > 240 ? "table" : base
    var number = 2
    while state.directory.slot(named: Array("\(stem) (\(number))".utf8)) != nil { number += 1 }
    return "\(stem) (\(number))"
  }

  /// Appends an entry of the table being filled. Keys ascend unless the input is a fraud; a key met again is passed over.
  /// Returns whether the entry is there.
  func append(
    _ key: UnsafeRawBufferPointer, _ value: LeafCell, _ source: SalvageSource
  ) throws(StoreError) -> Bool {
    guard let table else { return false }
    let ascends = lastKey.map { last in last.withUnsafeBytes { KeyBytes.compare($0, key) < 0 } } ?? true
    if ascends { lastKey = Array(key) }
    if let run = value.run {
      try flushBatch()
      if !ascends, try state.contains(key, table) { return false }
      let isThere = try source.withValue(of: run) { (bytes) throws(StoreError) in
        _ = try self.state.put(key, bytes, table)
      }
      if !isThere { lostValues += 1 }
      return isThere
    }
    if !ascends {
      try flushBatch()
      if try state.contains(key, table) { return false }
      _ = try state.put(key, value.inlineValue, table)
      return true
    }
    batch.append(Entry(key: Array(key), value: Array(value.inlineValue)))
    batchSize += key.count + value.inlineValue.count + 64
    if batchSize >= Self.batchBytes { try flushBatch() }
    return true
  }

  private func flushBatch() throws(StoreError) {
    guard let table, !batch.isEmpty else { return }
    let entries = batch
    (batch, batchSize) = ([], 0)
    // A fraud may have put a greater key meanwhile.
    do throws(StoreError) { return try state.bulkLoad(entries, table) } catch {
      guard error.code == .unsortedInput else { throw error }
    }
    for entry in entries {
      try entry.key.withBytes { (key) throws(StoreError) in
        if try state.contains(key, table) { return }
        try entry.value.withBytes { (value) throws(StoreError) in _ = try state.put(key, value, table) }
      }
    }
  }

  func endTable() throws(StoreError) {
    try flushBatch()
    table = nil
  }

  /// The name and the number of entries of each table, by the id in the damaged store.
  func contents() throws(StoreError) -> [UInt32: (name: String, count: UInt64)] {
    var contents: [UInt32: (name: String, count: UInt64)] = [:]
    for (id, table) in tables {
      let slot = try state.slot(table)
      contents[id] = (String(decoding: state.directory.names[slot], as: UTF8.self), state.roots[slot].count)
    }
    return contents
  }

  func hasKey(_ key: String, in id: UInt32) throws(StoreError) -> Bool {
    guard let table = tables[id] else { return false }
    return try key.withBytes { (key) throws(StoreError) in try state.contains(key, table) }
  }

  func rename(_ id: UInt32, _ name: String) throws(StoreError) {
    guard let table = tables[id], state.directory.slot(named: Array(name.utf8)) == nil else { return }
    tables[id] = try state.renameTable(table, to: name)
  }

  /// Makes what has been put so far the store's.
  func commit() throws(StoreError) {
    _ = try core.append(state, .relaxed)
    state = try core.beginWrite()
  }

  // MARK: Journal

  /// Carries out a group's records; returns how many could not be.
  func apply(_ group: [UInt8], _ source: SalvageSource) throws(StoreError) -> UInt64 {
    try group.withBytes { (bytes) throws(StoreError) in
      var lost: UInt64 = 0
      var records = GroupRecordReader(bytes)
      while let (id, record) = records.next() {
        if try !apply(record, id, source) { lost += 1 }
      }
      return lost + (records.isDamaged ? 1 : 0)
    }
  }

  private func apply(_ record: GroupRecord, _ id: UInt32, _ source: SalvageSource) throws(StoreError) -> Bool {
    switch record {
    case .createTable(let name):
      // Where the journal's beginning isn't known, the table may be there already.
      if tables[id] == nil { _ = try makeTable(id, Array(name)) }
      return true
    case .dropTable:
      guard let table = tables.removeValue(forKey: id) else { return dropped.contains(id) }
      dropped.insert(id)
      try state.dropTable(table)
      return true
    case .renameTable(let name):
      let table = try knownTable(id)
      guard let name = String(validating: name, as: UTF8.self), (1...255).contains(name.utf8.count) else {
        return false
      }
      guard state.directory.slot(named: Array(name.utf8)) == nil else {
        return table.name == name
      }
      tables[id] = try state.renameTable(table, to: name)
      return true
    case .put(let key, let value):
      guard key.count <= core.limits.maximumKey else { return false }
      _ = try state.put(key, value, try knownTable(id))
      return true
    case .putRun(let key, let run):
      guard key.count <= core.limits.maximumKey else { return false }
      let table = try knownTable(id)
      let isThere = try source.withValue(of: run) { (value) throws(StoreError) in
        _ = try self.state.put(key, value, table)
      }
      // The older value is no value of the newest state.
      if !isThere { _ = try state.delete(key, table) }
      return isThere
    case .delete(let key):
      if key.count <= core.limits.maximumKey { _ = try state.delete(key, try knownTable(id)) }
      return true
    case .deleteRange(let range):
      _ = try state.deleteRange(range, try knownTable(id))
      return true
    }
  }

  /// The table of an id; one whose making has been lost gets a made-up name.
  private func knownTable(_ id: UInt32) throws(StoreError) -> Table {
    if let table = tables[id] { return table }
    return try makeTable(id, Array("table \(id)".utf8))
  }
}

extension WriteState {
  func contains(_ key: UnsafeRawBufferPointer, _ table: Table) throws(StoreError) -> Bool {
    try TreeReader.find(key, in: roots[try slot(table)], core.memory) != nil
  }
}
