import RoostKV

/// Makes a store's tables those of its new schema: links, indexes, tables of models.
///
/// Costs as much as there are models, except where a relationship or a uniqueness rule needs every record
/// to be looked at.
struct TableChanges {
  private let before: StoredSchema
  private let version: ModelVersion
  private let file: OpenFile

  init(_ before: StoredSchema, _ version: ModelVersion, _ file: OpenFile) {
    self.before = before
    self.version = version
    self.file = file
  }

  mutating func apply(
    _ stored: inout StoredSchema, _ difference: SchemaDifference, _ transaction: inout WriteTransaction
  ) throws {
    var created: Set<String> = []
    var obsolete: [String] = []
    for entity in stored.entities {
      let old = before.entity(entity.shape.name)?.shape
      let names = TableNames.all(of: entity.shape)
      for (from, to) in Self.renames(from: old, to: entity.shape) {
        if let table = try transaction.tableIfPresent(from) { _ = try transaction.renameTable(table, to: to) }
      }
      for name in names where try transaction.tableIfPresent(name) == nil {
        _ = try transaction.createTable(name)
        created.insert(name)
      }
      obsolete += (old.map(TableNames.all) ?? []).filter { !names.contains($0) }
    }
    for old in before.entities where stored.entity(old.shape.name) == nil {
      obsolete += TableNames.all(of: old.shape)
    }
    let bindings = try ModelBindings(
      BoundModel.all(of: version, stored), storeIdentifier: file.identifier,
      table: { try transaction.tableIfPresent($0) })
    for entity in bindings.entities {
      try convertRelationships(of: entity, created, &stored, &transaction)
      try buildIndexes(of: entity, created, &stored, &transaction)
    }
    for name in obsolete {
      if let table = try transaction.tableIfPresent(name) { try transaction.dropTable(table) }
    }
    for name in stored.buildingIndexes.intersection(obsolete) {
      try SchemaStore.setBuilding(false, index: name, &stored, in: &transaction)
    }
  }

  /// The tables that go on under other names, because a property has another name.
  private static func renames(from old: EntityShape?, to new: EntityShape) -> [(from: String, to: String)] {
    guard let old else { return [] }
    let names = Dictionary(
      new.properties.compactMap { property -> (String, String)? in
        guard property.lineage != 0,
          let former = old.properties.first(where: { $0.lineage == property.lineage })
        else { return nil }
        return (former.name, property.name)
      }, uniquingKeysWith: { first, _ in first })
    let links = old.properties.filter { $0.kind == .toMany }.compactMap { property -> (String, String)? in
      guard let name = names[property.name], name != property.name else { return nil }
      return (TableNames.links(old.name, property.name), TableNames.links(new.name, name))
    }
    let indexes = old.allIndexes.compactMap { index -> (String, String)? in
      let renamed = IndexShape(names: index.names.map { names[$0] ?? $0 }, isUnique: index.isUnique)
      guard renamed != index, new.allIndexes.contains(renamed) else { return nil }
      return (TableNames.index(index, of: old.name), TableNames.index(renamed, of: new.name))
    }
    return links + indexes
  }

  // MARK: - Relationships

  private func convertRelationships(
    of entity: EntityBinding, _ created: Set<String>, _ stored: inout StoredSchema,
    _ transaction: inout WriteTransaction
  ) throws {
    let former = before.entity(entity.name)?.shape
    for relationship in entity.relationships {
      let old = former?.property(named: relationship.name, in: stored.entity(entity.name)?.shape)
      if relationship.isToMany {
        guard created.contains(TableNames.links(entity.name, relationship.name)), former != nil else {
          continue
        }
        if old?.kind == .toOne {
          try linkFormerTargets(of: entity, relationship, &transaction)
        } else if let inverse = relationship.inverseRelationship, !inverse.isToMany {
          try linkOwners(of: relationship, inverse, &transaction)
        }
      } else if let old, old.kind == .toMany {
        let table = try transaction.tableIfPresent(TableNames.links(entity.name, old.name))
        if let table { try setTargets(of: entity, relationship, from: table, &stored, &transaction) }
      }
    }
  }

  /// A relationship was to one object and is to many now: its members are what the records refer to.
  private func linkFormerTargets(
    of entity: EntityBinding, _ relationship: Relationship, _ transaction: inout WriteTransaction
  ) throws {
    guard let records = entity.records, let links = relationship.links else { return }
    var pairs: [(UInt64, UInt64)] = []
    try transaction.forEach(in: records, .all, reversed: false) { key, record in
      if let owner = RecordKey.number(key), let view = entity.view(record) {
        for target in view.targets(relationship.index) ?? [] { pairs.append((owner, target)) }
      }
      return true
    }
    try put(pairs, in: links, &transaction)
  }

