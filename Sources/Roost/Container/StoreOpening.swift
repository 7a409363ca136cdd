import RoostKV

/// Opens a store for a program's models and brings it up to date.
///
/// Nothing is written before it is clear that the store can be opened; what is written then is one commit,
/// and rewritten records.
struct StoreOpening {
  private let schema: Schema
  private let plan: (any SchemaMigrationPlan.Type)?
  private let configuration: ModelConfiguration

  init(
    _ schema: Schema, _ plan: (any SchemaMigrationPlan.Type)?, _ configuration: ModelConfiguration
  ) {
    self.schema = schema
    self.plan = plan
    self.configuration = configuration
  }

  /// - Throws: `RoostError` and `StoreError`; the store is as it was then.
  func open() throws -> ModelStore {
    try schema.validate()
    let route = try plan.map { try MigrationRoute($0, for: schema) } ?? MigrationRoute(schema)
    guard let target = route.versions.last else {
      throw RoostError(.invalidPlan, "No versions", remedy: "list some")
    }
    let file = try OpenFiles.file(configuration) { try openFile(route, target) }
    guard file.digest == target.digest else {
      throw RoostError(
        .invalidConfiguration,
        "The store \(configuration.name) is open in this process with another version of its models",
        remedy: "release the other container first")
    }
    return try bind(file, route, target)
  }

  // MARK: - The file

  private func openFile(_ route: MigrationRoute, _ target: ModelVersion) throws -> OpenFile {
    let engine = try openEngine()
    let stored = try engine.read { try SchemaStore.load($0) }
    guard configuration.allowsSave else { return try openReadOnly(engine, stored, route, target) }
    guard let stored else { return try create(engine, target) }
    var migrator = Migrator(engine, configuration, route, stored)
    try migrator.run()
    let names = try engine.read { try StoreNames($0) }
    return OpenFile(
      engine, identifier: names.identifier, nextNumber: names.nextNumber,
      generation: migrator.stored.generation, digest: target.digest, report: migrator.report(since: stored))
  }

  private func openEngine() throws -> Store {
    if configuration.isStoredInMemoryOnly { return try Store.inMemory() }
    var options = StoreOptions(access: configuration.allowsSave ? .readWrite : .readOnly)
    options.createIfMissing = configuration.allowsSave
    let path = configuration.url.path
    if configuration.allowsSave && configuration.url.deletingLastPathComponent() == DefaultLocation.folder {
      try FileManager.default.createDirectory(at: DefaultLocation.folder, withIntermediateDirectories: true)
    }
    return try Store.open(path, options)
  }

  /// Gives a new store its schema, its tables and its name.
  private func create(_ engine: Store, _ target: ModelVersion) throws -> OpenFile {
    let identifier = UUID().uuidString
    let stored = try engine.write(.durable) { transaction in
      let counters = try transaction.createTable(TableNames.counters)
      try transaction.put(Counters.identifier, identifier, in: counters)
      _ = try transaction.createTable(TableNames.history)
      for entity in target.description.entities {
        for name in TableNames.all(of: entity.shape) { _ = try transaction.createTable(name) }
      }
      return try SchemaStore.adopt(target.description, over: nil, in: &transaction) { _ in 0 }
    }
    return OpenFile(
      engine, identifier: identifier, nextNumber: 1, generation: stored.generation, digest: target.digest)
  }

  /// A store that can't be written is read through the program's schema if no record has to be rewritten
  /// for it.
  private func openReadOnly(
    _ engine: Store, _ stored: StoredSchema?, _ route: MigrationRoute, _ target: ModelVersion
  ) throws -> OpenFile {
    guard let stored else {
      throw RoostError(
        .readOnly, "The store \(configuration.name) is empty, and open for reading only",
        remedy: "open it once with a configuration whose allowsSave is true")
    }
    let names = try engine.read { try StoreNames($0) }
    try engine.read { transaction in
      _ = try ReadOnlyAdoption(route, over: stored, configuration) { try transaction.recordCount($0) }
    }
    return OpenFile(
      engine, identifier: names.identifier, nextNumber: names.nextNumber, generation: stored.generation,
      digest: target.digest)
  }

  // MARK: - Binding

  private func bind(_ file: OpenFile, _ route: MigrationRoute, _ target: ModelVersion) throws -> ModelStore {
    try file.engine.read { transaction in
      guard let stored = try SchemaStore.load(transaction) else {
        throw RoostError.schemaDamaged("there is none")
      }
      let adoption = try ReadOnlyAdoption(route, over: stored, configuration) {
        try transaction.recordCount($0)
      }
      let bindings = try ModelBindings(
        models(target, adoption.schema, route), storeIdentifier: file.identifier,
        table: { name in try adoption.storedName(name).flatMap { try transaction.tableIfPresent($0) } })
      return ModelStore(
        file, configuration, schema: schema, migrationPlan: plan, bindings: bindings,
        countersTable: try transaction.tableIfPresent(TableNames.counters),
        schemaTable: try transaction.tableIfPresent(SchemaRows.table))
    }
  }

  /// The plan's models, with the container's own types in place of those of the same entity.
  private func models(
    _ target: ModelVersion, _ stored: StoredSchema, _ route: MigrationRoute
  ) throws -> [BoundModel] {
    let own = Dictionary(
      zip(schema.types, schema.entities).map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    return try BoundModel.all(of: target, stored, route) { own[$0] }
  }
}

extension BoundModel {
  /// A version's models as a store has them.
  ///
  /// - Throws: `.stageMissing` when records wait for a transform that the route doesn't have.
  static func all(
    of version: ModelVersion, _ stored: StoredSchema, _ route: MigrationRoute,
    type: (String) -> (any PersistentModel.Type)? = { _ in nil }
  ) throws -> [BoundModel] {
    try zip(version.schema.types, version.description.entities).compactMap { planned, description in
      guard let current = stored.entity(description.name) else { return nil }
      let shapes = stored.shapes(of: description.name)
      let building = description.shape.allIndexes.filter {
        stored.buildingIndexes.contains(TableNames.index($0, of: description.name))
      }
      let links = description.shape.properties.map(\.name).filter {
        stored.buildingIndexes.contains(TableNames.links(description.name, $0))
      }
      return BoundModel(
        type: type(description.name) ?? planned, description: description, current: current, shapes: shapes,
        olderShapes: Set(shapes.map(\.id).filter { $0 != current.id && stored.outdated[$0] != nil }),
        buildingIndexes: Set(building), buildingLinks: Set(links),
        stages: try route.pendingStages(of: current, in: stored))
    }
  }
}

/// What a store is called and where its numbers stand.
struct StoreNames {
  let identifier: String
  let nextNumber: UInt64

  init(_ transaction: borrowing some ReadOperations & ~Copyable) throws {
    guard let counters = try transaction.tableIfPresent(TableNames.counters),
      let name = try transaction.get(Counters.identifier, in: counters),
      let identifier = String(validating: name, as: UTF8.self)
    else { throw RoostError.schemaDamaged("the store has no identifier") }
    self.identifier = identifier
    nextNumber = Counters.read(Counters.nextNumber, try transaction.get(Counters.nextNumber, in: counters))
  }
}

extension ReadOperations where Self: ~Copyable {
  /// How many records an entity has.
  func recordCount(_ entity: String) throws -> Int {
    guard let table = try tableIfPresent(TableNames.records(entity)) else { return 0 }
    return try count(table)
  }
}
