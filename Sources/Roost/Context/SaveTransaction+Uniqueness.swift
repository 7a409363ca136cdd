import RoostKV

// What happens to objects whose values are those of others and must not be.

extension SaveTransaction {
  func alias(_ change: Change) -> UInt64? {
    outcome.upserts.first { $0.change === change }?.existing
  }

  /// Finds new objects whose unique values another row has: they update that row instead.
  mutating func resolveUniqueness(
    of changes: [Change], _ olds: [UInt64: [UInt8]], _ transaction: inout WriteTransaction
  ) throws {
    for change in changes where change.entity.indexes.contains(where: \.isUnique) {
      let (record, links) = try change.entity.encode(
        change.model, commit: outcome.commit, withMembers: change.isNew || !change.rearranged.isEmpty)
      let keys = uniqueKeys(record, change.number, change.entity)
      var hits: Set<UInt64> = []
      for (index, key) in keys {
        if let number = try holder(of: key, index, transaction), number != change.number {
          hits.insert(number)
        }
      }
      let new = Pending(
        change: change, number: change.number, record: record, old: olds[change.number], links: links)
      guard let existing = hits.first else {
        take(keys, for: change.number)
        pending[change.number] = new
        continue
      }
      guard change.isNew, hits.count == 1 else {
        throw RoostError.uniqueCollision(
          change.entity.name, properties: keys.flatMap(\.index.names), numbers: hits.sorted())
      }
      try upsert(new, into: existing, &transaction)
    }
  }

  func uniqueKeys(
    _ record: [UInt8], _ number: UInt64, _ entity: EntityBinding
  ) -> [(index: IndexBinding, key: [UInt8])] {
    entity.withView(record) { view in
      entity.indexes.compactMap { index in
        index.isUnique ? index.key(of: view, number: number).map { (index, $0) } : nil
      }
    } ?? []
  }

  func holder(
    of key: [UInt8], _ index: IndexBinding, _ transaction: borrowing WriteTransaction
  ) throws -> UInt64? {
    guard let table = index.table else { return nil }
    if let number = taken[table]?[key] { return number }
    return try transaction.get(key, in: table).flatMap { $0.withUnsafeBytes { RecordKey.number($0) } }
  }

  mutating func take(_ keys: [(index: IndexBinding, key: [UInt8])], for number: UInt64) {
    for (index, key) in keys {
      if let table = index.table { taken[table, default: [:]][key] = number }
    }
  }

  /// Lets an existing row take over a new object's values: it keeps its identifier, its relationships
  /// where the new object has none, and all its links.
  mutating func upsert(
    _ new: Pending, into existing: UInt64, _ transaction: inout WriteTransaction
  ) throws {
    let entity = new.change.entity
    let old: [UInt8]?
    if pending[existing] != nil {
      old = pending[existing]?.old
    } else {
      old = try entity.records.flatMap { try transaction.get(RecordKey.bytes(existing), in: $0) }
      if let old {
        count(old, entity)
        try removeIndexEntries(of: old, existing, entity, &transaction)
      }
    }
    guard let base = pending[existing]?.record ?? old else {
      throw RoostError.uniqueCollision(entity.name, properties: [], numbers: [existing])
    }
    let record = try merged(new.record, over: base, entity)
    var links = pending[existing]?.links ?? []
    for link in new.links where !link.targets.isEmpty {
      if let place = links.firstIndex(where: { $0.index == link.index }) {
        links[place].targets += link.targets
      } else {
        links.append(link)
      }
    }
    let keys = uniqueKeys(record, existing, entity)
    for (index, key) in keys {
      if let number = try holder(of: key, index, transaction), number != existing {
        throw RoostError.uniqueCollision(entity.name, properties: index.names, numbers: [existing, number])
      }
    }
    if let former = pending[existing] {
      for (index, key) in uniqueKeys(former.record, existing, entity) {
        if let table = index.table { taken[table]?[key] = nil }
      }
    }
    take(keys, for: existing)
    pending[existing] = Pending(
      change: pending[existing]?.change ?? new.change, number: existing, record: record, old: old,
      links: links)
    outcome.upserts.append(Upsert(change: new.change, existing: existing, record: record))
  }

  /// `new` with the to-one relationships of `base` where it has none itself.
  func merged(_ new: [UInt8], over base: [UInt8], _ entity: EntityBinding) throws -> [UInt8] {
    let filled = entity.relationships.filter { !$0.isToMany }
    guard !filled.isEmpty else { return new }
    var writer = RecordWriter(entity.description.layout, shape: entity.shapeNumber, commit: outcome.commit)
    entity.withView(new) { view in
      entity.withView(base) { baseView in
        for property in entity.properties {
          let isMissing = filled.contains { $0.index == property.index } && view.target(property.index) == nil
          writer.copy((isMissing ? baseView : view).field(property.index), at: property.index)
        }
      }
    }
    return try writer.finish()
  }
}
