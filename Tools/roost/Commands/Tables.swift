import RoostKV

extension Command {
  static let tables = Command(
    name: "tables",
    summary: "Lists the tables and their numbers of entries.",
    positionals: ["STORE"],
    options: [.json],
    details: """
      Tables are listed in byte order of their names, which are escaped as in a dump. Names that
      begin with \\x00 are the library's own (the schemas, for one) and marked "system".
      JSON: a list of {"name", "count", "system"}.
      """,
    run: listTables)

  private static func listTables(_ arguments: Arguments, _ output: Output) throws -> ExitCode {
    let tables = try summarizeTables(of: openForReading(arguments.positionals[0]))
    if arguments.json {
      try writeJSON(tables, output)
    } else {
      try writeText(tables, output)
    }
    return .success
  }

  private static func writeJSON(_ tables: [TableSummary], _ output: Output) throws {
    let json = JSONWriter(output)
    try json.beginArray()
    for table in tables {
      try json.beginObject()
      try json.name("name").value(table.name)
      try json.name("count").value(table.count)
      try json.name("system").value(table.isSystem)
      try json.end()
    }
    try json.end()
  }

  private static func writeText(_ tables: [TableSummary], _ output: Output) throws {
    let rows = tables.map { table in
      (name: Escaping.escape(table.name), count: String(table.count), system: table.isSystem)
    }
    let names = rows.map(\.name.count).max() ?? 0
    let counts = rows.map(\.count.count).max() ?? 0
    for row in rows {
      let mark = row.system ? "  system" : ""
      try output.write("\(row.name.padded(to: names))  \(row.count.aligned(to: counts))\(mark)\n")
    }
  }
}

/// A table's name and size.
struct TableSummary {
  let name: String
  let count: Int

  /// Whether the table is the library's own.
  var isSystem: Bool { name.utf8.first == 0 }
}

/// A store's tables, in byte order of their names.
func summarizeTables(of store: Store) throws -> [TableSummary] {
  try store.read { transaction in
    var tables: [TableSummary] = []
    for name in try transaction.allTableNames() {
      tables.append(TableSummary(name: name, count: try transaction.count(transaction.table(name))))
    }
    return tables
  }
}
