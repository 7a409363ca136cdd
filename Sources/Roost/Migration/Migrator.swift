import RoostKV

/// Brings a store from the schema it has to the program's, and its records if that is asked for.
struct Migrator {
  /// Outdated records that an automatic migration rewrites at once.
  static let smallStore = 10_000

  private let engine: Store
  private let configuration: ModelConfiguration
  private let route: MigrationRoute
  /// What the store knows of its schema; up to date with what the migrator did.
  private(set) var stored: StoredSchema

  init(_ engine: Store, _ configuration: ModelConfiguration, _ route: MigrationRoute, _ stored: StoredSchema) {
    self.engine = engine
    self.configuration = configuration
    self.route = route
    self.stored = stored
  }

  mutating func run() throws {
    let steps = try engine.read { transaction in
      try route.steps(from: stored, records: { try transaction.recordCount($0) })
    }
    if !steps.isEmpty {
      // What can be seen to fail without a transaction does: even an unused one may touch the file.
      try engine.read { transaction in try checkFirst(steps, transaction) }
      try migrate(steps)
    }
    try sweepIfWanted()
  }

  // MARK: - Checks

  private func checkFirst(_ steps: [MigrationStep], _ transaction: borrowing ReadTransaction) throws {
    if configuration.migration == .lazy {
      for step in steps where step.isCustom || !step.transforms.isEmpty {
        throw notLazy(step, "it runs code of the program", rows: nil)
      }
    }
    guard let first = steps.first else { return }
    try check(first, try difference(first) { try transaction.recordCount($0) })
  }

  private func difference(_ step: MigrationStep, _ count: (String) throws -> Int) throws -> SchemaDifference {
    try SchemaDifference(from: stored.entities.map(\.shape), to: step.to.description, records: count)
  }

  /// Whether a step may be made at all.
  private func check(_ step: MigrationStep, _ difference: SchemaDifference) throws {
    for change in difference.changes {
      switch change.effect {
      case .lazy: break
      case .scan:
        if configuration.migration == .lazy {
          throw notLazy(step, "\(change.place): \(change)", rows: nil)
        }
      case .unclear where !step.isCustom:
        throw RoostError(
          .possibleRename, "From \(step.name): \(change)", remedy: change.remedy, entity: change.entity,
          property: change.property)
      case .custom where !step.isCustom && step.transforms.isEmpty:
        throw RoostError(
          .needsCustomStage, "From \(step.name): \(change)", remedy: change.remedy, entity: change.entity,
          property: change.property)
      case .custom, .unclear: break
      }
    }
    if !route.hasPlan, let loss = difference.losses.first {
      throw RoostError(
        .dataLoss, "From \(step.name): \(loss), and its values would be lost",
        remedy: "add a migration plan that leads from the old version to the new one", entity: loss.entity,
        property: loss.property)
    }
  }

  private func notLazy(_ step: MigrationStep, _ reason: String, rows: Int?) -> RoostError {
    RoostError(
      .stageNotLazy, "The step from \(step.name) can't be done as records are read: \(reason)",
      remedy: "open the store with migration .automatic or .eager", rows: rows)
  }

  // MARK: - Steps

  /// Makes all steps in one transaction.
  private mutating func migrate(_ steps: [MigrationStep]) throws {
    let transaction = try MigrationTransaction(engine)
    do {
      let names = try transaction.write { try StoreNames($0) }
      // Another process may have been first.
      guard try transaction.write({ try SchemaStore.generation($0) }) == stored.generation else {
        throw RoostError(
          .schemaChanged, "Another process is migrating the store \(configuration.name)",
          remedy: "open it again")
      }
      // Closed with the transaction, not with this file.
      let file = OpenFile(
        engine, identifier: names.identifier, nextNumber: names.nextNumber, generation: stored.generation,
        digest: stored.current.digest, closesEngine: false)
      for step in steps { try make(step, transaction, file) }
      try transaction.commit()
    } catch {
      transaction.rollback()
      throw error
    }
  }

