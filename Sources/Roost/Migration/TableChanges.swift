import RoostKV

/// Makes a store's tables those of its new schema: links, indexes, tables of models.
///
/// Costs as much as there are models, except where a relationship or a uniqueness rule needs every record
/// to be looked at.
struct TableChanges {
  private let before: StoredSchema
  private let version: ModelVersion
  private let route: MigrationRoute
  private let file: OpenFile
  /// Entities whose records transforms make anew, now or when they are read: none of their index rows stays.
  private let transformed: Set<String>
  private var created: Set<String> = []
  /// Where tables are now that no model has any more, by their names.
  private var dropped: [String: String] = [:]

  init(
    _ before: StoredSchema, _ version: ModelVersion, _ route: MigrationRoute, _ file: OpenFile,
    transformed: Set<String>
  ) {
    self.before = before
    self.version = version
    self.route = route
    self.file = file
    self.transformed = transformed
  }

  /// - Parameter later: entities whose uniqueness rules are built by the caller, when transforms have run.
  mutating func apply(
    _ stored: inout StoredSchema, buildingLater later: Set<String>, _ transaction: inout WriteTransaction
  ) throws {
    try moveTables(&stored, &transaction)
    try noteUnbuiltLinks(&stored, &transaction)
    let bindings = try ModelBindings(
      BoundModel.all(of: version, stored, route), storeIdentifier: file.identifier,
      table: { try transaction.tableIfPresent($0) })
    for entity in bindings.entities {
      try convertRelationships(of: entity, &stored, &transaction)
      try IndexBuilder(entity, created).run(
        buildsUnique: !later.contains(entity.name), &stored, &transaction)
    }
  }

  // MARK: - Tables

  /// Gives every table its new name, sets aside those that are no longer needed and makes those that are new.
  private mutating func moveTables(
    _ stored: inout StoredSchema, _ transaction: inout WriteTransaction
  ) throws {
    let moves = FormerTables.all(of: stored, before, rebuilding: transformed)
    let kept = Set(moves.compactMap(\.former))
    let obsolete = before.entities.flatMap { TableNames.all(of: $0.shape) }.filter { !kept.contains($0) }
    for (place, name) in obsolete.enumerated() {
      guard let table = try transaction.tableIfPresent(name) else { continue }
      let aside = TableNames.dropped(place, generation: stored.generation)
      dropped[name] = aside
      _ = try transaction.renameTable(table, to: aside)
      if stored.buildingIndexes.contains(name) {
        try SchemaStore.setBuilding(false, index: name, &stored, in: &transaction)
      }
    }
    for (name, former) in moves {
      if let former, let table = try transaction.tableIfPresent(former) {
        guard former != name else { continue }
        _ = try transaction.renameTable(table, to: name)
        if stored.buildingIndexes.contains(former) {
          try SchemaStore.setBuilding(false, index: former, &stored, in: &transaction)
          try SchemaStore.setBuilding(true, index: name, &stored, in: &transaction)
        }
      } else if try transaction.tableIfPresent(name) == nil {
        _ = try transaction.createTable(name)
        created.insert(name)
      }
    }
  }

  // MARK: - Relationships

  /// Notes the tables of links that are new while the other side's are not. Their rows, and those of relationships
  /// that were to one object, get order keys below all that are given out from now on.
  private func noteUnbuiltLinks(
    _ stored: inout StoredSchema, _ transaction: inout WriteTransaction
  ) throws {
    var reserves = false
    for name in UnbuiltTables.names(in: stored, before) where created.contains(name) {
      reserves = true
      try SchemaStore.setBuilding(true, index: name, &stored, in: &transaction)
    }
    for entity in stored.entities {
      let old = before.former(of: entity)?.shape
      reserves =
        reserves || entity.shape.properties.contains { $0.kind == .toMany && old?.former(of: $0)?.kind == .toOne }
    }
    guard reserves else { return }
    let counters = try transaction.table(TableNames.counters)
    let next = Counters.read(Counters.nextNumber, try transaction.get(Counters.nextNumber, in: counters))
    let order = Counters.read(Counters.order, try transaction.get(Counters.order, in: counters))
    let reserved = max(order, LinkOrder.unbuilt(next))
    try transaction.put(Counters.order, RecordKey.bytes(reserved), in: counters)
  }

  /// Writes the relationships to one object that follow from links: those that were to many, and new ones
  /// whose inverse was there before.
  private func convertRelationships(
    of entity: EntityBinding, _ stored: inout StoredSchema, _ transaction: inout WriteTransaction
  ) throws {
    guard let now = stored.entity(entity.name), let old = before.former(of: now)?.shape else { return }
    for relationship in entity.relationships where !relationship.isToMany {
      guard let property = now.shape.property(relationship.name) else { continue }
      var pairs: [(owner: UInt64, target: UInt64)] = []
      if let former = old.former(of: property) {
        guard former.kind == .toMany, let name = dropped[TableNames.links(old.name, former.name)] else { continue }
        let table = try transaction.table(name)
        try transaction.forEach(in: table, .all, reversed: false) { key, _ in
          if let owner = RecordKey.number(key), let target = RecordKey.number(key, at: 8) {
            pairs.append((owner, target))
          }
          return true
        }
      } else {
        guard before.hadInverse(of: property, in: stored) else { continue }
        for source in relationship.inverseSources {
          try transaction.forEach(in: source.table, .all, reversed: false) { key, value in
            if let link = source.link(key, value) { pairs.append((link.owner, link.member)) }
            return true
          }
        }
      }
      try setTargets(of: entity, relationship, pairs, &stored, &transaction)
    }
  }

  private func setTargets(
    of entity: EntityBinding, _ relationship: Relationship, _ pairs: [(owner: UInt64, target: UInt64)],
    _ stored: inout StoredSchema, _ transaction: inout WriteTransaction
  ) throws {
    guard let records = entity.records else { return }
    var targets: [UInt64: UInt64] = [:]
    var crowded: Set<UInt64> = []
    for (owner, target) in pairs where targets.updateValue(target, forKey: owner) != nil { crowded.insert(owner) }
    guard crowded.isEmpty else {
      throw RoostError(
        .valuesDontFit, "The relationship is to one object now, and has several in some records",
        remedy: "remove all but one in a custom stage's willMigrate", entity: entity.name,
        property: relationship.name, rows: crowded.count)
    }
    var gone: [UInt32: Int] = [:]
    for (owner, target) in targets.sorted(by: { $0.key < $1.key }) {
      let key = RecordKey.bytes(owner)
      guard let record = try transaction.get(key, in: records),
        let header = record.withUnsafeBytes({ RecordHeader($0) })
      else { continue }
      let identifier = relationship.destination.identifier(target)
      let property = relationship.index
      let transform = RecordTransform(entity: entity.name, old: entity.type, new: entity.type, isLazy: true) {
        $1.identifier(identifier, at: property)
      }
      let rewritten = try entity.withView(record) { view in
        try RecordRewriter.rewrite(
          view, view, transform, as: entity.description, shape: entity.shapeNumber, commit: header.commit)
      }
      guard let rewritten else { continue }
      try FormerTargets.move(record, owner, entity, in: &transaction)
      try transaction.put(key, rewritten, in: records)
      if header.shape != entity.shapeNumber { gone[header.shape, default: 0] += 1 }
    }
    try SchemaStore.noteGone(gone, &stored, in: &transaction)
  }
}
