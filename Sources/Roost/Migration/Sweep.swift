import RoostKV

/// Rewrites records of older shapes in the current one, completes new tables and drops those that are no longer
/// needed, in batches, each a commit of its own: a store that is swept halfway is as good as any.
struct Sweep {
  private let batch: Int
  /// Called after each commit.
  private let didCommit: () throws -> Void
  private let engine: Store
  private let version: ModelVersion
  private let route: MigrationRoute
  private(set) var stored: StoredSchema
  /// Records rewritten.
  private(set) var rewritten = 0

  init(
    _ engine: Store, _ version: ModelVersion, _ route: MigrationRoute, _ stored: StoredSchema,
    batch: Int = 2000, didCommit: @escaping () throws -> Void = {}
  ) {
    self.batch = batch
    self.didCommit = didCommit
    self.engine = engine
    self.version = version
    self.route = route
    self.stored = stored
  }

  /// - Throws: `StoreError` when the store can't write. Records that can't be read stay as they are.
  mutating func run() throws {
    try dropTables()
    let bindings = try engine.read { transaction in
      try ModelBindings(
        BoundModel.all(of: version, stored, route), storeIdentifier: "",
        table: { try transaction.tableIfPresent($0) })
    }
    for entity in bindings.entities {
      for relationship in entity.relationships where relationship.unbuilt != nil { try complete(relationship) }
      let isOutdated = stored.outdatedCount(of: entity.name) > 0
      let building = entity.indexes.filter { !$0.isComplete }
      guard isOutdated || !building.isEmpty, let records = entity.records else { continue }
      var range = KeyRange.all
      var isDone = false
      while !isDone {
        let last = try commit { transaction in
          try sweep(entity, records, range, building, &transaction)
        }
        if let last { range.lower = .excluded(last) } else { isDone = true }
      }
      for index in building {
        let name = TableNames.index(IndexShape(names: index.names, isUnique: index.isUnique), of: entity.name)
        try commit { transaction in
          try SchemaStore.setBuilding(false, index: name, &stored, in: &transaction)
        }
      }
    }
    try engine.flush()
  }

  private func commit<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
    let result = try engine.write(.relaxed, body)
    try didCommit()
    return result
  }

  /// Drops the tables that no model has any more.
  private func dropTables() throws {
    for name in try engine.read({ try $0.tableNames() }) where name.hasPrefix(TableNames.droppedPrefix) {
      try commit { transaction in
        if let table = try transaction.tableIfPresent(name) { try transaction.dropTable(table) }
      }
    }
  }

  /// Gives a relationship's table the rows that only the other side says.
  private mutating func complete(_ relationship: Relationship) throws {
    let builder = LinkBuilder(relationship)
    for source in relationship.inverseSources {
      var range = KeyRange.all
      while true {
        let last = try commit { transaction in
          try takeNewest(&transaction)
          return try builder.run(source, range, limit: batch, in: &transaction)
        }
        guard let last else { break }
        range.lower = .excluded(last)
      }
    }
    try commit { transaction in
      try takeNewest(&transaction)
      try builder.finish(&stored, in: &transaction)
    }
  }

  /// Takes over what others have noted meanwhile.
  private mutating func takeNewest(_ transaction: inout WriteTransaction) throws {
    guard let now = try SchemaStore.load(transaction), now.generation == stored.generation else {
      throw RoostError(.schemaChanged, "The store's schema has changed", remedy: "open the container anew")
    }
    stored = now
  }

  /// Sweeps one batch; gives the last key, or nil at the end of the table.
  private mutating func sweep(
    _ entity: EntityBinding, _ records: Table, _ range: KeyRange, _ building: [IndexBinding],
    _ transaction: inout WriteTransaction
  ) throws -> [UInt8]? {
    try takeNewest(&transaction)
    var entries: [Entry] = []
    try transaction.forEach(in: records, range, reversed: false) { key, record in
      entries.append(Entry(key: Array(key), value: Array(record)))
      return entries.count < batch
    }
    var gone: [UInt32: Int] = [:]
    for entry in entries {
      let number = RecordKey.number(entry.key)
      guard let header = entry.value.withUnsafeBytes({ RecordHeader($0) }) else { continue }
      try entity.withView(entry.value) { view in
        for index in building {
          if let key = index.key(of: view, number: number), let table = index.table {
            try transaction.put(key, [], in: table)
          }
        }
        guard header.shape != entity.shapeNumber else { return }
        let record = try? RecordRewriter.rewrite(
          view, as: entity.description, shape: entity.shapeNumber, commit: header.commit)
        guard let record else { return }
        try FormerTargets.move(entry.value, number, entity, in: &transaction)
        try transaction.put(entry.key, record, in: records)
        gone[header.shape, default: 0] += 1
        rewritten += 1
      }
    }
    try SchemaStore.noteGone(gone, &stored, in: &transaction)
    return entries.count < batch ? nil : entries.last?.key
  }
}

extension ModelContainer {
  /// Rewrites records that were written for older versions of the models, and completes new indexes.
  ///
  /// Objects read the same before and after; fetches may be quicker after. Other work goes on between
  /// batches. After an interruption the next call goes on.
  ///
  /// - Returns: how many records were rewritten.
  /// - Throws: `StoreError` when the store can't write.
  @discardableResult
  public func sweep() throws -> Int {
    guard store.allowsSave else { throw RoostError.readOnly(store.configuration) }
    let route =
      try store.migrationPlan.map { try MigrationRoute($0, for: store.schema) } ?? MigrationRoute(store.schema)
    guard let version = route.versions.last else { return 0 }
    guard let stored = try store.engine.read({ try SchemaStore.load($0) }),
      stored.generation == store.file.generation
    else {
      throw RoostError(.schemaChanged, "The store's schema has changed", remedy: "open the container anew")
    }
    var sweep = Sweep(store.engine, version, route, stored)
    defer { store.file.didChangeSchema(generation: sweep.stored.generation, digest: version.digest) }
    try sweep.run()
    return sweep.rewritten
  }
}

/// What a sweep has to do.
struct SweepWork {
  /// Nothing is left.
  let isEmpty: Bool
  /// How many rows it concerns.
  let records: Int

  init(_ stored: StoredSchema, _ transaction: borrowing ReadTransaction) throws {
    let dropped = try transaction.tableNames().filter { $0.hasPrefix(TableNames.droppedPrefix) }
    isEmpty = stored.outdated.isEmpty && stored.buildingIndexes.isEmpty && dropped.isEmpty
    var records = 0
    for name in dropped { records += try transaction.count(transaction.table(name)) }
    for entity in stored.entities {
      let name = entity.shape.name
      let isBuilding = TableNames.all(of: entity.shape).contains { stored.buildingIndexes.contains($0) }
      records += try isBuilding ? transaction.recordCount(name) : stored.outdatedCount(of: name)
    }
    self.records = records
  }
}
