import RoostKV

/// The names of a store's tables. They are part of the store's format.
package enum TableNames {
  /// Numbers the store counts up: see `Counters`.
  package static let counters = "counters"

  /// What each save did, by commit number: see `HistoryRow`.
  package static let history = "history"

  /// The records of an entity, by identifier.
  package static func records(_ entity: String) -> String { "records/\(entity)" }

  /// The members of a to-many relationship: owner's and member's identifier; the value is the order key.
  package static func links(_ entity: String, _ property: String) -> String { "links/\(entity)/\(property)" }

  /// An index's entries: in a unique one values, each with its object's identifier; in another, values
  /// followed by their object's identifier.
  package static func index(_ index: IndexShape, of entity: String) -> String {
    "\(index.isUnique ? "unique" : "index")/\(entity)/\(index.names.joined(separator: ","))"
  }

  /// What the tables that no model needs any more are named; the sweep drops them.
  static let droppedPrefix = "dropped/"

  static func dropped(_ place: Int, generation: UInt64) -> String { "\(droppedPrefix)\(generation)/\(place)" }

  /// Every table that an entity needs.
  package static func all(of shape: EntityShape) -> [String] {
    [records(shape.name)]
      + shape.properties.filter { $0.kind == .toMany }.map { links(shape.name, $0.name) }
      + shape.allIndexes.map { index($0, of: shape.name) }
  }
}

/// Keys made of identifiers: eight bytes each, big-endian, so that byte order is numerical order.
enum RecordKey {
  static func bytes(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  static func link(_ owner: UInt64, _ member: UInt64) -> [UInt8] {
    bytes(owner) + bytes(member)
  }

  static func number(_ bytes: some Collection<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }

  static func number(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) -> UInt64? {
    guard offset >= 0, bytes.count >= offset + 8 else { return nil }
    return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
