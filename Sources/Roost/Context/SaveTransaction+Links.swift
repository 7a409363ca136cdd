import RoostKV

// To-many relationships: which members there are, and their order.

extension SaveTransaction {
  /// Lets to-many inverses follow the record's to-one relationships.
  mutating func moveLinks(of item: Pending, _ transaction: inout WriteTransaction) throws {
    let entity = item.change.entity
    for relationship in entity.relationships where !relationship.isToMany {
      guard let inverse = relationship.inverseRelationship, inverse.isToMany, let table = inverse.links else {
        continue
      }
      let old = item.old.flatMap { old in entity.withView(old) { $0.target(relationship.index) } ?? nil }
      let new = entity.withView(item.record) { $0.target(relationship.index) } ?? nil
      guard old != new else { continue }
      if let old { try removeLink(item.number, from: old, relationship, &transaction) }
      if let new {
        let key = RecordKey.link(new, item.number)
        if try transaction.putIfAbsent(key, RecordKey.bytes(nextOrder()), in: table) {
          touch(new, relationship.destination)
        }
      }
    }
  }

  /// Writes the order, and where no to-one inverse decides it the membership, of to-many relationships.
  mutating func writeLinks(of item: Pending, _ transaction: inout WriteTransaction) throws {
    for (index, targets) in item.links {
      guard let relationship = item.change.entity.relationship(at: index), let table = relationship.links
      else {
        continue
      }
      guard item.old == nil || item.change.rearranged.contains(index) || item.number != item.change.number else {
        continue
      }
      var wanted: [UInt64] = []
      var seen: Set<UInt64> = []
      for target in targets where seen.insert(resolved(target.number)).inserted {
        wanted.append(resolved(target.number))
      }
      try writeLinks(
        of: item.number, relationship, table, wanted: wanted, base: item.change.stored[index] ?? [], &transaction)
    }
  }

  /// The row that stands for an object in the store.
  func resolved(_ number: UInt64) -> UInt64 {
    outcome.upserts.first { $0.change.number == number }?.existing ?? number
  }

  mutating func writeLinks(
    of owner: UInt64, _ relationship: Relationship, _ table: Table, wanted: [UInt64], base: [UInt64],
    _ transaction: inout WriteTransaction
  ) throws {
    let present = try links(of: owner, table, transaction)
    let stored = Set(present.map(\.number))
    let inverse = relationship.inverseRelationship
    let final: [UInt64]
    if let inverse, !inverse.isToMany {
      // The members' own records say whose they are.
      let known = Set(wanted)
      final = wanted.filter { stored.contains($0) } + present.map(\.number).filter { !known.contains($0) }
    } else {
      // What others added stays, what they removed stays away.
      let (base, known) = (Set(base), Set(wanted))
      final =
        wanted.filter { !base.contains($0) || stored.contains($0) }
        + present.map(\.number).filter { !base.contains($0) && !known.contains($0) }
      try mirror(owner, relationship, old: stored, new: Set(final), &transaction)
      for number in stored.subtracting(final) {
        try transaction.delete(RecordKey.link(owner, number), in: table)
      }
    }
    try writeOrder(of: owner, table, final, present, &transaction)
  }

  /// Lets the other side of a many-to-many relationship follow.
  mutating func mirror(
    _ owner: UInt64, _ relationship: Relationship, old: Set<UInt64>, new: Set<UInt64>,
    _ transaction: inout WriteTransaction
  ) throws {
    guard let back = relationship.inverseRelationship?.links else { return }
    for number in new.subtracting(old).sorted() {
      if try transaction.putIfAbsent(RecordKey.link(number, owner), RecordKey.bytes(nextOrder()), in: back) {
        touch(number, relationship.destination)
      }
    }
    for number in old.subtracting(new) {
      if try transaction.delete(RecordKey.link(number, owner), in: back) {
        touch(number, relationship.destination)
      }
    }
  }

  /// Gives new order keys to the members that aren't in order already: those that follow the last one
  /// in place, or all from the first that is out of place.
  mutating func writeOrder(
    of owner: UInt64, _ table: Table, _ members: [UInt64], _ present: [(order: UInt64, number: UInt64)],
    _ transaction: inout WriteTransaction
  ) throws {
    let orders = Dictionary(present.map { ($0.number, $0.order) }, uniquingKeysWith: { first, _ in first })
    for (number, key) in zip(members, LinkOrder.keys(members.map { orders[$0] }, highest: &order)) {
      if orders[number] != key {
        try transaction.put(RecordKey.link(owner, number), RecordKey.bytes(key), in: table)
      }
    }
  }

  mutating func nextOrder() -> UInt64 {
    order &+= LinkOrder.gap
    return order
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
