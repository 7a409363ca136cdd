import Roost
import RoostKV

extension Command {
  static let records = Command(
    name: "records",
    summary: "Prints the records of one model, readable.",
    positionals: ["STORE", "ENTITY"],
    options: [.json],
    details: """
      Each record is printed in the shape that it was written in: one of an older version has the
      properties of that version, and its shape's number behind it. "Waits" there means that only
      the program can make it a record of the current version.
      A relationship is the identifiers of the records it leads to.
      JSON: a list of {"id", "shape", "current", "waits", "values"}. Bytes are {"hex": "..."}, dates are
      ISO 8601, decimals are strings; a value that can't be read is {"damaged": "..."}.
      """,
    run: showRecords)

  private static func showRecords(_ arguments: Arguments, _ output: Output) throws -> ExitCode {
    let name = arguments.positionals[1]
    try openForReading(arguments.positionals[0]).read { transaction in
      guard let models = try ModelStore(transaction), let entity = models.schema.entity(name) else {
        throw ToolError(.notFound, "the store has no model \"\(name)\"; `roost schema` lists them")
      }
      let lister = RecordLister(models, entity)
      try arguments.json ? lister.writeJSON(transaction, output) : lister.writeText(transaction, output)
    }
    return .success
  }
}

/// Prints the records of one entity.
private struct RecordLister {
  private let entity: StoredEntityShape
  private let readers: [UInt32: RecordDump]
  private let shapes: [StoredEntityShape]
  private let toMany: [PropertyShape]

  init(_ models: ModelStore, _ entity: StoredEntityShape) {
    self.entity = entity
    let shapes = models.schema.shapes(of: entity.shape.name)
    self.shapes = shapes
    readers = Dictionary(shapes.map { ($0.id, RecordDump($0)) }, uniquingKeysWith: { first, _ in first })
    toMany = entity.shape.properties.filter { $0.kind == .toMany }
  }

  func writeText(_ transaction: borrowing ReadTransaction, _ output: Output) throws {
    try forEach(transaction) { record in
      try output.write("\(record.id)  ")
      for (index, (name, value)) in record.values.enumerated() {
        try output.write("\(index == 0 ? "" : ", ")\(name): \(JSONWriter.text(of: value))")
      }
      let remark = waits(record.shape) ? "shape \(record.shape), waits for a transform" : "shape \(record.shape)"
      try output.write(record.shape == entity.id ? "\n" : "  (\(remark))\n")
    }
  }

  func writeJSON(_ transaction: borrowing ReadTransaction, _ output: Output) throws {
    let json = JSONWriter(output)
    try json.beginArray(inLines: true)
    try forEach(transaction) { record in
      try json.beginObject()
      try json.name("id").value(record.id)
      try json.name("shape").value(record.shape)
      try json.name("current").value(record.shape == entity.id)
      try json.name("waits").value(waits(record.shape))
      try json.name("values").beginObject()
      for (name, value) in record.values { try json.name(name).value(value) }
      try json.end()
      try json.end()
    }
    try json.end()
  }

  private typealias Record = (id: UInt64, shape: UInt32, values: [(name: String, value: FieldValue)])

  private func forEach(_ transaction: borrowing ReadTransaction, _ body: (Record) throws -> Void) throws {
    guard let table = try transaction.tableIfPresent(TableNames.records(entity.shape.name)) else { return }
    let cursor = try transaction.cursor(table)
    while try cursor.next() {
      guard let key = try cursor.key(), let record = try cursor.value() else { continue }
      let id = key.reduce(0) { $0 << 8 | UInt64($1) }
      let (shape, fields) = record.withUnsafeBytes { read($0) }
      var values = fields ?? [("record", .damaged(record))]
      let stored = shapes.first { $0.id == shape }?.shape.properties ?? []
      for property in toMany {
        // A relationship that was to one object is among the record's fields.
        if stored.contains(where: { $0.lineage == property.lineage && $0.kind == .toOne }) { continue }
        values.append((property.name, .identifiers(try members(of: key, property, transaction))))
      }
      try body((id, shape, values))
    }
  }

  /// Whether only the program's code makes records of this shape current ones.
  private func waits(_ shape: UInt32) -> Bool {
    shapes.contains { $0.id > shape && $0.shape.isTransformed }
  }

  private func read(_ record: UnsafeRawBufferPointer) -> (UInt32, [(name: String, value: FieldValue)]?) {
    guard let header = RecordHeader(record) else { return (0, nil) }
    return (header.shape, readers[header.shape]?.values(record))
  }

  /// A relationship's members in the order of its list. The keys of its table are the owner's identifier and the member's,
  /// the values order keys. [R-3]
  private func members(
    of owner: [UInt8], _ property: PropertyShape, _ transaction: borrowing ReadTransaction
  ) throws -> [UInt64] {
    let name = TableNames.links(entity.shape.name, property.name)
    guard let table = try transaction.tableIfPresent(name) else { return [] }
    func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    var members: [(order: UInt64, identifier: UInt64)] = []
    let cursor = try transaction.cursor(table)
    var found = try cursor.seek(owner)
    while found, let key = try cursor.key(), key.starts(with: owner) {
      members.append((number(try cursor.value() ?? []), number(key.dropFirst(owner.count))))
      found = try cursor.next()
    }
    return members.sorted { $0 < $1 }.map(\.identifier)
  }
}
