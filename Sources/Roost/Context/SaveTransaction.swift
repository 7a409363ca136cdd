import RoostKV

/// One save's work inside the engine's transaction: records, indexes, links, history.
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
    var touched: [Touched] = []
    /// Rows whose objects, if there are any, don't have the values that were stored.
    var reread: [UInt64: (entity: EntityBinding, record: [UInt8])] = [:]
    /// Objects that went with their owner, which others had given them to meanwhile.
    var cascaded: [(entity: EntityBinding, number: UInt64)] = []
    /// The stored limit of object numbers, if it was raised.
    var numberLimit: UInt64?
  }

  struct Upsert {
    let change: Change
    let existing: UInt64
  }

  struct Touched {
    let entity: EntityBinding
    let number: UInt64
    /// The commit that had written the row before.
    let former: UInt64
  }

  /// A record on its way into the store.
  struct Pending {
    let entity: EntityBinding
    let number: UInt64
    var record: [UInt8]
    /// The store's record before; nil for a new row.
    let old: [UInt8]?
    var edits: [LinkEdit]
  }

  let store: ModelStore
  let policy: ModelContext.ConflictPolicy
  let author: String?
  var outcome = Outcome()
  var pending: [UInt64: Pending] = [:]
  var order: UInt64 = 0

  /// The rows that stand for new objects with values of theirs.
  var aliases: [UInt64: UInt64] = [:]
  /// Unique keys that this save has taken, by table.
  var taken: [Table: [[UInt8]: UInt64]] = [:]
  /// Records whose index entries have been taken out.
  var withdrawn: [UInt64: [UInt8]] = [:]

  /// Rows whose links change, and the relationships.
  var touched: [UInt64: (entity: EntityBinding, properties: PropertySet)] = [:]
  var deleted: Set<UInt64> = []
  /// What the save did, for the history.
  var history = HistoryBuilder()
  /// Objects that lose their owner, by others' doing not known to this context.
  var orphans: [(number: UInt64, relationship: Relationship, owner: UInt64)] = []
  /// Which of the records asked for exist.
  var existing: [UInt64: Bool] = [:]
  /// Records of older shapes that are overwritten or deleted, by shape.
  var outdated: [UInt32: Int] = [:]

  init(_ store: ModelStore, policy: ModelContext.ConflictPolicy, author: String? = nil) {
    self.store = store
    self.policy = policy
    self.author = author
  }

  /// Writes all changes.
  mutating func run(_ changes: [Change], _ transaction: inout WriteTransaction) throws -> Outcome {
    try store.checkGeneration(transaction)
    let counters = try store.counters
    outcome.commit = Counters.read(Counters.commit, try transaction.get(Counters.commit, in: counters)) &+ 1
    order = Counters.read(Counters.order, try transaction.get(Counters.order, in: counters))
    let updates = changes.filter { $0.kind != .deleted && $0.changesRecord }
    try delete(changes.filter { $0.kind == .deleted && !$0.isNew }, beside: updates, &transaction)
    try resolve(try withdraw(updates, &transaction), &transaction)
    try releaseOrphans(&transaction)
    try settleReferences(&transaction)
    try write(&transaction)
    try writeTouched(&transaction)
    try checkCounts(transaction)
    try noteOutdated(&transaction)
    try transaction.put(Counters.commit, RecordKey.bytes(outcome.commit), in: counters)
    try transaction.put(Counters.order, RecordKey.bytes(order), in: counters)
    if let limit = store.numbers.newLimit() {
      try transaction.put(Counters.nextNumber, RecordKey.bytes(limit), in: counters)
      outcome.numberLimit = limit
    }
    try writeHistory(&transaction)
    return outcome
  }
}

// MARK: - Merging

extension SaveTransaction {
  /// Takes the old records of changed objects out of the indexes and merges what others have saved.
  ///
  /// - Returns: the changes whose objects still exist, those of stored objects first: a new object with
  ///   the values of one finds it then, whichever was changed first.
  mutating func withdraw(_ changes: [Change], _ transaction: inout WriteTransaction) throws -> [Change] {
    var stored: [Change] = []
    for change in changes where !change.isNew {
      guard !deleted.contains(change.number), let records = change.entity.records,
        let old = try transaction.get(RecordKey.bytes(change.number), in: records)
      else {
        outcome.lost.append(change)
        continue
      }
      try withdraw(old, change.number, change.entity, &transaction)
      try merge(old, into: change)
      stored.append(change)
    }
    return stored + changes.filter(\.isNew)
  }

