import RoostKV

/// An open store bound to a program's models. Contexts share it; it stays open as long as one of them, or
/// one of their objects, needs it.
final class ModelStore: @unchecked Sendable {
  // Immutable.

  let file: OpenFile
  let configuration: ModelConfiguration
  let schema: Schema
  let migrationPlan: (any SchemaMigrationPlan.Type)?
  let bindings: ModelBindings
  /// The table of `Counters`.
  private let countersTable: Table?
  private let schemaTable: Table?

  init(
    _ file: OpenFile, _ configuration: ModelConfiguration, schema: Schema,
    migrationPlan: (any SchemaMigrationPlan.Type)?, bindings: ModelBindings, countersTable: Table?,
    schemaTable: Table? = nil
  ) {
    self.file = file
    self.configuration = configuration
    self.schema = schema
    self.migrationPlan = migrationPlan
    self.bindings = bindings
    self.countersTable = countersTable
    self.schemaTable = schemaTable
  }

  var engine: Store { file.engine }
  var numbers: NumberSource { file.numbers }
  /// Names the store in identifiers.
  var identifier: String { file.identifier }

  var allowsSave: Bool { configuration.allowsSave && !engine.isReadOnly }

  /// The counters' table. Throws when the store is open for reading only and has none.
  var counters: Table {
    get throws {
      guard let countersTable else { throw RoostError.readOnly(configuration) }
      return countersTable
    }
  }

  /// The binding of a model, or an error that says which models there are.
  func entity(_ type: any PersistentModel.Type) throws -> EntityBinding {
    guard let entity = bindings.entity(type) else {
      throw RoostError.modelNotInSchema(type, known: bindings.entities.map(\.name))
    }
    return entity
  }

  /// Throws when another process has changed the store's schema: what this one would write might not fit it.
  func checkGeneration(_ transaction: borrowing WriteTransaction) throws {
    guard try SchemaStore.generation(transaction) == file.generation else { throw schemaChanged }
  }

  /// Throws when what is to be read is of another schema: its records might be of shapes that this container
  /// doesn't know.
  func checkGeneration(_ reading: SnapshotReading) throws {
    guard let schemaTable else { return }
    let isSame = try reading.withValue(of: SchemaRows.current, in: schemaTable) { row in
      try file.isKnown(row) { try SchemaStore.generation(ofCurrent: $0) }
    }
    if isSame == false { throw schemaChanged }
  }

  private var schemaChanged: RoostError {
    RoostError(
      .schemaChanged, "Another process has changed the schema of the store \(configuration.name)",
      remedy: "open the container anew; update the program if that fails")
  }
}

extension RecordHeader {
  /// Changes the writing commit in a record's bytes.
  static func setCommit(_ commit: UInt64, of record: inout [UInt8]) {
    guard record.count >= RecordLayout.headerSize else { return }
    record.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: commit.littleEndian, toByteOffset: 4, as: UInt64.self)
    }
  }
}
