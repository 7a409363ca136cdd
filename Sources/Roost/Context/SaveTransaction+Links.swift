import RoostKV

// To-many relationships: which members there are, and their order.

/// What a save makes of one object's to-many relationship.
struct LinkEdit {
  let relationship: Relationship
  /// The members in the program's order, some perhaps twice.
  var members: [UInt64]
  /// The members that the program had found when it began to change them; nil: the members are added to
  /// those there are.
  var base: [UInt64]?
}

extension SaveTransaction {
  /// Lets to-many inverses follow the record's to-one relationships.
  mutating func moveLinks(of item: Pending, _ transaction: inout WriteTransaction) throws {
    for relationship in item.entity.relationships where !relationship.isToMany {
      guard let inverse = relationship.inverseRelationship, inverse.isToMany else { continue }
      let (old, new) = (formerTarget(of: item, relationship), target(of: item, relationship))
      guard old != new else { continue }
      if let old { try removeLink(item.number, from: old, relationship, &transaction) }
      if let new { try settleFormer(new, relationship.destination, &transaction) }
      if let new, let table = try links(of: new, inverse, transaction) {
        let key = RecordKey.link(new, item.number)
        if try transaction.putIfAbsent(key, RecordKey.bytes(nextOrder()), in: table) {
          touch(new, relationship.destination, inverse)
        }
      }
    }
  }

  /// The table of an owner's members, who may be of a class that inherits the relationship.
  func links(
    of owner: UInt64, _ relationship: Relationship, _ transaction: borrowing WriteTransaction
  ) throws -> Table? {
    if relationship.source.subentities.isEmpty { return relationship.links }
    if let item = pending[owner] { return item.entity.relationship(at: relationship.index)?.links }
    for member in relationship.source.family {
      guard let records = member.records else { continue }
      if try transaction.withValue(of: RecordKey.bytes(owner), in: records, { _ in true }) == true {
        return member.relationship(at: relationship.index)?.links
      }
    }
    return nil
  }

  /// Writes the order, and where no to-one inverse decides it the membership, of a to-many relationship.
  mutating func writeLinks(
    of owner: UInt64, _ entity: EntityBinding, _ edit: LinkEdit, _ transaction: inout WriteTransaction
  ) throws {
    let relationship = edit.relationship
    guard let table = relationship.links else { return }
    try complete(relationship, &transaction)
    let present = try links(of: owner, table, transaction)
    let stored = Set(present.map(\.number))
    var seen: Set<UInt64> = []
    var wanted = edit.base == nil ? present.map(\.number) + edit.members : edit.members
    wanted = wanted.filter { seen.insert($0).inserted }
    var final: [UInt64]
    if relationship.inverseRelationship?.isToMany == false {
      // The members' own records say whose they are.
      final = wanted.filter { stored.contains($0) } + present.map(\.number).filter { !seen.contains($0) }
    } else {
      // What others added stays, what they removed stays away.
      let base = Set(edit.base ?? [])
      final =
        wanted.filter { !base.contains($0) || stored.contains($0) }
        + present.map(\.number).filter { !base.contains($0) && !seen.contains($0) }
      final = try existing(final, relationship, present: stored, transaction)
      try mirror(owner, relationship, old: stored, new: Set(final), &transaction)
      for number in stored.subtracting(final) {
        try transaction.delete(RecordKey.link(owner, number), in: table)
        touch(owner, entity, relationship)
      }
    }
    if final.count < wanted.count { outcome.reread[owner] = (entity, []) }
    try writeOrder(of: owner, entity, edit.relationship, final, present, &transaction)
  }

  /// The members that exist: of a relationship with an inverse those that are stored do.
  private mutating func existing(
    _ members: [UInt64], _ relationship: Relationship, present: Set<UInt64>,
    _ transaction: borrowing WriteTransaction
  ) throws -> [UInt64] {
    var found: [UInt64] = []
    for member in members {
      let isKnown = !relationship.mayDangle && present.contains(member)
      if try isKnown || exists(member, relationship.destination, transaction) { found.append(member) }
    }
    return found
  }

  /// Lets the other side of a many-to-many relationship follow.
  private mutating func mirror(
    _ owner: UInt64, _ relationship: Relationship, old: Set<UInt64>, new: Set<UInt64>,
    _ transaction: inout WriteTransaction
  ) throws {
    guard let inverse = relationship.inverseRelationship else { return }
    for number in new.symmetricDifference(old).sorted() {
      try settleFormer(number, relationship.destination, &transaction)
    }
    for number in new.subtracting(old).sorted() {
      guard let back = try links(of: number, inverse, transaction) else { continue }
      if try transaction.putIfAbsent(RecordKey.link(number, owner), RecordKey.bytes(nextOrder()), in: back) {
        touch(number, relationship.destination, inverse)
      }
    }
    for number in old.subtracting(new) {
      guard let back = try links(of: number, inverse, transaction) else { continue }
      if try transaction.delete(RecordKey.link(number, owner), in: back) {
        touch(number, relationship.destination, inverse)
      }
    }
  }

