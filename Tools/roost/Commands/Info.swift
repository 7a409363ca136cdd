import Roost
import RoostKV

extension Command {
  static let info = Command(
    name: "info",
    summary: "Says what kind of store a file is, and what state it is in.",
    positionals: ["STORE"],
    options: [.json],
    details: """
      A checkpoint brings the trees in the file up to date and raises the generation; commits
      since then are in the journal. The library's own tables aren't counted.
      JSON: {"path", "fileSize", "pageSize", "formatVersion", "storeID", "generation", "commit",
      "journalBytes", "journalSpace", "journalSegments", "tables", "entries"} and, where there
      are models, "schemaVersion" and "schemaState"; sizes are in bytes.
      """,
    run: describe)

  private static func describe(_ arguments: Arguments, _ output: Output) throws -> ExitCode {
    let facts = try collect(openForReading(arguments.positionals[0]), arguments.positionals[0])
    if arguments.json {
      let json = JSONWriter(output)
      try json.beginObject()
      for fact in facts { try fact.write(json.name(fact.name)) }
      try json.end()
    } else {
      try writeAligned(facts.map { (label: $0.label, value: $0.text) }, to: output)
    }
    return .success
  }

  /// All that `info` tells, in the order in which it is printed.
  private static func collect(_ store: Store, _ path: String) throws -> [Fact] {
    let statistics = try store.stats()
    let tables = try summarizeTables(of: store).filter { !$0.isSystem }
    var facts: [Fact] = [
      .text("path", "file", path),
      .size("fileSize", "file size", statistics.fileBytes),
      .size("pageSize", "page size", UInt64(statistics.pageSize)),
      .number("formatVersion", "format version", UInt64(statistics.formatVersion)),
      .text("storeID", "store id", statistics.storeID),
      .number("generation", "generation", UInt64(statistics.generation)),
      .number("commit", "last commit", statistics.commitNumber),
      .size("journalBytes", "journal in use", statistics.journalBytes),
      .size("journalSpace", "journal space", statistics.journalSpace),
      .number("journalSegments", "journal segments", UInt64(statistics.journalSegments)),
      .number("tables", "tables", UInt64(tables.count)),
      .number("entries", "entries", UInt64(tables.reduce(0) { $0 + $1.count })),
    ]
    do {
      if let models = try store.read({ try ModelStore($0) }) {
        facts.append(.text("schemaVersion", "schema version", "\(models.schema.current.label)"))
        facts.append(.text("schemaState", "schema state", models.state))
      }
    } catch let error as RoostError {
      // All else is worth telling nevertheless.
      facts.append(.text("schemaState", "schema state", "damaged: \(error.message)"))
    }
    return facts
  }
}

/// One thing `info` tells: its JSON name, its label for people, its value.
private enum Fact {
  case text(_ name: String, _ label: String, String)
  case number(_ name: String, _ label: String, UInt64)
  case size(_ name: String, _ label: String, UInt64)

  var name: String {
    switch self {
    case .text(let name, _, _), .number(let name, _, _), .size(let name, _, _): name
    }
  }

  var label: String {
    switch self {
    case .text(_, let label, _), .number(_, let label, _), .size(_, let label, _): label
    }
  }

  var text: String {
    switch self {
    case .text(_, _, let text): text
    case .number(_, _, let number): String(number)
    case .size(_, _, let bytes): describeSize(bytes)
    }
  }

  func write(_ json: JSONWriter) throws {
    switch self {
    case .text(_, _, let text): try json.value(text)
    case .number(_, _, let number), .size(_, _, let number): try json.value(number)
    }
  }
}
