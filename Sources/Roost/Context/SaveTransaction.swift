import RoostKV

/// One save's work inside the engine's transaction: records, indexes, links.
///
/// Nothing here changes an object, except that properties without unsaved changes take over what others
/// have saved meanwhile; what else objects must learn waits in `Outcome` until the commit is done.
struct SaveTransaction {
  /// What a save did, for the objects to take over.
  struct Outcome {
    var commit: UInt64 = 0
    /// New objects whose unique values an existing row has: that row took over the values.
    var upserts: [Upsert] = []
    /// Objects that others have deleted meanwhile.
    var lost: [Change] = []
    /// Rows that were written because a relationship's other side changed.
    var touched: [(EntityBinding, UInt64)] = []
    /// The stored limit of object numbers, if it was raised.
    var numberLimit: UInt64?
  }

  struct Upsert {
    let change: Change
    let existing: UInt64
    let record: [UInt8]
  }

  /// A record on its way into the store.
  struct Pending {
    let change: Change
    let number: UInt64
    var record: [UInt8]
    /// The store's record before.
    let old: [UInt8]?
    var links: [(index: Int, targets: [PersistentIdentifier])]
  }

  let store: ModelStore
  let policy: ModelContext.ConflictPolicy
  var outcome = Outcome()
  var pending: [UInt64: Pending] = [:]
  var order: UInt64 = 0
  /// Unique keys that this save has taken, by table.
  var taken: [Table: [[UInt8]: UInt64]] = [:]
  var touched: [UInt64: EntityBinding] = [:]
  var deleted: Set<UInt64> = []
  /// Records of older shapes that are overwritten or deleted, by shape.
  var gone: [UInt32: Int] = [:]

  init(_ store: ModelStore, policy: ModelContext.ConflictPolicy) {
    self.store = store
    self.policy = policy
  }

  /// Writes all changes.
  mutating func run(_ changes: [Change], _ transaction: inout WriteTransaction) throws -> Outcome {
    try store.checkGeneration(transaction)
    let counters = try store.counters
    outcome.commit = Counters.read(Counters.commit, try transaction.get(Counters.commit, in: counters)) &+ 1
    order = Counters.read(Counters.order, try transaction.get(Counters.order, in: counters))
    let deletions = changes.filter { $0.kind == .deleted && !$0.isNew }
    let updates = changes.filter { $0.kind != .deleted && $0.changesRecord }
    deleted = Set(deletions.map(\.number))
    for change in deletions { try delete(change, &transaction) }
    let olds = try withdraw(updates, &transaction)
    let live = updates.filter { change in !outcome.lost.contains { $0 === change } }
    try resolveUniqueness(of: live, olds, &transaction)
    for change in live where pending[change.number] == nil && alias(change) == nil {
      try prepare(change, old: olds[change.number])
    }
    try write(&transaction)
    try writeTouched(&transaction)
    try noteGone(&transaction)
    try transaction.put(Counters.commit, RecordKey.bytes(outcome.commit), in: counters)
    try transaction.put(Counters.order, RecordKey.bytes(order), in: counters)
    if let limit = store.numbers.newLimit() {
      try transaction.put(Counters.nextNumber, RecordKey.bytes(limit), in: counters)
      outcome.numberLimit = limit
    }
    return outcome
  }
}

// MARK: - Deletions

extension SaveTransaction {
  mutating func delete(_ change: Change, _ transaction: inout WriteTransaction) throws {
    let (entity, number) = (change.entity, change.number)
    guard let records = entity.records, let old = try transaction.get(RecordKey.bytes(number), in: records)
    else {
      return
    }
    count(old, entity)
    try removeIndexEntries(of: old, number, entity, &transaction)
    for relationship in entity.relationships {
      if relationship.isToMany {
        try deleteLinks(of: number, relationship, &transaction)
      } else if let target = entity.withView(old, { $0.target(relationship.index) }) ?? nil {
        try removeLink(number, from: target, relationship, &transaction)
      }
    }
    try transaction.delete(RecordKey.bytes(number), in: records)
  }

  /// Removes an owner's links and those that lead back.
  mutating func deleteLinks(
    of owner: UInt64, _ relationship: Relationship, _ transaction: inout WriteTransaction
  ) throws {
    guard let table = relationship.links else { return }
    let range = KeyRange.prefix(RecordKey.bytes(owner))
    if let inverse = relationship.inverseRelationship, inverse.isToMany, let back = inverse.links {
      for member in try members(of: owner, table, transaction) {
        if try transaction.delete(RecordKey.link(member, owner), in: back) {
          touch(member, relationship.destination)
        }
      }
    }
    try transaction.deleteRange(range, in: table)
  }

  /// Removes `member` from the to-many relationship that is the inverse of a to-one relationship.
  mutating func removeLink(
    _ member: UInt64, from owner: UInt64, _ relationship: Relationship, _ transaction: inout WriteTransaction
  ) throws {
    guard let inverse = relationship.inverseRelationship, let table = inverse.links else { return }
    if try transaction.delete(RecordKey.link(owner, member), in: table) {
      touch(owner, relationship.destination)
    }
  }

