/// A command line, taken apart by what its command declares.
///
/// Options may stand anywhere and be written `--name VALUE` or `--name=VALUE`; `--` ends them, so
/// that a key may begin with a dash. A lone `-` is an ordinary argument.
struct Arguments {
  private(set) var positionals: [String] = []
  private var flags: Set<String> = []
  private var values: [String: String] = [:]

  init(_ arguments: [String], for command: Command) throws {
    var rest = arguments[...]
    var optionsEnded = false
    while let argument = rest.popFirst() {
      if optionsEnded || argument == "-" || !argument.hasPrefix("-") {
        positionals.append(argument)
      } else if argument == "--" {
        optionsEnded = true
      } else {
        try take(argument, &rest, command)
      }
    }
    let required = command.positionals.prefix { !$0.hasPrefix("[") }.count
    guard (required...command.positionals.count).contains(positionals.count) else {
      let fault =
        positionals.count < required
        ? "\(command.positionals[positionals.count]) is missing" : "too many arguments"
      throw ToolError(.usage, "\(fault)\nusage: \(command.usage)")
    }
  }

  private mutating func take(_ argument: String, _ rest: inout ArraySlice<String>, _ command: Command) throws {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = command.options.first(where: { $0.name == name }) else {
      throw ToolError(.usage, "\(command.name) has no option \(name)\nusage: \(command.usage)")
    }
    guard !flags.contains(name), values[name] == nil else {
      throw ToolError(.usage, "\(name) is given twice")
    }
    guard let valueName = option.value else {
      guard parts.count == 1 else { throw ToolError(.usage, "\(name) takes no value") }
      flags.insert(name)
      return
    }
    guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
      throw ToolError(.usage, "\(name) needs \(valueName)")
    }
    values[name] = value
  }

  /// Whether an option without value is given.
  func has(_ name: String) -> Bool { flags.contains(name) }

  /// The value of an option, if that is given.
  func value(_ name: String) -> String? { values[name] }

  /// The value of an option as a number of at least 1.
  func count(_ name: String, default fallback: Int) throws -> Int {
    guard let text = values[name] else { return fallback }
    guard let number = Int(text), number >= 1 else {
      throw ToolError(.usage, "\(name) needs a whole number from 1 on, not \"\(text)\"")
    }
    return number
  }

  var json: Bool { has("--json") }
}
