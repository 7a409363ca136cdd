import RoostKV

// References from record to record: to the rows that stand for new objects, and to none that is gone.

extension SaveTransaction {
  /// `item` with references to new objects replaced by those to the rows that stand for them.
  func redirected(_ item: Pending, _ aliases: [UInt64: UInt64]) -> Pending {
    var item = item
    for relationship in item.entity.relationships where !relationship.isToMany {
      if let row = target(of: item, relationship).flatMap({ aliases[$0] }) {
        item.entity.setTarget(row, at: relationship.index, of: &item.record)
      }
    }
    for place in item.edits.indices {
      item.edits[place].members = item.edits[place].members.map { aliases[$0] ?? $0 }
    }
    return item
  }

  func target(of item: Pending, _ relationship: Relationship) -> UInt64? {
    item.entity.withView(item.record) { $0.target(relationship.index) } ?? nil
  }

  func formerTarget(of item: Pending, _ relationship: Relationship) -> UInt64? {
    item.old.flatMap { old in item.entity.withView(old) { $0.target(relationship.index) } ?? nil }
  }

  /// Takes references to objects that are gone out of the records to be written, and lets both sides of
  /// relationships between one object and one agree.
  mutating func settleReferences(_ transaction: inout WriteTransaction) throws {
    for (number, item) in pending {
      for relationship in item.entity.relationships where !relationship.isToMany {
        guard let target = target(of: item, relationship) else { continue }
        let isKept = target == formerTarget(of: item, relationship)
        if isKept && !relationship.mayDangle { continue }
        if try exists(target, relationship.destination, transaction) { continue }
        // Nothing can be put in place of a required one: it reads as an object that is deleted.
        if isKept && !relationship.isOptional { continue }
        try clear(relationship, of: number)
      }
    }
    let paired = pending.values.filter { item in
      item.entity.relationships.contains { $0.isPair }
    }.map(\.number).sorted()
    for number in paired { try settlePairs(of: number, &transaction) }
  }

  /// Former partners of an object let go of it, and it of a partner that has another.
  private mutating func settlePairs(of number: UInt64, _ transaction: inout WriteTransaction) throws {
    guard let item = pending[number] else { return }
    for relationship in item.entity.relationships where relationship.isPair {
      guard let inverse = relationship.inverseRelationship else { continue }
      let (old, new) = (formerTarget(of: item, relationship), target(of: item, relationship))
      guard old != new || !aliases.isEmpty else { continue }
      if let old, old != new { try release(old, inverse, from: number, &transaction) }
      guard let new, try partner(of: new, inverse, relationship.destination, transaction) != number else { continue }
      try clear(relationship, of: number)
    }
  }

  /// What a record that may be about to be written refers to.
  private func partner(
    of number: UInt64, _ relationship: Relationship, _ entity: EntityBinding,
    _ transaction: borrowing WriteTransaction
  ) throws -> UInt64? {
    if let item = pending[number] { return target(of: item, relationship) }
    for member in entity.family {
      guard let records = member.records, let record = try transaction.get(RecordKey.bytes(number), in: records)
      else { continue }
      return member.withView(record) { $0.target(relationship.index) } ?? nil
    }
    return nil
  }

  /// Makes a record's reference nil if it is to `owner`.
  mutating func release(
    _ number: UInt64, _ relationship: Relationship, from owner: UInt64, _ transaction: inout WriteTransaction
  ) throws {
    guard !deleted.contains(number) else { return }
    if pending[number] == nil { try load(number, relationship.source, &transaction) }
    guard let item = pending[number], target(of: item, relationship) == owner else { return }
    try clear(relationship, of: number)
  }

  /// Makes a stored record one to be written.
  private mutating func load(
    _ number: UInt64, _ entity: EntityBinding, _ transaction: inout WriteTransaction
  ) throws {
    for member in entity.family {
      guard let records = member.records, let old = try transaction.get(RecordKey.bytes(number), in: records)
      else { continue }
      let record = try member.withView(old) { view in
        try RecordRewriter.rewrite(
          view, as: member.description, shape: member.shapeNumber, commit: outcome.commit)
      }
      guard let record else { return }
      try withdraw(old, number, member, &transaction)
      pending[number] = Pending(entity: member, number: number, record: record, old: old, edits: [])
    }
  }

  private mutating func clear(_ relationship: Relationship, of number: UInt64) throws {
    guard var item = pending[number] else { return }
    guard relationship.isOptional else {
      throw RoostError.missingRequired(item.entity.name, number, property: relationship.name)
    }
    item.entity.setTarget(nil, at: relationship.index, of: &item.record)
    pending[number] = item
    outcome.reread[number] = (item.entity, [])
  }

  /// Whether there will be a record of this number when the save is done.
  mutating func exists(
    _ number: UInt64, _ entity: EntityBinding, _ transaction: borrowing WriteTransaction
  ) throws -> Bool {
    if pending[number] != nil { return true }
    if deleted.contains(number) { return false }
    if let known = existing[number] { return known }
    var isThere = false
    for member in entity.family where !isThere {
      guard let records = member.records else { continue }
      isThere = try transaction.withValue(of: RecordKey.bytes(number), in: records) { _ in true } ?? false
    }
    existing[number] = isThere
    return isThere
  }
}

extension Relationship {
  /// Nobody is told when what it refers to is deleted: references to what is gone read as nil, and are
  /// dropped when their record is next written.
  var mayDangle: Bool { inverseRelationship.map { $0.deleteRule == .noAction } ?? true }

  /// It leads from one object to one, and back.
  var isPair: Bool { !isToMany && inverseRelationship?.isToMany == false }
}

extension EntityBinding {
  /// Changes a to-one relationship in a record of the entity's own shape.
  func setTarget(_ target: UInt64?, at index: Int, of record: inout [UInt8]) {
    let fields = description.layout.fields
    guard fields.indices.contains(index), let field = fields[index], field.type == .identifier,
      Int(field.position) + 8 <= record.count
    else { return }
    if target == nil {
      record[Int(field.nullByte)] |= field.nullMask
    } else {
      record[Int(field.nullByte)] &= ~field.nullMask
    }
    record.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: (target ?? 0).littleEndian, toByteOffset: Int(field.position), as: UInt64.self)
    }
  }
}
