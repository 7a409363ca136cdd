import Foundation

/// A source text, compiled afresh with the macro plugin and the modules of this build.
///
/// The build system doesn't compile a plugin's users again when only the plugin has changed, and no
/// test can hold code that must not compile. So these tests run the compiler themselves.
struct Fixture {
  /// A language mode or setting to compile under.
  enum Mode: String, CaseIterable {
    case swift5, swift6, mainActor

    var arguments: [String] {
      switch self {
      case .swift5: ["-swift-version", "5"]
      case .swift6: ["-swift-version", "6"]
      case .mainActor: ["-swift-version", "6", "-default-isolation", "MainActor"]
      }
    }
  }

  struct Diagnostic: Hashable, Comparable, CustomStringConvertible {
    let line: Int
    let message: String

    var description: String { "\(line): \(message)" }
    static func < (lhs: Diagnostic, rhs: Diagnostic) -> Bool {
      (lhs.line, lhs.message) < (rhs.line, rhs.message)
    }
  }

  let source: String

  /// What the source's `// error: …` comments say about their lines.
  var expectedErrors: [Diagnostic] { expected("// error: ") }

  /// What its `// fix: …` comments say.
  var expectedFixes: [Diagnostic] { expected("// fix: ") }

  private func expected(_ marker: String) -> [Diagnostic] {
    source.split(separator: "\n", omittingEmptySubsequences: false).enumerated().flatMap { index, line in
      line.components(separatedBy: marker).dropFirst().map { text in
        let end = text.range(of: " // ")?.lowerBound ?? text.endIndex
        return Diagnostic(line: index + 1, message: text[..<end].trimmingCharacters(in: .whitespaces))
      }
    }.sorted()
  }

  /// The folder with this build's modules and plugin, or nil if this build system keeps them elsewhere.
  static let buildFolder: URL? = {
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let candidates = [
      Bundle.main.executableURL?.deletingLastPathComponent(), package.appending(path: ".build/debug"),
    ]
    return candidates.compactMap { $0 }.first { folder in
      ["RoostMacros-tool", "Modules/Roost.swiftmodule"].allSatisfy {
        FileManager.default.fileExists(atPath: folder.appending(path: $0).path)
      }
    }
  }()

  struct Output {
    var errors: [Diagnostic] = []
    var warnings: [Diagnostic] = []
    /// The titles of the fix-its, as the compiler notes them.
    var notes: [Diagnostic] = []
    /// Everything the compiler said.
    var text = ""
  }

  /// Type-checks the source. Diagnostics inside of macro expansions are in `Output.text` only.
  func compile(_ mode: Mode = .swift6) throws -> Output {
    let folder = FileManager.default.temporaryDirectory.appending(path: "roost-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "fixture.swift")
    try source.write(to: file, atomically: true, encoding: .utf8)

    let build = Self.buildFolder?.path ?? ""
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      ["swiftc", "-typecheck", "-parse-as-library", "-diagnostic-style", "llvm"] + mode.arguments + [
        "-I", build + "/Modules",
        "-load-plugin-executable", build + "/RoostMacros-tool#RoostMacros",
        file.path,
      ]
    let pipe = Pipe()
    process.standardError = pipe
    process.standardOutput = pipe
    try process.run()
    let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    return Self.parse(text)
  }

  private static func parse(_ text: String) -> Output {
    var output = Output(text: text)
    let pattern = #/^.*fixture\.swift:([0-9]+):[0-9]+: (error|warning|note): (.*?)( \(from macro .*\))?$/#
    for line in text.split(separator: "\n") {
      guard let match = try? pattern.wholeMatch(in: line), let number = Int(match.1) else { continue }
      let diagnostic = Diagnostic(line: number, message: String(match.3))
      switch match.2 {
      case "error": output.errors.append(diagnostic)
      case "warning": output.warnings.append(diagnostic)
      default: output.notes.append(diagnostic)
      }
    }
    output.errors.sort()
    output.notes.sort()
    return output
  }
}
