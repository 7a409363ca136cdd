import RoostKV

/// A store, open for the models of a program.
///
/// Several contexts may work with one container at once. The container has a main context for the main
/// actor; others are made with `ModelContext(container)`.
public final class ModelContainer: Equatable, @unchecked Sendable {
  // Everything is immutable but the main context, which belongs to the main actor.

  let store: ModelStore
  @MainActor private var main: ModelContext?

  init(_ store: ModelStore) {
    self.store = store
  }

  /// Opens the store of a configuration, or the default one, for these models and those they reach.
  ///
  /// When the store has an older version of the models it is brought up to date; see `MigrationMode` for
  /// when that happens, and `open` for not waiting for it.
  ///
  /// - Throws: `RoostError` and `StoreError`, which say what to do. A store that can't be opened is left
  ///   exactly as it was.
  public convenience init(
    for types: any PersistentModel.Type..., migrationPlan: (any SchemaMigrationPlan.Type)? = nil,
    configurations: ModelConfiguration...
  ) throws {
    try self.init(for: Schema(types), migrationPlan: migrationPlan, configurations: configurations)
  }

  /// Opens the store of a configuration, or the default one, for the models of a schema.
  ///
  /// - Throws: as `init(for:migrationPlan:configurations:)`.
  public convenience init(
    for schema: Schema, migrationPlan: (any SchemaMigrationPlan.Type)? = nil,
    configurations: ModelConfiguration...
  ) throws {
    try self.init(for: schema, migrationPlan: migrationPlan, configurations: configurations)
  }

  /// Opens the store of a configuration, or the default one, for the models of a schema.
  ///
  /// - Throws: as `init(for:migrationPlan:configurations:)`.
  public convenience init(
    for schema: Schema, migrationPlan: (any SchemaMigrationPlan.Type)? = nil,
    configurations: [ModelConfiguration]
  ) throws {
    let configuration = try Self.configuration(of: configurations, schema)
    self.init(try StoreOpening(schema, migrationPlan, configuration).open())
  }

  /// Opens a store as the initializers do, without blocking the caller while it is migrated.
  ///
  /// - Throws: as `init(for:migrationPlan:configurations:)`.
  public static func open(
    for types: any PersistentModel.Type..., migrationPlan: (any SchemaMigrationPlan.Type)? = nil,
    configurations: ModelConfiguration...
  ) async throws -> ModelContainer {
    try await open(for: Schema(types), migrationPlan: migrationPlan, configurations: configurations)
  }

  /// Opens a store as the initializers do, without blocking the caller while it is migrated.
  ///
  /// - Throws: as `init(for:migrationPlan:configurations:)`.
  public static func open(
    for schema: Schema, migrationPlan: (any SchemaMigrationPlan.Type)? = nil,
    configurations: [ModelConfiguration] = []
  ) async throws -> ModelContainer {
    // A thread of its own: a migration may take minutes and would hold up the tasks of the process.
    // The plan is a type, which any thread may use.
    nonisolated(unsafe) let migrationPlan = migrationPlan
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            try ModelContainer(for: schema, migrationPlan: migrationPlan, configurations: configurations)
          })
      }
    }
  }

  /// The engine's store beneath.
  package var engine: Store { store.engine }

  public static func == (a: ModelContainer, b: ModelContainer) -> Bool { a.store === b.store }

  /// The models.
  public var schema: Schema { store.schema }
  /// The plan that the store was brought up to date by.
  public var migrationPlan: (any SchemaMigrationPlan.Type)? { store.migrationPlan }
  /// How the store was opened. For one in memory `isStoredInMemoryOnly` is true.
  public var configurations: Set<ModelConfiguration> { [store.configuration] }

  /// The context of the main actor, always the same one. It saves by itself and ends with the container.
  @MainActor public var mainContext: ModelContext {
    if let main { return main }
    let context = ModelContext(ContextCore(store), container: self, isMain: true)
    main = context
    return context
  }

  /// The one store that a container has.
  private static func configuration(of configurations: [ModelConfiguration], _ schema: Schema) throws
    -> ModelConfiguration
  {
    guard configurations.count <= 1 else {
      throw RoostError(
        .invalidConfiguration, "A container with \(configurations.count) stores was asked for",
        remedy: "make a container for each store; relationships can't lead from one store to another")
    }
    let configuration = configurations.first ?? ModelConfiguration()
    try configuration.validate()
    if let own = configuration.schema {
      for entity in own.entities where schema.entitiesByName[entity.name] == nil {
        throw RoostError(
          .invalidConfiguration,
          "The configuration \(configuration.name) has a model that the container's schema lacks",
          remedy: "add it to the container's schema, or take it out of the configuration's",
          entity: entity.name)
      }
    }
    return configuration
  }
}

// MARK: - Deleting everything

extension ModelContainer {
  /// Deletes all objects. The container stays usable.
  ///
  /// Contexts keep the objects they have, which are gone from the store. So is the history: a token of it
  /// has expired then.
  ///
  /// - Throws: `StoreError` when the store can't write.
  public func erase() throws {
    guard store.allowsSave else { throw RoostError.readOnly(store.configuration) }
    try store.engine.write(.durable) { transaction in
      try store.checkGeneration(transaction)
      let commit =
        Counters.read(Counters.commit, try transaction.get(Counters.commit, in: try store.counters)) &+ 1
      for table in store.bindings.tables { try transaction.deleteRange(.all, in: table) }
      if let history = try transaction.tableIfPresent(TableNames.history) {
        try transaction.deleteRange(.all, in: history)
      }
      try transaction.put(Counters.commit, RecordKey.bytes(commit), in: try store.counters)
      if let limit = store.numbers.newLimit() {
        try transaction.put(Counters.nextNumber, RecordKey.bytes(limit), in: try store.counters)
      }
    }
  }

  /// Deletes all objects, as `erase()` does; for compatibility it throws nothing.
  public func deleteAllData() {
    do {
      try erase()
    } catch {
      FileHandle.standardError.write(Data("Roost: deleteAllData() failed: \(error)\n".utf8))
    }
  }
}
