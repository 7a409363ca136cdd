/// The schema that a store is read through.
///
/// For a store that has it, that is what its rows say. One that is open for reading only may be older: then
/// it is what its schema would be had it taken over the program's, and what its tables are named meanwhile.
struct ReadOnlyAdoption {
  private(set) var schema: StoredSchema
  /// The store's names of the tables by the schema's; nil for a table that it doesn't have.
  private var names: [String: String?] = [:]
  private let isCurrent: Bool

  /// - Parameter records: how many records an entity has, by its name in the store.
  /// - Throws: `.readOnly` when the store would have to be written first.
  init(
    _ route: MigrationRoute, over stored: StoredSchema, _ configuration: ModelConfiguration,
    records: (String) throws -> Int
  ) throws {
    schema = stored
    let steps = configuration.allowsSave ? [] : try route.steps(from: stored, records: records)
    isCurrent = steps.isEmpty
    for step in steps { try adopt(step, over: stored, configuration, records) }
    guard !isCurrent else { return }
    let tables = FormerTables.all(of: schema, stored)
    names = Dictionary(tables.map { ($0.name, $0.former) }, uniquingKeysWith: { first, _ in first })
    // What isn't there, or isn't right for the new schema, is never going to be.
    schema.buildingIndexes.formUnion(tables.compactMap { $0.former == nil ? $0.name : nil })
    for (name, former) in tables {
      if let former, stored.buildingIndexes.contains(former) { schema.buildingIndexes.insert(name) }
    }
    for entity in schema.entities where !route.isUntouched(entity, schema, since: stored) {
      schema.buildingIndexes.formUnion(
        entity.shape.allIndexes.map { TableNames.index($0, of: entity.shape.name) })
    }
    let unbuilt = Set(UnbuiltTables.names(in: schema, stored))
    for entity in schema.entities {
      for property in entity.shape.properties where property.kind == .toMany {
        let name = TableNames.links(entity.shape.name, property.name)
        if let former = names[name], former == nil, !unbuilt.contains(name) {
          schema.buildingIndexes.remove(name)
        }
      }
    }
  }

  /// A table's name in the store; nil when the store has no such table.
  func storedName(_ name: String) -> String? {
    if isCurrent { return name }
    // No row of the store's schema says what the schema it is read through lacks.
    if name == SchemaRows.table { return nil }
    return names[name] ?? name
  }

  private mutating func adopt(
    _ step: MigrationStep, over stored: StoredSchema, _ configuration: ModelConfiguration,
    _ records: (String) throws -> Int
  ) throws {
    /// The entity's records are where the store has them, whatever it is named meanwhile.
    func count(_ name: String) throws -> Int {
      let now = schema.entity(name)
      return try now.flatMap { stored.former(of: $0) }.map { try records($0.shape.name) } ?? 0
    }
    let difference = try SchemaDifference(
      from: schema.entities.map(\.shape), to: step.to.description, records: count)
    let transformed = Set(step.transforms.map(\.entity))
    let isReadable = difference.changes.allSatisfy {
      $0.effect == .lazy || transformed.contains($0.entity) && $0.isLeftToTransforms
    }
    guard isReadable, !step.isCustom, step.transforms.allSatisfy(\.isLazy) else {
      throw RoostError(
        .readOnly, "The store has to be migrated (\(step.name)), and is open for reading only",
        remedy: "open it once with a configuration whose allowsSave is true")
    }
    var adoption = Adoption(step.to.description, over: schema, transformed: transformed)
    try adoption.settleEntities()
    // Whoever writes the store may add records of its shapes at any time.
    try adoption.countOutdated(schema) { max(1, try count($0)) }
    schema = adoption.schema
  }
}

extension MigrationRoute {
  /// Whether no transform has to make an entity's records what the schema says they are.
  fileprivate func isUntouched(
    _ entity: StoredEntityShape, _ schema: StoredSchema, since stored: StoredSchema
  ) -> Bool {
    schema.shapes(of: entity.shape.name).allSatisfy { !$0.shape.isTransformed || stored.shapes[$0.id] != nil }
  }
}