  /// Takes a record that will be overwritten out of the indexes.
  mutating func withdraw(
    _ old: [UInt8], _ number: UInt64, _ entity: EntityBinding, _ transaction: inout WriteTransaction
  ) throws {
    guard withdrawn.updateValue(old, forKey: number) == nil else { return }
    count(old, entity)
    try removeIndexEntries(of: old, number, entity, &transaction)
  }

  /// Takes over the properties that others have saved since the object was read.
  private mutating func merge(_ old: [UInt8], into change: Change) throws {
    let isMerged = try change.entity.withView(old) { view -> Bool in
      guard view.commit > change.commit, let clean = change.clean else { return false }
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
      for property in change.entity.delicate where takeover.contains(property.index) {
        if !property.isReadable(view) { takeover.remove(property.index) }
      }
      change.model._$refresh(RecordReader(view, notes: RecordReader.Notes()), takeover)
      return true
    }
    // Others may have changed its to-many relationships too.
    if isMerged == true { outcome.reread[change.number] = (change.entity, []) }
  }
}

// MARK: - Records

extension SaveTransaction {
  /// An object's record and what is to be done to its links, as the program has them.
  func prepared(_ change: Change) throws -> Pending {
    let (record, links) = try change.entity.encode(
      change.model, commit: outcome.commit, withMembers: change.isNew || !change.rearranged.isEmpty)
    var edits: [LinkEdit] = []
    for (index, targets) in links where change.isNew || change.rearranged.contains(index) {
      guard let relationship = change.entity.relationship(at: index) else { continue }
      let base = change.stored[index] ?? []
      if targets.isEmpty && base.isEmpty { continue }
      edits.append(LinkEdit(relationship: relationship, members: targets.map(\.number), base: base))
    }
    return Pending(
      entity: change.entity, number: change.number, record: record, old: withdrawn[change.number],
      edits: edits)
  }

  mutating func write(_ transaction: inout WriteTransaction) throws {
    let ordered = pending.values.sorted { $0.number < $1.number }
    for item in ordered {
      guard let records = item.entity.records else { throw RoostError.notWritable(item.entity.name) }
      if let old = item.old { try FormerTargets.move(old, item.number, item.entity, in: &transaction) }
      try transaction.put(RecordKey.bytes(item.number), item.record, in: records)
      try insertIndexEntries(of: item.record, item.number, item.entity, &transaction)
      history.write(item.number, of: item.entity, item.record, over: item.old)
    }
    for item in ordered { try moveLinks(of: item, &transaction) }
    for item in ordered {
      for edit in item.edits { try writeLinks(of: item.number, item.entity, edit, &transaction) }
    }
    let reread = aliases.isEmpty ? Array(outcome.reread.keys) : Array(pending.keys)
    for number in reread {
      if let item = pending[number] { outcome.reread[number] = (item.entity, item.record) }
    }
  }

  /// Raises the writing commit of rows whose links changed, so that other contexts read them anew.
  mutating func writeTouched(_ transaction: inout WriteTransaction) throws {
    for (number, item) in touched.sorted(by: { $0.key < $1.key }) where pending[number] == nil {
      for member in item.entity.family {
        guard let records = member.records,
          var record = try transaction.get(RecordKey.bytes(number), in: records)
        else { continue }
        let former = record.withUnsafeBytes { RecordHeader($0)?.commit } ?? 0
        RecordHeader.setCommit(outcome.commit, of: &record)
        try transaction.put(RecordKey.bytes(number), record, in: records)
        outcome.touched.append(Touched(entity: member, number: number, former: former))
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
    outdated[header.shape, default: 0] += 1
  }

  /// Lets the schema know of outdated records that are gone.
  func noteOutdated(_ transaction: inout WriteTransaction) throws {
    guard !outdated.isEmpty, var stored = try SchemaStore.load(transaction) else { return }
    try SchemaStore.noteGone(outdated, &stored, in: &transaction)
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
