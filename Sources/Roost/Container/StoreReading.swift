import RoostKV

/// One state of the store to read from: a snapshot of the newest commit, or a migration's transaction.
protocol StoreReading: AnyObject {
  func table(_ name: String) throws -> Table?
  func count(_ table: Table) throws -> Int
  func count(_ table: Table, in range: KeyRange) throws -> Int
  func get(_ key: [UInt8], in table: Table) throws -> [UInt8]?
  func withValue<R>(of key: [UInt8], in table: Table, _ body: (UnsafeRawBufferPointer) throws -> R) throws
    -> R?
  func forEach(
    in table: Table, _ range: KeyRange, reversed: Bool,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool) throws
}

/// A snapshot, for as long as this object lives.
final class SnapshotReading: StoreReading {
  private let transaction: ReadTransaction

  init(_ store: Store) throws {
    transaction = try store.snapshot()
  }

  func table(_ name: String) throws -> Table? { try transaction.tableIfPresent(name) }
  func count(_ table: Table) throws -> Int { try transaction.count(table) }
  func count(_ table: Table, in range: KeyRange) throws -> Int { try transaction.count(table, in: range) }
  func get(_ key: [UInt8], in table: Table) throws -> [UInt8]? { try transaction.get(key, in: table) }

  func withValue<R>(
    of key: [UInt8], in table: Table, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    try transaction.withValue(of: key, in: table, body)
  }

  func forEach(
    in table: Table, _ range: KeyRange, reversed: Bool,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    try transaction.forEach(in: table, range, reversed: reversed, body)
  }
}

extension StoreReading {
  /// The record of an object, in place; nil if the entity has none of that number.
  func withRecord<R>(
    _ number: UInt64, _ entity: EntityBinding, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    guard let table = entity.records else { return nil }
    return try withValue(of: RecordKey.bytes(number), in: table, body)
  }

  /// The stored members of a to-many relationship, in their order.
  func members(of owner: UInt64, _ relationship: Relationship) throws -> [UInt64] {
    var members: [(order: UInt64, number: UInt64)] = []
    if let table = relationship.links {
      try forEach(in: table, .prefix(RecordKey.bytes(owner)), reversed: false) { key, value in
        if let number = RecordKey.number(key, at: 8), let order = RecordKey.number(value) {
          members.append((order, number))
        }
        return true
      }
    }
    if relationship.unbuilt != nil || relationship.isInOlderRecords {
      var known = Set(members.map(\.number))
      for number in try relationship.unbuiltMembers(of: owner, self) where known.insert(number).inserted {
        members.append((LinkOrder.unbuilt(number), number))
      }
    }
    members.sort { $0.order < $1.order }
    return members.map(\.number)
  }
}
