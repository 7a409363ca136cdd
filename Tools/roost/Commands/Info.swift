import Foundation
import RoostKV

extension Command {
  static let info = Command(
    name: "info",
    summary: "Says what kind of store a file is, and what state it is in.",
    positionals: ["STORE"],
    options: [.json],
    details: "JSON: an object with the same facts, sizes in bytes.",
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
    let tables = try summarizeTables(of: store).filter { !$0.isSystem }
    return [
      .text("path", "file", path),
      .size("fileSize", "file size", fileSize(path)),
      .size("pageSize", "page size", UInt64(store.pageSize)),
      .number("formatVersion", "format version", UInt64(storeFormatVersion)),
      .number("tables", "tables", UInt64(tables.count)),
      .number("entries", "entries", UInt64(tables.reduce(0) { $0 + $1.count })),
    ]
  }

  private static func fileSize(_ path: String) -> UInt64 {
    var status = stat()
    return stat(path, &status) == 0 ? UInt64(status.st_size) : 0
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
