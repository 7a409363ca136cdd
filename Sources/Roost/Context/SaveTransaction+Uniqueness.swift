import RoostKV

// What happens to objects whose values are those of others and must not be.

extension SaveTransaction {
  /// Makes the records of all changes, and finds new objects whose unique values another row has: they
  /// update that row, which stands for them in every reference.
  ///
  /// Where a uniqueness rule covers a reference, a row found may make others equal, so this is repeated until
  /// none is found that wasn't known. Each time more objects have fallen together, so it ends.
  mutating func resolve(_ changes: [Change], _ transaction: inout WriteTransaction) throws {
    while true {
      let known = aliases
      (aliases, taken, pending, outcome.upserts) = ([:], [:], [:], [])
      for change in changes { try resolve(change, known, &transaction) }
      guard aliases != known else { break }
      let coversReference = changes.contains { $0.entity.hasUniqueReference }
      if !coversReference { break }
    }
    guard !aliases.isEmpty else { return }
    for (number, item) in pending {
      if let old = item.old { try withdraw(old, number, item.entity, &transaction) }
    }
    for (number, item) in pending { pending[number] = redirected(item, aliases) }
  }

  private mutating func resolve(
    _ change: Change, _ known: [UInt64: UInt64], _ transaction: inout WriteTransaction
  ) throws {
    var new = try prepared(change)
    guard change.entity.indexes.contains(where: \.isUnique) else { return pending[change.number] = new }
    if !known.isEmpty { new = redirected(new, known) }
    let keys = uniqueKeys(new.record, change.number, change.entity)
    var hits: Set<UInt64> = []
    for (index, key) in keys {
      if let number = try holder(of: key, index, transaction), number != change.number { hits.insert(number) }
    }
    guard let existing = hits.first else {
      take(keys, for: change.number)
      pending[change.number] = new
      return
    }
    guard change.isNew, hits.count == 1 else {
      throw RoostError.uniqueCollision(
        change.entity.name, properties: keys.flatMap(\.index.names), numbers: hits.sorted())
    }
    try upsert(new, into: existing, keys.flatMap(\.index.names), &transaction)
    aliases[change.number] = existing
    outcome.upserts.append(Upsert(change: change, existing: existing))
  }

  private func uniqueKeys(
    _ record: [UInt8], _ number: UInt64, _ entity: EntityBinding
  ) -> [(index: IndexBinding, key: [UInt8])] {
    entity.withView(record) { view in
      entity.indexes.compactMap { index in
        index.isUnique ? index.key(of: view, number: number).map { (index, $0) } : nil
      }
    } ?? []
  }

  /// The row that has the values of `key`: of the index's entity, or another that the rule covers too.
  private func holder(
    of key: [UInt8], _ index: IndexBinding, _ transaction: borrowing WriteTransaction
  ) throws -> UInt64? {
    for table in [index.table].compactMap(\.self) + index.relatives {
      if let number = taken[table]?[key] { return number }
      let row = try transaction.get(key, in: table)
      // What a row that is about to be written has is in `taken`.
      if let number = row.flatMap({ $0.withUnsafeBytes { RecordKey.number($0) } }), pending[number] == nil {
        return number
      }
    }
    return nil
  }

  private mutating func take(_ keys: [(index: IndexBinding, key: [UInt8])], for number: UInt64) {
    for (index, key) in keys {
      if let table = index.table { taken[table, default: [:]][key] = number }
    }
  }

  /// Lets an existing row take over a new object's values: it keeps its identifier, what it refers to where
  /// the new object refers to nothing, and the members of its to-many relationships, to which the new
  /// object's are added.
  private mutating func upsert(
    _ new: Pending, into existing: UInt64, _ names: [String], _ transaction: inout WriteTransaction
  ) throws {
    let entity = new.entity
    var base = pending[existing]
    if base == nil, let old = try entity.records.flatMap({ try transaction.get(RecordKey.bytes(existing), in: $0) }) {
      base = Pending(entity: entity, number: existing, record: old, old: old, edits: [])
    }
    // A row of another class can't take over the values.
    guard let base, base.entity === entity else {
      throw RoostError.uniqueCollision(entity.name, properties: names, numbers: [existing])
    }
    let record = try merged(new.record, over: base.record, entity)
    let keys = uniqueKeys(record, existing, entity)
    for (index, key) in keys {
      if let number = try holder(of: key, index, transaction), number != existing {
        throw RoostError.uniqueCollision(entity.name, properties: index.names, numbers: [existing, number])
      }
    }
    if pending[existing] != nil {
      for (index, key) in uniqueKeys(base.record, existing, entity) {
        if let table = index.table { taken[table]?[key] = nil }
      }
    }
    take(keys, for: existing)
    pending[existing] = Pending(
      entity: entity, number: existing, record: record, old: base.old, edits: union(base.edits, new.edits))
  }

  /// `base` followed by the members that `new` adds.
  private func union(_ base: [LinkEdit], _ new: [LinkEdit]) -> [LinkEdit] {
    var edits = base
    for edit in new {
      if let place = edits.firstIndex(where: { $0.relationship.index == edit.relationship.index }) {
        edits[place].members += edit.members
      } else {
        edits.append(LinkEdit(relationship: edit.relationship, members: edit.members, base: nil))
      }
    }
    return edits
  }

  /// `new` with the to-one relationships of `base` where it has none itself.
  private func merged(_ new: [UInt8], over base: [UInt8], _ entity: EntityBinding) throws -> [UInt8] {
    let filled = Set(entity.relationships.filter { !$0.isToMany }.map(\.index))
    guard !filled.isEmpty else { return new }
    var writer = RecordWriter(entity.description.layout, shape: entity.shapeNumber, commit: outcome.commit)
    entity.withView(new) { view in
      entity.withView(base) { baseView in
        for property in entity.properties {
          let isMissing = filled.contains(property.index) && view.target(property.index) == nil
          writer.copy((isMissing ? baseView : view).field(property.index), at: property.index)
        }
      }
    }
    return try writer.finish()
  }
}

extension EntityBinding {
  /// A uniqueness rule covers a relationship.
  fileprivate var hasUniqueReference: Bool {
    indexes.contains { index in
      index.isUnique && index.properties.contains { relationship(at: $0) != nil }
    }
  }
}
