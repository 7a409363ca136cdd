import RoostKV

/// One command of the tool.
struct Command: Sendable {
  let name: String
  /// One line for the overview.
  let summary: String
  /// The names of the arguments without a dash, in order. Those in brackets may be left out.
  let positionals: [String]
  let options: [Option]
  /// What `roost help NAME` says below the usage line.
  let details: String
  let run: @Sendable (Arguments, Output) throws -> ExitCode

  struct Option: Sendable {
    let name: String
    /// The name of the option's value; `nil`: it has none.
    let value: String?
    let meaning: String

    static let json = Option(name: "--json", value: nil, meaning: "print JSON")

    var spelled: String { value.map { "\(name) \($0)" } ?? name }
  }

  var usage: String {
    "roost \(name) \((positionals + options.map { "[\($0.spelled)]" }).joined(separator: " "))"
  }

  var help: String {
    let width = options.map(\.spelled.count).max() ?? 0
    let lines = options.map { "  \($0.spelled.padded(to: width))  \($0.meaning)\n" }.joined()
    return "\(summary)\n\nusage: \(usage)\n\n\(lines)\n\(details)\n"
  }
}

/// Opens a store for reading, beside whoever else has it open.
func openForReading(_ path: String) throws -> Store {
  do {
    return try Store.open(path, StoreOptions(access: .readOnly))
  } catch {
    throw ToolError(.cannotOpen, error.description)
  }
}
