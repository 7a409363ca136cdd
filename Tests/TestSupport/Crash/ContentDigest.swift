import RoostKV

/// A number that stands for everything a state of a store holds: equal contents have equal ones, others hardly ever.
///
/// It is a sum over tables and entries, so that an entry more is an addition more.
package struct ContentDigest: Hashable, Sendable {
  package private(set) var value: UInt64 = 0

  package init() {}

  package init(_ state: borrowing ReadTransaction) throws {
    for name in try state.tableNames() {
      addTable(name)
      let seed = Self.seed(name)
      var sum: UInt64 = 0
      try state.forEach(in: try state.table(name)) { key, value in
        sum = sum &+ Self.entry(key, value, seed)
        return true
      }
      value = value &+ sum
    }
  }

  package init(_ reference: ReferenceStore) {
    for (name, rows) in reference.tables {
      addTable(name)
      for (key, value) in rows { addEntry(key, value, in: name) }
    }
  }

  package mutating func addTable(_ name: String) {
    value = value &+ Self.seed(name) &* 0x9E37_79B9_7F4A_7C15
  }

  package mutating func addEntry(_ key: [UInt8], _ content: [UInt8], in table: String) {
    let entry = key.withUnsafeBytes { key in
      content.withUnsafeBytes { Self.entry(key, $0, Self.seed(table)) }
    }
    value = value &+ entry
  }

  private static func seed(_ table: String) -> UInt64 {
    Array(table.utf8).withUnsafeBytes { XXH3.hash($0, seed: 1) }
  }

  private static func entry(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
    XXH3.hash(value, seed: XXH3.hash(key, seed: seed))
  }
}