  private mutating func make(_ step: MigrationStep, _ transaction: MigrationTransaction, _ file: OpenFile)
    throws
  {
    var (will, did): (((ModelContext) throws -> Void)?, ((ModelContext) throws -> Void)?)
    if case .custom(_, _, let before, let after)? = step.stage { (will, did) = (before, after) }
    if let will, let from = step.from { try run(will, from, transaction, file) }
    let before = stored
    let difference = try transaction.write { transaction -> SchemaDifference in
      try self.difference(step) { try transaction.recordCount($0) }
    }
    try check(step, difference)
    try transaction.write { transaction in
      let names = stored.entities.map(\.shape.name)
      let counts = Dictionary(
        try names.map { ($0, try transaction.recordCount($0)) }, uniquingKeysWith: { first, _ in first })
      stored = try SchemaStore.adopt(step.to.description, over: stored, in: &transaction) { counts[$0] ?? 0 }
      var tables = TableChanges(before, step.to, file)
      try tables.apply(&stored, difference, &transaction)
      try RecordTransforms(step, before, file).apply(&stored, &transaction)
    }
    file.didChangeSchema(generation: stored.generation, digest: stored.current.digest)
    // A closure may supply what the step itself can't.
    if did == nil { try verify(step, difference, transaction, file) }
    if let did {
      try run(did, step.to, transaction, file)
      try verify(step, difference, transaction, file)
    }
  }

  /// Runs a stage's closure with a context that reads and writes the migration's transaction.
  private mutating func run(
    _ body: (ModelContext) throws -> Void, _ version: ModelVersion, _ transaction: MigrationTransaction,
    _ file: OpenFile
  ) throws {
    let store = try transaction.write { transaction in
      ModelStore(
        file, configuration, schema: version.schema, migrationPlan: nil,
        bindings: try ModelBindings(
          BoundModel.all(of: version, stored), storeIdentifier: file.identifier,
          table: { try transaction.tableIfPresent($0) }),
        countersTable: try transaction.tableIfPresent(TableNames.counters))
    }
    let core = ContextCore(store, migration: transaction)
    let context = ModelContext(core, container: nil, isMain: false)
    defer { core.finishClosing() }
    try body(context)
    try context.save()
    // Records that the closure has rewritten or deleted count no longer as outdated.
    if let now = try transaction.write({ try SchemaStore.load($0) }) { stored = now }
  }

  /// Looks at the records that may not fit the new schema.
  private func verify(
    _ step: MigrationStep, _ difference: SchemaDifference, _ transaction: MigrationTransaction,
    _ file: OpenFile
  ) throws {
    let suspects = difference.changes.filter { $0.effect >= .scan && $0.property != nil }
    guard !suspects.isEmpty else { return }
    try transaction.write { transaction in
      let bindings = try ModelBindings(
        BoundModel.all(of: step.to, stored), storeIdentifier: file.identifier,
        table: { try transaction.tableIfPresent($0) })
      for entity in bindings.entities {
        let properties = suspects.filter { $0.entity == entity.name }.compactMap(\.property)
        if !properties.isEmpty { try RecordScan(entity, properties).run(transaction) }
      }
    }
  }

  // MARK: - Records

  private mutating func sweepIfWanted() throws {
    guard !stored.outdated.isEmpty || !stored.buildingIndexes.isEmpty, let target = route.versions.last else {
      return
    }
    switch configuration.migration {
    case .lazy: return
    case .automatic:
      let count = try engine.read { transaction in
        try stored.entities.reduce(0) { sum, entity in
          let isBuilding = entity.shape.allIndexes.contains {
            stored.buildingIndexes.contains(TableNames.index($0, of: entity.shape.name))
          }
          let outdated = stored.shapes(of: entity.shape.name).reduce(0) { $0 + (stored.outdated[$1.id] ?? 0) }
          return try sum + (isBuilding ? transaction.recordCount(entity.shape.name) : outdated)
        }
      }
      guard count <= Self.smallStore else { return }
    case .eager: break
    }
    var sweep = Sweep(engine, target, stored)
    try sweep.run()
    stored = sweep.stored
  }
}
