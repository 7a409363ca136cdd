import Foundation
import RoostKV

extension Command {
  static let get = Command(
    name: "get",
    summary: "Prints the value of one key.",
    positionals: ["STORE", "TABLE", "KEY"],
    options: [
      Option(name: "--hex", value: nil, meaning: "KEY is hexadecimal, and the value is printed so"),
      Option(name: "--hex-key", value: nil, meaning: "KEY is hexadecimal"),
      Option(name: "--hex-value", value: nil, meaning: "print the value in hexadecimal"),
      .json,
    ],
    details: """
      KEY stands for its UTF-8 bytes; write -- before one that begins with a dash. The value is
      printed as it is, byte for byte; only on a terminal is a line end added.
      JSON: {"table", "key", "size", "value"}; key and value are a string when they are UTF-8,
      else {"hex": "..."}.
      """,
    run: getValue)

  private static func getValue(_ arguments: Arguments, _ output: Output) throws -> ExitCode {
    let tableName = arguments.positionals[1]
    let key = try parseKey(arguments)
    let found: Void? = try openForReading(arguments.positionals[0]).read { store in
      try store.withValue(of: key, in: try store.table(tableName)) { value in
        try write(value, of: key, tableName, arguments, output)
      }
    }
    guard found != nil else {
      throw ToolError(.notFound, "table \(Escaping.escape(tableName)) has no such key")
    }
    return .success
  }

  private static func parseKey(_ arguments: Arguments) throws -> [UInt8] {
    let text = arguments.positionals[2]
    guard arguments.has("--hex") || arguments.has("--hex-key") else { return Array(text.utf8) }
    guard let key = bytes(fromHex: text) else {
      throw ToolError(.usage, "KEY has to be hexadecimal digits, two a byte, not \"\(text)\"")
    }
    return key
  }

  private static func write(
    _ value: UnsafeRawBufferPointer, of key: [UInt8], _ table: String, _ arguments: Arguments,
    _ output: Output
  ) throws {
    let inHex = arguments.has("--hex") || arguments.has("--hex-value")
    if arguments.json {
      let json = JSONWriter(output)
      try json.beginObject()
      try json.name("table").value(table)
      try key.withBytes { try json.name("key").value($0) }
      try json.name("size").value(value.count)
      try json.name("value").value(value, inHex: inHex)
      try json.end()
    } else if inHex {
      try output.writeHex(value)
      try output.write("\n")
    } else {
      try output.write(value)
      if isatty(STDOUT_FILENO) == 1 { try output.write("\n") }
    }
  }
}
