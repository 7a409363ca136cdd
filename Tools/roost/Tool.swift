import RoostKV

/// The tool itself: finds the command, runs it, turns errors into an exit code.
enum Tool {
  static let version = "0.1.0"

  static let commands: [Command] = [
    .info, .check, .salvage, .tables, .schema, .records, .get, .dump, .load,
  ]

  /// Runs the tool with the process's arguments, without the program's name.
  static func run(_ arguments: [String]) -> ExitCode {
    let output = Output()
    var code = ExitCode.success
    do {
      code = try dispatch(arguments, output)
      try output.flush()
    } catch is OutputClosed {
      // Whoever read our output has seen enough; that is no failure.
    } catch {
      let failure = ToolError(error)
      // What was printed before the failure is still true: a load's committed batches, above all.
      try? output.flush()
      reportError(failure.message)
      code = failure.code
    }
    return code
  }

  private static func dispatch(_ arguments: [String], _ output: Output) throws -> ExitCode {
    guard let first = arguments.first else {
      reportError("no command\n\n" + overview)
      return .usage
    }
    let rest = Array(arguments.dropFirst())
    switch first {
    case "--version":
      try output.write("roost \(version), file format \(storeFormatVersion)\n")
      return .success
    case "help", "--help", "-h":
      return try help(rest, output)
    default:
      let command = try find(first)
      if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
        try output.write(command.help)
        return .success
      }
      return try command.run(try Arguments(rest, for: command), output)
    }
  }

  private static func help(_ arguments: [String], _ output: Output) throws -> ExitCode {
    guard arguments.count < 2 else {
      throw ToolError(.usage, "help takes one command at most")
    }
    try output.write(arguments.isEmpty ? overview : find(arguments[0]).help)
    return .success
  }

  private static func find(_ name: String) throws -> Command {
    guard let command = commands.first(where: { $0.name == name }) else {
      throw ToolError(.usage, "there is no command \"\(name)\"; `roost help` lists them")
    }
    return command
  }

  private static var overview: String {
    let width = commands.map(\.name.count).max() ?? 0
    var text = """
      Shows and checks Roost stores, without the program that wrote them.

      usage: roost COMMAND STORE [ARGUMENTS]

      commands:

      """
    for command in commands {
      text += "  \(command.name.padded(to: width))  \(command.summary)\n"
    }
    text += """

      `roost help COMMAND` says more of one; `roost --version` prints the version.
      Each command takes --json. All but load open the store read-only: they (salvage apart) work beside a
      program that has it open, and change nothing.

      exit status:

      """
    for code in ExitCode.allCases {
      text += "  \(code.rawValue)  \(code.meaning)\n"
    }
    return text
  }
}
