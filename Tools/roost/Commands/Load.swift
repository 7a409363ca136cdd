import RoostKV

extension Command {
  static let load = Command(
    name: "load",
    summary: "Puts lines of text, or a whole dump, into a store, which is made if there is none.",
    positionals: ["STORE", "[TABLE]"],
    options: [
      Option(name: "--tsv", value: "FILE", meaning: "put each line of FILE into TABLE"),
      Option(name: "--batch", value: "N", meaning: "lines a commit (default 10000)"),
      Option(name: "--dump", value: "FILE", meaning: "fill the store from a dump"),
      .json,
    ],
    details: """
      FILE may be - for standard input.

      --tsv: a line is a key, a tab and a value; the value is the rest of the line, further tabs
      among it. A line without a tab is a key with an empty value; an empty line is skipped. Lines
      end with LF, at the end of the file also without; a CR is data. Bytes are taken as they are.
      A key that is there already gets the new value. TABLE is made if there is none. Every N
      lines are one durable commit, and a line is printed after each: when the load is
      interrupted, by kill -9 too, the store holds exactly the whole batches.

      --dump: the store has to be new or without tables. The dump is loaded in one transaction:
      when it is damaged, at whatever place, the line is named and nothing is loaded.

      JSON: {"lines", "skipped", "commits", "count"} for --tsv (count: entries the table has now),
      {"tables", "entries"} for --dump.
      """,
    run: load)

  private static func load(_ arguments: Arguments, _ output: Output) throws -> ExitCode {
    switch (arguments.value("--tsv"), arguments.value("--dump")) {
    case (let file?, nil):
      guard arguments.positionals.count == 2 else { throw ToolError(.usage, "--tsv needs a TABLE") }
      let batch = try arguments.count("--batch", default: 10_000)
      let loader = TextLoader(
        table: arguments.positionals[1], input: try LineInput(file), batch: batch,
        announce: arguments.json ? nil : output)
      let result = try loader.load(into: arguments.positionals[0])
      try arguments.json ? result.writeJSON(output) : result.writeText(output)
    case (nil, let file?):
      guard arguments.positionals.count == 1 else { throw ToolError(.usage, "--dump takes no TABLE") }
      guard arguments.value("--batch") == nil else { throw ToolError(.usage, "--dump takes no --batch") }
      let result = try DumpLoader(reader: DumpReader(LineInput(file))).load(into: arguments.positionals[0])
      try arguments.json ? result.writeJSON(output) : result.writeText(output)
    default:
      throw ToolError(.usage, "load needs either --tsv FILE or --dump FILE")
    }
    return .success
  }
}

/// Opens a store for writing, and makes it if there is none.
func openForWriting(_ path: String) throws -> Store {
  do {
    return try Store.open(path)
  } catch {
    throw ToolError(.cannotOpen, error.description)
  }
}
