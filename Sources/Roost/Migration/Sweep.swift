import RoostKV

/// Rewrites records of older shapes in the current one and completes new indexes, in batches, each a commit
/// of its own: a store that is swept halfway is as good as any.
struct Sweep {
  private static let batch = 2000

  private let engine: Store
  private let version: ModelVersion
  private(set) var stored: StoredSchema
  /// Records rewritten.
  private(set) var rewritten = 0

  init(_ engine: Store, _ version: ModelVersion, _ stored: StoredSchema) {
    self.engine = engine
    self.version = version
    self.stored = stored
  }

  /// - Throws: `StoreError` when the store can't write. Records that can't be read stay as they are.
  mutating func run() throws {
    let bindings = try engine.read { transaction in
      try ModelBindings(
        BoundModel.all(of: version, stored), storeIdentifier: "",
        table: { try transaction.tableIfPresent($0) })
    }
    for entity in bindings.entities {
      let isOutdated = stored.shapes(of: entity.name).contains { stored.outdated[$0.id] != nil }
      let building = entity.indexes.filter { !$0.isComplete }
      guard isOutdated || !building.isEmpty, let records = entity.records else { continue }
      var range = KeyRange.all
      var isDone = false
      while !isDone {
        let last = try engine.write(.relaxed) { transaction in
          try sweep(entity, records, range, building, &transaction)
        }
        if let last { range.lower = .excluded(last) } else { isDone = true }
      }
      for index in building {
        let name = TableNames.index(IndexShape(names: index.names, isUnique: index.isUnique), of: entity.name)
        try engine.write(.relaxed) { transaction in
          try SchemaStore.setBuilding(false, index: name, &stored, in: &transaction)
        }
      }
    }
    try engine.flush()
  }

  /// Sweeps one batch; gives the last key, or nil at the end of the table.
  private mutating func sweep(
    _ entity: EntityBinding, _ records: Table, _ range: KeyRange, _ building: [IndexBinding],
    _ transaction: inout WriteTransaction
  ) throws -> [UInt8]? {
    guard let now = try SchemaStore.load(transaction), now.generation == stored.generation else {
      throw RoostError(.schemaChanged, "The store's schema has changed", remedy: "open the container anew")
    }
    stored = now
    var batch: [Entry] = []
    try transaction.forEach(in: records, range, reversed: false) { key, record in
      batch.append(Entry(key: Array(key), value: Array(record)))
      return batch.count < Self.batch
    }
    var gone: [UInt32: Int] = [:]
    for entry in batch {
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
        try transaction.put(entry.key, record, in: records)
        gone[header.shape, default: 0] += 1
        rewritten += 1
      }
    }
    try SchemaStore.noteGone(gone, &stored, in: &transaction)
    return batch.count < Self.batch ? nil : batch.last?.key
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
    let version = try ModelVersion(store.sweepSchema)
    guard let stored = try store.engine.read({ try SchemaStore.load($0) }),
      stored.generation == store.file.generation
    else {
      throw RoostError(.schemaChanged, "The store's schema has changed", remedy: "open the container anew")
    }
    var sweep = Sweep(store.engine, version, stored)
    defer { store.file.didChangeSchema(generation: sweep.stored.generation, digest: version.digest) }
    try sweep.run()
    return sweep.rewritten
  }
}

extension ModelStore {
  /// The schema that the store has: that of the plan's last version, or the container's own.
  fileprivate var sweepSchema: Schema {
    migrationPlan?.schemas.last.map { Schema(versionedSchema: $0) } ?? schema
  }
}
