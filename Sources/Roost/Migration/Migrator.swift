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
  /// What the steps dropped.
  private(set) var losses: [SchemaDifference.Change] = []
  /// Records that the sweep rewrote.
  private(set) var rewritten = 0

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
    // A transform that records wait for has to be there, and what can be seen to fail without a transaction
    // does: even an unused one may touch the file.
    for entity in stored.entities { _ = try route.pendingStages(of: entity, in: stored) }
    if !steps.isEmpty {
      try engine.read { transaction in try checkFirst(steps, transaction) }
      try migrate(steps)
    }
    try sweepIfWanted()
  }

  // MARK: - Checks

  private func checkFirst(_ steps: [MigrationStep], _ transaction: borrowing ReadTransaction) throws {
    if configuration.migration == .lazy {
      for step in steps {
        if step.isCustom { throw notLazy(step, "it runs code of the program", rows: nil) }
        for transform in step.transforms where !step.canWait(transform) {
          let records = try transaction.recordCount(transform.old._$entityName)
          throw notLazy(step, step.whyNotLazy(transform), entity: transform.entity, rows: records)
        }
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
    let transformed = Set(step.transforms.map(\.entity))
    for change in difference.changes {
      let isTransformed = transformed.contains(change.entity) && change.isLeftToTransforms
      switch change.effect {
      case .lazy: break
      case .scan:
        if configuration.migration == .lazy && !isTransformed {
          throw notLazy(step, "\(change.place): \(change)", entity: change.entity, rows: change.records)
        }
      case .unclear where !step.isCustom:
        throw RoostError(
          .possibleRename, "From \(step.name): \(change)", remedy: change.remedy, entity: change.entity,
          property: change.property, rows: change.records)
      case .custom where !step.isCustom && !isTransformed:
        // A new uniqueness rule that a transform of its model serves is looked at when that has run.
        if transformed.contains(change.entity), change.property == nil { continue }
        throw RoostError(
          .needsCustomStage, "From \(step.name): \(change)", remedy: change.remedy, entity: change.entity,
          property: change.property, rows: change.records)
      case .custom, .unclear: break
      }
    }
    if !route.hasPlan, let loss = difference.losses.first {
      throw RoostError(
        .dataLoss, "From \(step.name): \(loss), and its values would be lost",
        remedy: "add a migration plan that leads from the old version to the new one", entity: loss.entity,
        property: loss.property, rows: loss.records)
    }
  }

  private func notLazy(
    _ step: MigrationStep, _ reason: String, entity: String? = nil, rows: Int?
  ) -> RoostError {
    RoostError(
      .stageNotLazy, "The step from \(step.name) can't be done as records are read: \(reason)",
      remedy: "open the store with migration .automatic or .eager", entity: entity, rows: rows)
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
    losses += difference.losses
    let waiting = try transaction.write { transaction in
      try adopt(step, before, file, &transaction)
    }
    file.didChangeSchema(generation: stored.generation, digest: stored.current.digest)
    // A closure may supply what the step itself can't.
    if let did { try run(did, step.to, transaction, file) }
    let suspects = difference.changes.filter { change in
      change.effect >= .scan && change.property != nil
        && !(waiting.contains(change.entity) && change.isLeftToTransforms)
    }
    try verify(step, suspects, transaction, file)
  }

  /// Makes the step's schema the store's.
  ///
  /// - Returns: the entities whose records wait for their transforms until they are read.
  private mutating func adopt(
    _ step: MigrationStep, _ before: StoredSchema, _ file: OpenFile, _ transaction: inout WriteTransaction
  ) throws -> Set<String> {
    var counts: [String: Int] = [:]
    for entity in before.entities {
      counts[entity.shape.name] = try transaction.recordCount(entity.shape.name)
    }
    let all = Set(step.transforms.map(\.entity))
    let waiting = Set(
      step.transforms.filter { step.canWait($0) && waits(counts[$0.old._$entityName] ?? 0) }.map(\.entity))
    stored = try SchemaStore.adopt(
      step.to.description, over: before, transformed: waiting, in: &transaction
    ) { counts[$0] ?? 0 }
    var tables = TableChanges(before, step.to, route, file, transformed: all)
    try tables.apply(&stored, buildingLater: all, &transaction)
    try RecordTransforms(step, before, route, file).apply(
      all.subtracting(waiting), &stored, &transaction)
    return waiting
  }

  /// Whether so many records are left to be transformed when they are read.
  private func waits(_ records: Int) -> Bool {
    switch configuration.migration {
    case .lazy: true
    case .automatic: records > Self.smallStore
    case .eager: false
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
          BoundModel.all(of: version, stored, route), storeIdentifier: file.identifier,
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
    _ step: MigrationStep, _ suspects: [SchemaDifference.Change], _ transaction: MigrationTransaction,
    _ file: OpenFile
  ) throws {
    guard !suspects.isEmpty else { return }
    try transaction.write { transaction in
      let bindings = try ModelBindings(
        BoundModel.all(of: step.to, stored, route), storeIdentifier: file.identifier,
        table: { try transaction.tableIfPresent($0) })
      for entity in bindings.entities {
        let properties = suspects.filter { $0.entity == entity.name }.compactMap(\.property)
        if !properties.isEmpty { try RecordScan(entity, properties).run(transaction) }
      }
    }
  }

  // MARK: - Records

  private mutating func sweepIfWanted() throws {
    guard let target = route.versions.last else { return }
    let work = try engine.read { try SweepWork(stored, $0) }
    if work.isEmpty { return }
    switch configuration.migration {
    case .lazy: return
    case .automatic: guard work.records <= Self.smallStore else { return }
    case .eager: break
    }
    var sweep = Sweep(engine, target, route, stored)
    try sweep.run()
    stored = sweep.stored
    rewritten = sweep.rewritten
  }
}