  /// A to-many relationship is new, and its inverse was there before: the members' records say whose
  /// they are.
  private func linkOwners(
    of relationship: Relationship, _ inverse: Relationship, _ transaction: inout WriteTransaction
  ) throws {
    guard let links = relationship.links else { return }
    for member in relationship.destination.family {
      guard let records = member.records else { continue }
      var pairs: [(UInt64, UInt64)] = []
      try transaction.forEach(in: records, .all, reversed: false) { key, record in
        if let number = RecordKey.number(key), let owner = member.view(record)?.target(inverse.index) {
          pairs.append((owner, number))
        }
        return true
      }
      try put(pairs, in: links, &transaction)
    }
  }

  private func put(
    _ pairs: [(owner: UInt64, member: UInt64)], in links: Table, _ transaction: inout WriteTransaction
  ) throws {
    let counters = try transaction.table(TableNames.counters)
    var order = Counters.read(Counters.order, try transaction.get(Counters.order, in: counters))
    for (owner, member) in pairs {
      order &+= LinkOrder.gap
      try transaction.put(RecordKey.link(owner, member), RecordKey.bytes(order), in: links)
    }
    try transaction.put(Counters.order, RecordKey.bytes(order), in: counters)
  }

  /// A relationship was to many objects and is to one now.
  private func setTargets(
    of entity: EntityBinding, _ relationship: Relationship, from links: Table, _ stored: inout StoredSchema,
    _ transaction: inout WriteTransaction
  ) throws {
    guard let records = entity.records else { return }
    var targets: [UInt64: UInt64] = [:]
    var crowded: Set<UInt64> = []
    try transaction.forEach(in: links, .all, reversed: false) { key, _ in
      if let owner = RecordKey.number(key), let target = RecordKey.number(key, at: 8),
        targets.updateValue(target, forKey: owner) != nil
      {
        crowded.insert(owner)
      }
      return true
    }
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
      try transaction.put(key, rewritten, in: records)
      if header.shape != entity.shapeNumber { gone[header.shape, default: 0] += 1 }
    }
    try SchemaStore.noteGone(gone, &stored, in: &transaction)
  }

  // MARK: - Indexes

  private func buildIndexes(
    of entity: EntityBinding, _ created: Set<String>, _ stored: inout StoredSchema,
    _ transaction: inout WriteTransaction
  ) throws {
    guard let records = entity.records, try transaction.count(records) > 0 else { return }
    for index in entity.indexes {
      let name = TableNames.index(IndexShape(names: index.names, isUnique: index.isUnique), of: entity.name)
      guard created.contains(name), let table = index.table else { continue }
      if index.isUnique {
        try buildUnique(index, table, of: entity, records, &transaction)
      } else {
        try SchemaStore.setBuilding(true, index: name, &stored, in: &transaction)
      }
    }
  }

  private func buildUnique(
    _ index: IndexBinding, _ table: Table, of entity: EntityBinding, _ records: Table,
    _ transaction: inout WriteTransaction
  ) throws {
    var entries: [(key: [UInt8], number: UInt64)] = []
    try transaction.forEach(in: records, .all, reversed: false) { key, record in
      if let number = RecordKey.number(key), let view = entity.view(record),
        let entry = index.key(of: view, number: number)
      {
        entries.append((entry, number))
      }
      return true
    }
    var twins: [UInt64] = []
    for (key, number) in entries {
      // The rule holds over the models that inherit it too.
      let isTaken = try index.relatives.contains { try transaction.get(key, in: $0) != nil }
      if try isTaken || !transaction.putIfAbsent(key, RecordKey.bytes(number), in: table) { twins.append(number) }
    }
    guard twins.isEmpty else {
      let some = twins.prefix(5).map(String.init).joined(separator: ", ")
      throw RoostError(
        .valuesDontFit, "Values that must be unique now are not: objects \(some) have those of others",
        remedy: "remove the duplicates in a custom stage's willMigrate", entity: entity.name,
        property: index.names.joined(separator: ", "), rows: twins.count)
    }
  }
}

extension EntityShape {
  /// The property that one of `new`'s properties, named so, continues.
  fileprivate func property(named name: String, in new: EntityShape?) -> PropertyShape? {
    guard let lineage = new?.property(name)?.lineage, lineage != 0 else { return property(name) }
    return properties.first { $0.lineage == lineage }
  }
}
