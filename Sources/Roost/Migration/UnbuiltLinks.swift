import RoostKV
import Synchronization

// Links that no row says yet. When a schema change makes a relationship to-many, no record is touched:
// until the sweep has come by, some members follow from the records alone.
//
// * The relationship was to one object: the record of an older shape holds it, and its owner has no rows. Whoever
//   changes the owner's links moves it into a row first and rewrites the record (`FormerTargets`).
// * The relationship is new and its inverse is not: its table is named by an `index…` row of the schema
//   table until all rows are there. The inverse says who the members are.
//
// A member without a row has the order key that `LinkOrder.unbuilt` gives it. The counter of order keys
// is raised above all of these when the schema changes.

/// The members of a to-many relationship whose table isn't complete.
final class UnbuiltLinks: Sendable {
  private let row: [UInt8]
  private let schemaTable: Table?
  private let countersTable: Table?
  /// All members by owner, as of a commit: finding them reads every record on the other side.
  private let cache = Mutex<(commit: UInt64, members: [UInt64: [UInt64]])?>(nil)

  /// - Parameter schemaTable: nil when the store doesn't have the schema that it is read through: then no row
  ///   will ever say that the table is complete.
  init(table: String, schemaTable: Table?, countersTable: Table?) {
    row = SchemaRows.index(table)
    self.schemaTable = schemaTable
    self.countersTable = countersTable
  }

  /// Whether the table is still incomplete.
  func isPending(_ get: (_ key: [UInt8], _ table: Table) throws -> [UInt8]?) throws -> Bool {
    guard let schemaTable else { return true }
    return try get(row, schemaTable) != nil
  }

  /// The members that the inverse knows, with or without a row, ascending.
  func members(
    of owner: UInt64, _ relationship: Relationship, _ reading: any StoreReading
  ) throws -> [UInt64] {
    guard try isPending({ try reading.get($0, in: $1) }) else { return [] }
    let commit = try countersTable.map {
      Counters.read(Counters.commit, try reading.get(Counters.commit, in: $0))
    }
    if let known = cache.withLock({ $0 }), known.commit == commit { return known.members[owner] ?? [] }
    var members: [UInt64: [UInt64]] = [:]
    for source in relationship.inverseSources {
      try reading.forEach(in: source.table, .all, reversed: false) { key, value in
        if let link = source.link(key, value) { members[link.owner, default: []].append(link.member) }
        return true
      }
    }
    if let commit { cache.withLock { [members] in $0 = (commit, members) } }
    return members[owner] ?? []
  }
}

extension LinkOrder {
  /// The order key of a member that has no row yet.
  static func unbuilt(_ member: UInt64) -> UInt64 {
    let (key, overflows) = member.multipliedReportingOverflow(by: gap)
    return overflows ? member : key
  }
}

extension Relationship {
  /// A table that holds the other side's links, and the link that one of its rows says, if any.
  typealias InverseSource = (
    table: Table,
    link: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> (owner: UInt64, member: UInt64)?
  )

  /// Where the inverse's side of the relationship lies.
  var inverseSources: [InverseSource] {
    guard let inverse = inverseRelationship?.index else { return [] }
    var sources: [InverseSource] = []
    for entity in destination.family {
      guard let back = entity.relationship(at: inverse) else { continue }
      if let links = back.links {
        sources.append(
          (
            links,
            { key, _ in
              guard let member = RecordKey.number(key), let owner = RecordKey.number(key, at: 8) else { return nil }
              return (owner, member)
            }
          ))
      }
      guard !back.isToMany || back.isInOlderRecords, let records = entity.records else { continue }
      sources.append(
        (
          records,
          { key, record in
            guard let member = RecordKey.number(key), let owner = entity.plainView(record)?.formerTarget(inverse)
            else { return nil }
            return (owner, member)
          }
        ))
    }
    return sources
  }