  /// Gives new order keys to the members that aren't in order already: those that follow the last one
  /// in place, or all from the first that is out of place.
  private mutating func writeOrder(
    of owner: UInt64, _ entity: EntityBinding, _ relationship: Relationship, _ members: [UInt64],
    _ present: [(order: UInt64, number: UInt64)], _ transaction: inout WriteTransaction
  ) throws {
    guard let table = relationship.links else { return }
    let orders = Dictionary(present.map { ($0.number, $0.order) }, uniquingKeysWith: { first, _ in first })
    for (number, key) in zip(members, LinkOrder.keys(members.map { orders[$0] }, highest: &order)) {
      if orders[number] != key {
        try transaction.put(RecordKey.link(owner, number), RecordKey.bytes(key), in: table)
        touch(owner, entity, relationship)
      }
    }
  }

  private mutating func nextOrder() -> UInt64 {
    order &+= LinkOrder.gap
    return order
  }

  /// Relationships of rows that took over new objects' members may have more than they may.
  func checkCounts(_ transaction: borrowing WriteTransaction) throws {
    for row in Set(outcome.upserts.map(\.existing)).sorted() {
      guard let item = pending[row] else { continue }
      for relationship in item.entity.relationships where relationship.maximumCount > 0 {
        guard let table = relationship.links else { continue }
        let count = try transaction.count(table, in: .prefix(RecordKey.bytes(row)))
        guard count > relationship.maximumCount else { continue }
        throw RoostError.memberCount(
          item.entity.name, row, property: relationship.name, count: count,
          allowed: relationship.minimumCount...max(relationship.minimumCount, relationship.maximumCount))
      }
    }
  }
}

// MARK: - Links without rows

extension SaveTransaction {
  /// Gives a relationship whose table the sweep hasn't completed yet all its rows.
  func complete(_ relationship: Relationship, _ transaction: inout WriteTransaction) throws {
    guard let unbuilt = relationship.unbuilt,
      try unbuilt.isPending({ key, table in try transaction.get(key, in: table) }),
      var stored = try SchemaStore.load(transaction)
    else { return }
    try LinkBuilder(relationship).run(&stored, in: &transaction)
  }

  /// Rewrites the object's record if it is of an older shape in which a relationship was to one object: the
  /// object's links are about to change, and from now on their rows alone say what they are.
  mutating func settleFormer(
    _ number: UInt64, _ entity: EntityBinding, _ transaction: inout WriteTransaction
  ) throws {
    for member in entity.family where member.relationships.contains(where: \.isInOlderRecords) {
      guard let records = member.records, let old = try transaction.get(RecordKey.bytes(number), in: records),
        member.relationships.contains(where: { FormerTargets.target(of: old, $0) != nil }),
        let commit = old.withUnsafeBytes({ RecordHeader($0)?.commit })
      else { continue }
      let record = try member.withView(old) { view in
        try RecordRewriter.rewrite(view, as: member.description, shape: member.shapeNumber, commit: commit)
      }
      guard let record else { continue }
      try FormerTargets.move(old, number, member, in: &transaction)
      try removeIndexEntries(of: old, number, member, &transaction)
      try transaction.put(RecordKey.bytes(number), record, in: records)
      try insertIndexEntries(of: record, number, member, &transaction)
      count(old, member)
    }
  }
}

// MARK: - Tables

extension SaveTransaction {
  func members(
    of owner: UInt64, _ table: Table, _ transaction: borrowing WriteTransaction
  ) throws -> [UInt64] {
    try links(of: owner, table, transaction).map(\.number)
  }

  func links(
    of owner: UInt64, _ table: Table, _ transaction: borrowing WriteTransaction
  ) throws -> [(order: UInt64, number: UInt64)] {
    var links: [(order: UInt64, number: UInt64)] = []
    try transaction.forEach(in: table, .prefix(RecordKey.bytes(owner)), reversed: false) { key, value in
      if let number = RecordKey.number(key, at: 8), let order = RecordKey.number(value) {
        links.append((order, number))
      }
      return true
    }
    links.sort { $0.order < $1.order }
    return links
  }
}
