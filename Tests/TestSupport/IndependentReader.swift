import Foundation

/// The reader in Python, which knows the format from SPEC.md alone.
package enum IndependentReader {
  private static let script: URL = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Tools/reader/roost_reader.py")

  private static let python: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "")
    .split(separator: ":").map { "\($0)/python3" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Whether there is a Python to run it.
  package static var isPresent: Bool { python != nil }

  /// What the reader prints when it checks a store; "sound" when it finds nothing. Nil without Python.
  package static func check(_ path: String) throws -> String? { try run("check", path) }

  package static func run(_ arguments: String...) throws -> String? {
    guard let python else { return nil }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = [script.path] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
