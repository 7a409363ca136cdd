import RoostKV

/// Reads and writes the table that holds a store's schema.
package enum SchemaStore {
  /// The store's schema; `nil` when it has none yet. Throws `.schemaDamaged`.
  ///
  /// Costs as much as there are versions and shapes.
  package static func load(
    _ transaction: borrowing some ReadOperations & ~Copyable
  ) throws -> StoredSchema? {
    guard let table = try transaction.tableIfPresent(SchemaRows.table) else { return nil }
    var rows = LoadedRows()
    try transaction.forEach(in: table, .all, reversed: false) { key, value in
      try rows.take(Array(key), value)
      return true
    }
    return try rows.schema()
  }

  /// The schema's generation alone, to see whether it has changed since it was loaded; `nil` without a schema.
  package static func generation(
    _ transaction: borrowing some ReadOperations & ~Copyable
  ) throws -> UInt64? {
    guard let table = try transaction.tableIfPresent(SchemaRows.table),
      let bytes = try transaction.get(SchemaRows.current, in: table)
    else { return nil }
    return try currentRow(bytes).generation
  }

  /// The generation that the bytes of the row `current` say.
  static func generation(ofCurrent row: [UInt8]) throws(RoostError) -> UInt64 { try currentRow(row).generation }

  fileprivate static func currentRow(_ bytes: [UInt8]) throws(RoostError) -> CurrentRow {
    guard let coded = try? CodedValue(bytes) else {
      throw .schemaDamaged("the current row is no coded value")
    }
    if let form = coded["form"]?.integer(Int.self), form > CurrentRow.form {
      throw RoostError(
        .store, "A newer version of the library wrote the store's schema (form \(form))",
        remedy: "open it with a library that knows this form")
    }
    guard let row = CurrentRow(coded) else { throw .schemaDamaged("the current row has wrong entries") }
    return row
  }
}

/// The rows of the table as they are read, in any order.
private struct LoadedRows {
  private var current: CurrentRow?
  private var versions: [StoredSchema.Version] = []
  private var shapes: [UInt32: StoredEntityShape] = [:]
  private var outdated: [UInt32: Int] = [:]
  private var buildingIndexes: Set<String> = []

  mutating func take(_ key: [UInt8], _ value: UnsafeRawBufferPointer) throws {
    switch SchemaRows.kind(of: key) {
    case .current: current = try SchemaStore.currentRow(Array(value))
    case .shape(let number):
      guard let shape = (try? CodedValue(value)).flatMap({ EntityShape($0) }) else {
        throw RoostError.schemaDamaged("shape \(number)")
      }
      shapes[number] = StoredEntityShape(id: number, shape: shape)
    case .version(let number):
      guard let version = (try? CodedValue(value)).flatMap({ StoredSchema.Version(number: number, $0) })
      else {
        throw RoostError.schemaDamaged("version \(number)")
      }
      versions.append(version)
    case .count(let shape):
      guard let count = (try? CodedValue(value))?.integer(Int.self), count >= 0 else {
        throw RoostError.schemaDamaged("the count of shape \(shape)")
      }
      outdated[shape] = count
    case .index(let table): buildingIndexes.insert(table)
    case nil: break
    }
  }

  func schema() throws(RoostError) -> StoredSchema? {
    guard let row = current else {
      if versions.isEmpty && shapes.isEmpty { return nil }
      throw .schemaDamaged("the current row is missing")
    }
    guard let version = versions.first(where: { $0.number == row.version }) else {
      throw .schemaDamaged("version \(row.version) is missing")
    }
    for shape in version.shapes where shapes[shape] == nil {
      throw .schemaDamaged("shape \(shape) is missing")
    }
    return StoredSchema(
      generation: row.generation, current: version, versions: versions.sorted { $0.number < $1.number },
      shapes: shapes, outdated: outdated, buildingIndexes: buildingIndexes, nextLineage: row.nextLineage)
  }
}

// MARK: - Writing

