import Foundation

/// The package's own text files, for tests about them.
struct SourceFile: Sendable {
  /// From the package's folder.
  let path: String
  let lines: [String]
  /// The lines with comments and the content of string literals blanked; only of Swift files.
  let code: [String]

  var isSwift: Bool { path.hasSuffix(".swift") }
  var name: String { String(path.split(separator: "/").last ?? "") }
}

/// An identifier in code.
struct Token {
  let text: String
  let line: Int
  /// It comes behind a dot: a member of something.
  let isMember: Bool
  /// The byte behind it; 0 at the line's end.
  let next: UInt8
}

enum SourceTree {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Everything that people write, except these tests, which name what is forbidden.
  static let files: [SourceFile] = ["Sources", "Tests", "Tools", "Benchmarks"].flatMap { load($0) }

  static func files(_ prefix: String, _ suffix: String = ".swift") -> [SourceFile] {
    files.filter { $0.path.hasPrefix(prefix + "/") && $0.path.hasSuffix(suffix) }
  }

  static func text(_ name: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)
  }

  private static func load(_ folder: String) -> [SourceFile] {
    let base = root.path + "/"
    let paths = FileManager.default.enumerator(atPath: base + folder)?.compactMap { $0 as? String } ?? []
    return paths.sorted().compactMap { path in
      guard !path.contains(".build/"), !path.contains("/Tidy/"), [".swift", ".py"].contains(where: path.hasSuffix),
        let text = try? String(contentsOfFile: base + folder + "/" + path, encoding: .utf8)
      else { return nil }
      let code = path.hasSuffix(".swift") ? blanked(Array(text.utf8)) : ""
      return SourceFile(path: folder + "/" + path, lines: lines(text), code: lines(code))
    }
  }

  private static func lines(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// The text with comments and string literals turned into blanks, lines kept. What is interpolated into a string may be
  /// blanked with it, or not.
  private static func blanked(_ bytes: [UInt8]) -> String {
    var result = bytes
    var index = 0
    func isAt(_ text: StaticString, _ place: Int) -> Bool {
      let count = text.utf8CodeUnitCount
      guard place + count <= bytes.count else { return false }
      return (0..<count).allSatisfy { bytes[place + $0] == text.utf8Start[$0] }
    }
    func end(of closing: StaticString, from start: Int, escapes: Bool, inLine: Bool) -> Int {
      var place = start
      while place < bytes.count {
        if isAt(closing, place) { return place + closing.utf8CodeUnitCount }
        if inLine, bytes[place] == UInt8(ascii: "\n") { return place }
        place += escapes && bytes[place] == UInt8(ascii: "\\") ? 2 : 1
      }
      return bytes.count
    }
    while index < bytes.count {
      let start = index
      if isAt("//", index) {
        index = end(of: "\n", from: index, escapes: false, inLine: true)
      } else if isAt("/*", index) {
        index = end(of: "*/", from: index + 2, escapes: false, inLine: false)
      } else if isAt("\"\"\"", index) {
        index = end(of: "\"\"\"", from: index + 3, escapes: true, inLine: false)
      } else if isAt("#\"", index) {
        index = end(of: "\"#", from: index + 2, escapes: false, inLine: true)
      } else if isAt("\"", index) {
        index = end(of: "\"", from: index + 1, escapes: true, inLine: true)
      } else {
        index += 1
        continue
      }
      for place in start..<index where bytes[place] != UInt8(ascii: "\n") { result[place] = UInt8(ascii: " ") }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

extension SourceFile {
  /// The identifiers and keywords of its code.
  var tokens: [Token] { Self.tokens(code) }

  /// The words of its text, comments and strings too.
  var words: [Token] { Self.tokens(lines) }

  private static func tokens(_ lines: [String]) -> [Token] {
    var tokens: [Token] = []
    func isPart(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: false
      }
    }
    for (number, line) in lines.enumerated() {
      let bytes = Array(line.utf8)
      var index = 0
      while index < bytes.count {
        guard isPart(bytes[index]) else {
          index += 1
          continue
        }
        let start = index
        while index < bytes.count, isPart(bytes[index]) { index += 1 }
        tokens.append(
          Token(
            text: String(decoding: bytes[start..<index], as: UTF8.self), line: number + 1,
            isMember: start > 0 && bytes[start - 1] == UInt8(ascii: "."), next: index < bytes.count ? bytes[index] : 0))
      }
    }
    return tokens
  }
}
