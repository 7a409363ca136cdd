import RoostKV

// Deletions. The context has applied the delete rules to what it knew; here they are applied to what
// others have saved meanwhile.

extension SaveTransaction {
  mutating func delete(
    _ deletions: [Change], beside updates: [Change], _ transaction: inout WriteTransaction
  ) throws {
    guard !deletions.isEmpty else { return }
    deleted = Set(deletions.map(\.number))
    let changed = Dictionary(updates.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    var waiting: [(entity: EntityBinding, number: UInt64)] = deletions.reversed().map { ($0.entity, $0.number) }
    while let (entity, number) = waiting.popLast() {
      guard let records = entity.records, let old = try transaction.get(RecordKey.bytes(number), in: records)
      else { continue }
      count(old, entity)
      try removeIndexEntries(of: old, number, entity, &transaction)
      for relationship in entity.relationships {
        if relationship.isToMany { try complete(relationship, &transaction) }
        for member in try storedMembers(of: number, old, entity, relationship, transaction) {
          try apply(relationship, of: entity, number, to: member, changed, &waiting, transaction)
        }
        if relationship.isToMany {
          try deleteLinks(of: number, relationship, &transaction)
          if let target = FormerTargets.target(of: old, relationship) {
            try removeLink(number, from: target, relationship, &transaction)
          }
        } else if let target = entity.withView(old, { $0.target(relationship.index) }) ?? nil {
          try removeLink(number, from: target, relationship, &transaction)
        }
      }
      try transaction.delete(RecordKey.bytes(number), in: records)
      history.delete(number, of: entity, old)
    }
  }

  /// The stored members of a relationship whose own records refer back to `number`.
  private func storedMembers(
    of number: UInt64, _ record: [UInt8], _ entity: EntityBinding, _ relationship: Relationship,
    _ transaction: borrowing WriteTransaction
  ) throws -> [UInt64] {
    guard relationship.inverseRelationship?.isToMany == false else { return [] }
    if relationship.isToMany {
      let former = FormerTargets.target(of: record, relationship)
      let rows = try relationship.links.map { try members(of: number, $0, transaction) } ?? []
      return rows + [former].compactMap(\.self).filter { !rows.contains($0) }
    }
    return (entity.withView(record) { $0.target(relationship.index) } ?? nil).map { [$0] } ?? []
  }

  /// Applies a relationship's delete rule to a member that isn't deleted.
  private mutating func apply(
    _ relationship: Relationship, of entity: EntityBinding, _ number: UInt64, to member: UInt64,
    _ changed: [UInt64: Change], _ waiting: inout [(entity: EntityBinding, number: UInt64)],
    _ transaction: borrowing WriteTransaction
  ) throws {
    guard !deleted.contains(member), let inverse = relationship.inverseRelationship else { return }
    // What the program has made of the member's side is decided by its own record.
    let isDecided = changed[member]?.model._$state.changes.contains(inverse.index) ?? false
    switch relationship.deleteRule {
    case .noAction: return
    case .deny where !isDecided:
      throw RoostError.deletionDenied(entity.name, number, by: relationship.name, members: [member])
    case .cascade where !isDecided:
      for owner in relationship.destination.family {
        guard let records = owner.records,
          try transaction.withValue(of: RecordKey.bytes(member), in: records, { _ in true }) == true
        else { continue }
        deleted.insert(member)
        waiting.append((owner, member))
        outcome.cascaded.append((owner, member))
      }
    default: orphans.append((member, inverse, number))
    }
  }

  /// Takes their deleted owners from objects that no one in this context has told.
  mutating func releaseOrphans(_ transaction: inout WriteTransaction) throws {
    for orphan in orphans where !deleted.contains(orphan.number) {
      try release(orphan.number, orphan.relationship, from: orphan.owner, &transaction)
    }
  }

  /// Removes an owner's links and those that lead back.
  private mutating func deleteLinks(
    of owner: UInt64, _ relationship: Relationship, _ transaction: inout WriteTransaction
  ) throws {
    guard let table = relationship.links else { return }
    let range = KeyRange.prefix(RecordKey.bytes(owner))
    if let inverse = relationship.inverseRelationship, inverse.isToMany {
      for member in try members(of: owner, table, transaction) {
        try settleFormer(member, relationship.destination, &transaction)
        if let back = try links(of: member, inverse, transaction),
          try transaction.delete(RecordKey.link(member, owner), in: back)
        {
          touch(member, relationship.destination, inverse)
        }
      }
    }
    try transaction.deleteRange(range, in: table)
  }

  /// Removes `member` from the to-many relationship that is the inverse of a to-one relationship.
  mutating func removeLink(
    _ member: UInt64, from owner: UInt64, _ relationship: Relationship, _ transaction: inout WriteTransaction
  ) throws {
    guard let inverse = relationship.inverseRelationship, let table = try links(of: owner, inverse, transaction)
    else { return }
    try settleFormer(owner, relationship.destination, &transaction)
    if try transaction.delete(RecordKey.link(owner, member), in: table) {
      touch(owner, relationship.destination, inverse)
    }
  }

  mutating func touch(_ number: UInt64, _ entity: EntityBinding, _ relationship: Relationship) {
    guard !deleted.contains(number) else { return }
    touched[number, default: (entity, PropertySet())].properties.insert(relationship.index)
  }
}