extension SchemaStore {
  /// Notes that records of an older shape are gone: rewritten in the current one, or deleted.
  ///
  /// To be called, with how many of each shape, by every transaction that overwrites or deletes records.
  /// Does nothing for current shapes. When the last outdated record is gone the store is no longer sweeping.
  package static func noteGone(
    _ counts: [UInt32: Int], _ schema: inout StoredSchema, in transaction: inout WriteTransaction
  ) throws {
    var changed = false
    let table = try transaction.createTableIfMissing(SchemaRows.table)
    for (shape, count) in counts where count > 0 {
      guard let before = schema.outdated[shape] else { continue }
      changed = true
      schema.outdated[shape] = before > count ? before - count : nil
      try putCount(schema.outdated[shape] ?? 0, of: shape, table, in: &transaction)
    }
    if changed, schema.outdated.isEmpty { try writeCurrent(schema, table, in: &transaction) }
  }

  private static func putCount(
    _ count: Int, of shape: UInt32, _ table: Table, in transaction: inout WriteTransaction
  ) throws {
    if count == 0 {
      try transaction.delete(SchemaRows.count(shape), in: table)
    } else {
      try transaction.put(SchemaRows.count(shape), CodedValue.integer(Int64(count)).bytes, in: table)
    }
  }

  /// Notes that the table of an index or of links is incomplete, so that readers don't rely on it, or that it
  /// is complete.
  ///
  /// Whoever has the store open learns by the schema's generation that a table is incomplete. That it is complete
  /// nobody has to learn: it is still right not to rely on it.
  package static func setBuilding(
    _ isBuilding: Bool, index table: String, _ schema: inout StoredSchema,
    in transaction: inout WriteTransaction
  ) throws {
    let rows = try transaction.createTableIfMissing(SchemaRows.table)
    if isBuilding {
      schema.buildingIndexes.insert(table)
      try transaction.put(SchemaRows.index(table), CodedValue.string("building").bytes, in: rows)
    } else {
      schema.buildingIndexes.remove(table)
      try transaction.delete(SchemaRows.index(table), in: rows)
    }
    guard isBuilding else { return }
    schema.generation &+= 1
    try writeCurrent(schema, rows, in: &transaction)
  }

  private static func writeCurrent(
    _ schema: StoredSchema, _ table: Table, in transaction: inout WriteTransaction
  ) throws {
    let row = CurrentRow(
      generation: schema.generation, version: schema.current.number, label: schema.current.label,
      digest: schema.current.digest, nextLineage: schema.nextLineage, isSweeping: !schema.outdated.isEmpty)
    try transaction.put(SchemaRows.current, row.coded.bytes, in: table)
  }
}

extension SchemaStore {
  /// Makes `description` the store's schema, in O(entities): no record is touched.
  ///
  /// The values of new properties are evaluated now, once. Records written before keep their shapes and are
  /// read through projections. Tables are the caller's business; that of an entity which the stored schema
  /// doesn't have is taken to be empty, even if an earlier version had one of that name.
  ///
  /// - Parameters:
  ///   - stored: the schema as it was loaded in this transaction; `nil` for a new store.
  ///   - transformed: entities whose older records only a stage's transform makes current ones; they get a new
  ///     shape even if nothing about them changes.
  ///   - records: how many records an entity's table holds; asked for entities of the stored schema.
  /// - Returns: the schema that the store has then.
  package static func adopt(
    _ description: SchemaDescription, over stored: StoredSchema?, transformed: Set<String> = [],
    in transaction: inout WriteTransaction, records: (_ entity: String) throws -> Int
  ) throws -> StoredSchema {
    var adoption = Adoption(description, over: stored, transformed: transformed)
    try adoption.settleEntities()
    if let stored { try adoption.countOutdated(stored, records) }
    let schema = adoption.schema
    let table = try transaction.createTableIfMissing(SchemaRows.table)
    for shape in adoption.newShapes {
      try transaction.put(SchemaRows.shape(shape.id), shape.shape.coded.bytes, in: table)
    }
    for shape in schema.shapes.keys where schema.outdated[shape] != stored?.outdated[shape] {
      try putCount(schema.outdated[shape] ?? 0, of: shape, table, in: &transaction)
    }
    try transaction.put(SchemaRows.version(schema.current.number), schema.current.coded.bytes, in: table)
    try writeCurrent(schema, table, in: &transaction)
    return schema
  }
}