  mutating func touch(_ number: UInt64, _ entity: EntityBinding) {
    if !deleted.contains(number) { touched[number] = entity }
  }
}

// MARK: - Merging

extension SaveTransaction {
  /// Takes the old records of changed objects out of the indexes and merges what others have saved.
  mutating func withdraw(
    _ changes: [Change], _ transaction: inout WriteTransaction
  ) throws -> [UInt64: [UInt8]] {
    var olds: [UInt64: [UInt8]] = [:]
    for change in changes where !change.isNew {
      guard let records = change.entity.records,
        let old = try transaction.get(RecordKey.bytes(change.number), in: records)
      else {
        outcome.lost.append(change)
        continue
      }
      olds[change.number] = old
      count(old, change.entity)
      try removeIndexEntries(of: old, change.number, change.entity, &transaction)
      try merge(old, into: change)
    }
    return olds
  }

  /// Takes over the properties that others have saved since the object was read.
  func merge(_ old: [UInt8], into change: Change) throws {
    try change.entity.withView(old) { view in
      guard view.commit > change.commit, let clean = change.clean else { return }
      let changed = change.model._$state.changes
      var takeover = PropertyMask.all.subtracting(change.unsaved)
      for property in change.entity.properties where changed.contains(property.index) {
        let conflicts = change.entity.withSnapshot(clean) { snapshot in
          property.relationship?.isToMany != true
            && snapshot.value(property.index) != view.value(property.index)
        }
        guard conflicts ?? false else { continue }
        switch policy {
        case .contextWins: continue
        case .storeWins: takeover.insert(property.index)
        case .fails:
          throw RoostError.conflict(change.entity.name, change.number, property: property.name)
        }
      }
      for relationship in change.entity.relationships where relationship.isToMany {
        takeover.remove(relationship.index)
      }
      change.model._$refresh(RecordReader(view, notes: RecordReader.Notes()), takeover)
    }
  }
}

// MARK: - Records

extension SaveTransaction {
  mutating func prepare(_ change: Change, old: [UInt8]?) throws {
    let (record, links) = try change.entity.encode(
      change.model, commit: outcome.commit, withMembers: change.isNew || !change.rearranged.isEmpty)
    pending[change.number] = Pending(
      change: change, number: change.number, record: record, old: old, links: links)
  }

  mutating func write(_ transaction: inout WriteTransaction) throws {
    let ordered = pending.values.sorted { $0.number < $1.number }
    for item in ordered {
      let entity = item.change.entity
      guard let records = entity.records else { throw RoostError.notWritable(entity.name) }
      try transaction.put(RecordKey.bytes(item.number), item.record, in: records)
      try insertIndexEntries(of: item.record, item.number, entity, &transaction)
      try moveLinks(of: item, &transaction)
    }
    for item in ordered { try writeLinks(of: item, &transaction) }
  }

  /// Raises the writing commit of rows whose links changed, so that other contexts read them anew.
  mutating func writeTouched(_ transaction: inout WriteTransaction) throws {
    for (number, entity) in touched.sorted(by: { $0.key < $1.key }) where pending[number] == nil {
      for member in entity.family {
        guard let records = member.records,
          var record = try transaction.get(RecordKey.bytes(number), in: records)
        else { continue }
        RecordHeader.setCommit(outcome.commit, of: &record)
        try transaction.put(RecordKey.bytes(number), record, in: records)
        outcome.touched.append((member, number))
      }
    }
  }
}

// MARK: - Shapes

extension SaveTransaction {
  /// Notes a record that goes, if it is of an older shape.
  mutating func count(_ record: [UInt8], _ entity: EntityBinding) {
    guard let header = record.withUnsafeBytes({ RecordHeader($0) }), header.shape != entity.shapeNumber else {
      return
    }
    gone[header.shape, default: 0] += 1
  }

  /// Lets the schema know of outdated records that are gone.
  func noteGone(_ transaction: inout WriteTransaction) throws {
    guard !gone.isEmpty, var stored = try SchemaStore.load(transaction) else { return }
    try SchemaStore.noteGone(gone, &stored, in: &transaction)
  }
}

// MARK: - Index entries

extension SaveTransaction {
  func removeIndexEntries(
    of record: [UInt8], _ number: UInt64, _ entity: EntityBinding, _ transaction: inout WriteTransaction
  ) throws {
    guard !entity.indexes.isEmpty else { return }
    for (index, key) in indexKeys(record, number, entity) {
      if let table = index.table { try transaction.delete(key, in: table) }
    }
  }

  func insertIndexEntries(
    of record: [UInt8], _ number: UInt64, _ entity: EntityBinding, _ transaction: inout WriteTransaction
  ) throws {
    guard !entity.indexes.isEmpty else { return }
    for (index, key) in indexKeys(record, number, entity) {
      guard let table = index.table else { continue }
      try transaction.put(key, index.isUnique ? RecordKey.bytes(number) : [], in: table)
    }
  }

  func indexKeys(
    _ record: [UInt8], _ number: UInt64, _ entity: EntityBinding
  ) -> [(index: IndexBinding, key: [UInt8])] {
    entity.withView(record) { view in
      entity.indexes.compactMap { index in index.key(of: view, number: number).map { (index, $0) } }
    } ?? []
  }
}