  /// The members that no row says: those that the owner's record of an older shape, or the inverse, holds.
  func unbuiltMembers(of owner: UInt64, _ reading: any StoreReading) throws -> [UInt64] {
    var members = try unbuilt?.members(of: owner, self, reading) ?? []
    if isInOlderRecords, let records = source.records {
      let former = try reading.withValue(of: RecordKey.bytes(owner), in: records) { record in
        source.plainView(record)?.formerTarget(index)
      }
      if case .some(.some(let former)) = former { members.append(former) }
    }
    return members
  }
}

/// Moves what records of older shapes say of relationships that are to-many now into link tables.
enum FormerTargets {
  /// Gives the record's former to-one relationships their rows, on both sides.
  ///
  /// To be called by whoever overwrites a record of an older shape.
  static func move(
    _ record: [UInt8], _ number: UInt64, _ entity: EntityBinding, in transaction: inout WriteTransaction
  ) throws {
    for relationship in entity.relationships where relationship.isInOlderRecords {
      guard let links = relationship.links,
        let target = target(of: record, relationship)
      else { continue }
      try transaction.putIfAbsent(
        RecordKey.link(number, target), RecordKey.bytes(LinkOrder.unbuilt(target)), in: links)
      guard let back = relationship.inverseRelationship else { continue }
      for member in relationship.destination.family {
        guard let links = member.relationship(at: back.index)?.links, let records = member.records,
          try transaction.get(RecordKey.bytes(target), in: records) != nil
        else { continue }
        try transaction.putIfAbsent(
          RecordKey.link(target, number), RecordKey.bytes(LinkOrder.unbuilt(number)), in: links)
      }
    }
  }

  /// The object that the record holds for a relationship that is to-many now.
  static func target(of record: [UInt8], _ relationship: Relationship) -> UInt64? {
    guard relationship.isToMany, relationship.isInOlderRecords else { return nil }
    return record.withUnsafeBytes { relationship.source.plainView($0)?.formerTarget(relationship.index) }
  }
}

/// Completes the table of a to-many relationship from what its inverse holds.
struct LinkBuilder {
  private let relationship: Relationship
  /// The relationship's table in the schema's rows.
  let name: String

  init(_ relationship: Relationship) {
    self.relationship = relationship
    name = TableNames.links(relationship.source.name, relationship.name)
  }

  /// Writes all rows that are missing, in this transaction, and notes that the table is complete.
  func run(_ stored: inout StoredSchema, in transaction: inout WriteTransaction) throws {
    for source in relationship.inverseSources { _ = try run(source, .all, limit: .max, in: &transaction) }
    try finish(&stored, in: &transaction)
  }

  /// Writes the rows that a part of one source asks for; gives the last key read, or nil at its end.
  func run(
    _ source: Relationship.InverseSource, _ range: KeyRange, limit: Int, in transaction: inout WriteTransaction
  ) throws -> [UInt8]? {
    guard let links = relationship.links else { return nil }
    var pairs: [(owner: UInt64, member: UInt64)] = []
    var count = 0
    var last: [UInt8]?
    try transaction.forEach(in: source.table, range, reversed: false) { key, value in
      if let link = source.link(key, value) { pairs.append(link) }
      count += 1
      if count == limit { last = Array(key) }
      return count < limit
    }
    for (owner, member) in pairs where try isOwner(owner, transaction) {
      try transaction.putIfAbsent(
        RecordKey.link(owner, member), RecordKey.bytes(LinkOrder.unbuilt(member)), in: links)
    }
    return last
  }

  /// Notes that the table is complete.
  func finish(_ stored: inout StoredSchema, in transaction: inout WriteTransaction) throws {
    // Whoever knows the table as incomplete looks for its row: nobody has to open the store anew.
    try SchemaStore.setBuilding(false, index: name, &stored, in: &transaction)
  }

  /// Whether the object is of the relationship's own class: others of its family have tables of their own.
  private func isOwner(_ number: UInt64, _ transaction: borrowing WriteTransaction) throws -> Bool {
    let entity = relationship.source
    guard entity.type._$superentity != nil || !entity.subentities.isEmpty else { return true }
    return try entity.records.flatMap { try transaction.get(RecordKey.bytes(number), in: $0) } != nil
  }
}
