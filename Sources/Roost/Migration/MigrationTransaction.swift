import RoostKV

/// The one transaction of a migration, which the contexts of its stages read and write through.
///
/// Belongs to the thread that migrates. Once it has ended, contexts that were kept can't use it.
final class MigrationTransaction: StoreReading {
  private var transaction: WriteTransaction?

  init(_ engine: Store) throws {
    transaction = try engine.beginWriteKeepingFile()
  }

  /// Changes the store as part of the migration.
  func write<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
    // Taken out meanwhile, so that nothing else gets hold of it.
    guard var open = transaction.take() else { throw Self.finished }
    do {
      let result = try body(&open)
      transaction = consume open
      return result
    } catch {
      transaction = consume open
      throw error
    }
  }

  func commit() throws {
    guard let open = transaction.take() else { throw Self.finished }
    try open.commit(.durable)
  }

  /// Leaves the store as it was.
  func rollback() {
    transaction.take()?.rollback()
  }

  private static var finished: RoostError {
    RoostError(
      .invalidPlan, "A migration stage's context was used after the stage had ended",
      remedy: "use it inside the stage's closure only")
  }
}

extension MigrationTransaction {
  func table(_ name: String) throws -> Table? { try write { try $0.tableIfPresent(name) } }
  func count(_ table: Table) throws -> Int { try write { try $0.count(table) } }
  func count(_ table: Table, in range: KeyRange) throws -> Int {
    try write { try $0.count(table, in: range) }
  }
  func get(_ key: [UInt8], in table: Table) throws -> [UInt8]? { try write { try $0.get(key, in: table) } }

  /// Gives a copy of the value: `body` may read and write through this transaction again.
  func withValue<R>(
    of key: [UInt8], in table: Table, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    guard let value = try get(key, in: table) else { return nil }
    return try value.withUnsafeBytes(body)
  }

  /// Gives copies, a batch at a time, for the same reason.
  func forEach(
    in table: Table, _ range: KeyRange, reversed: Bool,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var range = range
    while true {
      var batch: [Entry] = []
      try write { transaction in
        try transaction.forEach(in: table, range, reversed: reversed) { key, value in
          batch.append(Entry(key: Array(key), value: Array(value)))
          return batch.count < 256
        }
      }
      for entry in batch {
        let goesOn = try entry.key.withUnsafeBytes { key in
          try entry.value.withUnsafeBytes { try body(key, $0) }
        }
        if !goesOn { return }
      }
      guard batch.count == 256, let last = batch.last else { return }
      if reversed { range.upper = .excluded(last.key) } else { range.lower = .excluded(last.key) }
    }
  }
}
