import RoostKV

/// Fills an entity's new indexes: uniqueness rules at once, since every record has a say in them; of the others it
/// notes that they are incomplete.
struct IndexBuilder {
  private let entity: EntityBinding
  /// The names of the tables that are new.
  private let created: Set<String>

  init(_ entity: EntityBinding, _ created: Set<String>) {
    self.entity = entity
    self.created = created
  }

  /// Throws `.valuesDontFit` where values that must be unique are not.
  func run(
    buildsUnique: Bool, _ stored: inout StoredSchema, _ transaction: inout WriteTransaction
  ) throws {
    guard let records = entity.records, try transaction.count(records) > 0 else { return }
    for index in entity.indexes {
      let name = TableNames.index(IndexShape(names: index.names, isUnique: index.isUnique), of: entity.name)
      guard created.contains(name), let table = index.table else { continue }
      if !index.isUnique {
        try SchemaStore.setBuilding(true, index: name, &stored, in: &transaction)
      } else if buildsUnique {
        try build(index, table, records, &transaction)
      }
    }
  }

  /// Fills all uniqueness rules, whose tables are empty.
  func buildUnique(_ transaction: inout WriteTransaction) throws {
    guard let records = entity.records else { return }
    for index in entity.indexes where index.isUnique {
      if let table = index.table { try build(index, table, records, &transaction) }
    }
  }

  private func build(
    _ index: IndexBinding, _ table: Table, _ records: Table, _ transaction: inout WriteTransaction
  ) throws {
    var entries: [(key: [UInt8], number: UInt64)] = []
    try transaction.forEach(in: records, .all, reversed: false) { key, record in
      if let number = RecordKey.number(key),
        let entry = entity.withView(record, { index.key(of: $0, number: number) }) ?? nil
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
