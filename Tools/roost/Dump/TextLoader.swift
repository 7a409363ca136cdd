import Roost
import RoostKV

/// Puts lines of text into a table, a durable commit every so many lines.
struct TextLoader {
  let table: String
  let input: LineInput
  let batch: Int
  /// Where each commit is announced.
  let announce: Output?

  struct Result {
    /// Lines committed.
    var lines = 0
    /// Empty lines.
    var skipped = 0
    var commits = 0
    /// Entries the table has.
    var count = 0

    func writeText(_ output: Output) throws {
      let also = skipped > 0 ? ", \(skipped) empty ones skipped" : ""
      try output.write("loaded \(lines) lines\(also); the table has \(count) entries\n")
    }

    func writeJSON(_ output: Output) throws {
      let json = JSONWriter(output)
      try json.beginObject()
      try json.name("lines").value(lines)
      try json.name("skipped").value(skipped)
      try json.name("commits").value(commits)
      try json.name("count").value(count)
      try json.end()
    }
  }

  /// Lines are no records: in tables of models they would be damage.
  private func refuseModels(_ transaction: borrowing WriteTransaction) throws {
    guard TableNames.isReserved(table), try transaction.allTableNames().contains(where: { $0.hasPrefix("\0") }) else {
      return
    }
    throw ToolError(.inputRefused, "the store keeps \"\(table)\" for its models; load into a table of another name")
  }

  func load(into path: String) throws -> Result {
    let store = try openForWriting(path)
    var result = Result()
    var line = try readLine(&result)
    // An empty file makes the table too.
    repeat {
      var lines = 0
      result.count = try store.write { (transaction: inout WriteTransaction) in
        try refuseModels(transaction)
        let table = try transaction.createTableIfMissing(self.table)
        while let (key, value) = line, lines < batch {
          try put(key, value, in: table, &transaction, result)
          lines += 1
          line = try readLine(&result)
        }
        return try transaction.count(table)
      }
      result.lines += lines
      result.commits += 1
      announceCommit(of: lines, result)
    } while line != nil
    try store.close()
    return result
  }

  /// The next line that isn't empty, as key and value.
  private func readLine(_ result: inout Result) throws -> (key: [UInt8], value: [UInt8])? {
    while true {
      var key: [UInt8] = []
      var value: [UInt8] = []
      var hasTab = false
      let end = try input.readLine { piece in
        if hasTab {
          value.append(contentsOf: piece)
        } else if let tab = piece.firstIndex(of: UInt8(ascii: "\t")) {
          hasTab = true
          key.append(contentsOf: piece[..<tab])
          value.append(contentsOf: piece[(tab + 1)...])
        } else {
          key.append(contentsOf: piece)
        }
      }
      if end == nil { return nil }
      if hasTab || !key.isEmpty { return (key, value) }
      result.skipped += 1
    }
  }

  /// Whoever kills us, or reads along, knows from the printed lines what is durable. That nobody
  /// reads any more is no reason to stop loading.
  private func announceCommit(of lines: Int, _ result: Result) {
    guard let announce else { return }
    try? announce.write("committed \(lines) lines, \(result.lines) in all\n")
    try? announce.flush()
  }

  private func put(
    _ key: [UInt8], _ value: [UInt8], in table: Table, _ transaction: inout WriteTransaction, _ done: Result
  ) throws {
    do {
      try transaction.put(key, value, in: table)
    } catch {
      guard error.concernsInput else { throw error }
      let place = "\(input.name), line \(input.lineNumber)"
      throw ToolError(.inputRefused, "\(place): \(error)\ncommitted before: \(done.lines) lines")
    }
  }
}
