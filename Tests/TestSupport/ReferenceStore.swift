import RoostKV

/// What a store must equal: tables as plain dictionaries.
package struct ReferenceStore: Equatable, Sendable {
  package var tables: [String: [[UInt8]: [UInt8]]] = [:]

  package init() {}

  /// Everything that a state of a store holds.
  package init(_ state: borrowing ReadTransaction) throws {
    for name in try state.tableNames() {
      var rows: [[UInt8]: [UInt8]] = [:]
      try state.forEach(in: try state.table(name)) { key, value in
        rows[Array(key)] = Array(value)
        return true
      }
      tables[name] = rows
    }
  }

  /// A table's keys in order.
  package func keys(_ table: String) -> [[UInt8]] {
    (tables[table] ?? [:]).keys.sorted { $0.lexicographicallyPrecedes($1) }
  }
}

extension KeyRange {
  package func contains(_ key: [UInt8]) -> Bool {
    let aboveLower =
      switch lower {
      case .unbounded: true
      case .included(let bound): !key.lexicographicallyPrecedes(bound)
      case .excluded(let bound): bound.lexicographicallyPrecedes(key)
      }
    let belowUpper =
      switch upper {
      case .unbounded: true
      case .included(let bound): !bound.lexicographicallyPrecedes(key)
      case .excluded(let bound): key.lexicographicallyPrecedes(bound)
      }
    return aboveLower && belowUpper
  }
}
