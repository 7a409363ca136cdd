import RoostKV

extension Command {
  static let dump = Command(
    name: "dump",
    summary: "Prints the content of a store or of one table as text.",
    positionals: ["STORE", "[TABLE]"],
    options: [.json],
    details: """
      The same content gives the same bytes, whatever the file has been through; `roost load
      STORE --dump FILE` makes a store of them. The form: a line "roost-dump 1"; per table, in
      byte order, a line "table NAME COUNT" and a line KEY<tab>VALUE for each entry; at last
      "end TABLES ENTRIES CRC32". Printable ASCII stands for itself, all else and the backslash
      as \\xHH. The library's own tables are among them. SPEC.md has the details.
      JSON: {"tables": [{"name", "count", "entries": [[key, value], ...]}, ...]}; a key or value
      is a string when it is UTF-8, else {"hex": "..."}. It can't be loaded.
      """,
    run: dumpStore)

  private static func dumpStore(_ arguments: Arguments, _ output: Output) throws -> ExitCode {
    let progress = Progress("dumping: entries")
    try openForReading(arguments.positionals[0]).read { store in
      var names = try store.allTableNames()
      if arguments.positionals.count > 1 {
        names = [try store.table(arguments.positionals[1]).name]
      }
      if arguments.json {
        try writeJSON(names, of: store, output, progress)
      } else {
        try DumpWriter(output: output, progress: progress).write(names, of: store)
      }
    }
    progress.finish()
    return .success
  }

  private static func writeJSON(
    _ names: [String], of store: borrowing ReadTransaction, _ output: Output, _ progress: Progress
  ) throws {
    let json = JSONWriter(output)
    var done = 0
    try json.beginObject()
    try json.name("tables").beginArray()
    for name in names {
      let table = try store.table(name)
      try json.beginObject()
      try json.name("name").value(name)
      try json.name("count").value(try store.count(table))
      try json.name("entries").beginArray(inLines: true)
      try store.forEach(in: table, .all, reversed: false) { key, value in
        try json.beginArray()
        try json.value(key)
        try json.value(value)
        try json.end()
        done += 1
        progress.update(done)
        return true
      }
      try json.end()
      try json.end()
    }
    try json.end()
    try json.end()
  }
}
