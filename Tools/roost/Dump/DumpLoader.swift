import RoostKV

/// Fills an empty store from a dump, in one transaction.
struct DumpLoader {
  /// Has read the dump's first line: a file that is no dump is refused before a store is made.
  let reader: DumpReader

  struct Result {
    var tables = 0
    var entries = 0

    func writeText(_ output: Output) throws {
      try output.write("loaded \(tables) tables with \(entries) entries\n")
    }

    func writeJSON(_ output: Output) throws {
      let json = JSONWriter(output)
      try json.beginObject()
      try json.name("tables").value(tables)
      try json.name("entries").value(entries)
      try json.end()
    }
  }

  func load(into path: String) throws -> Result {
    let store = try openForWriting(path)
    let result = try store.write { (transaction: inout WriteTransaction) in
      guard try transaction.allTableNames().isEmpty else {
        throw ToolError(
          .inputRefused, "\(path) has tables already: a dump is loaded into a new or an empty store")
      }
      return try fill(&transaction)
    }
    try store.close()
    return result
  }

  private func fill(_ transaction: inout WriteTransaction) throws -> Result {
    var result = Result()
    let progress = Progress("loading: entries")
    defer { progress.finish() }
    while let (name, count) = try reader.nextTable() {
      do throws(StoreError) {
        let table = try transaction.createTable(name)
        try transaction.bulkLoad(DumpReader.Entries(reader: reader, progress: progress), into: table)
      } catch {
        throw error.concernsInput ? reader.refusal(error.description) : error
      }
      if let failure = reader.failure { throw failure }
      result.tables += 1
      result.entries += count
    }
    return result
  }
}

extension StoreError {
  /// Whether the fault lies in what was to be stored, not in the store.
  var concernsInput: Bool {
    [.keyTooLong, .valueTooLong, .invalidName, .unsortedInput].contains(code)
  }
}
