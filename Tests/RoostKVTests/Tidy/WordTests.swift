import Testing

/// Words that mean unfinished work, or that a program ends where it needn't.
@Suite struct WordTests {
  @Test("Nothing is left to be done later")
  func unfinished() {
    for file in SourceTree.files {
      for word in file.words {
        #expect(!["TODO", "FIXME", "XXX", "HACK"].contains(word.text), "\(word.text) in \(file.path):\(word.line)")
      }
    }
  }

  /// Where a program may be ended, and why.
  private static let traps = [
    "Sources/Roost/Models/NeutralValue.swift": "a getter can't throw, and there is no value of the type",
    "Tests/Fixtures/AsyncMain/AsyncMain.swift": "a test's program, called wrongly",
    "Tests/Fixtures/SyncMain/main.swift": "a test's program, called wrongly",
    "Tests/Fixtures/Tutorial5/Tutorial.swift": "the tutorial's own code",
    "Tests/Fixtures/Tutorial6/Tutorial.swift": "the tutorial's own code",
    "Tests/TestSupport/ChildProcess.swift": "a test can't go on without a pipe",
    "Tests/TestSupport/Schedule/Scheduler.swift": "all threads of a simulation wait for one another",
    "Tests/TestSupport/Disk/SimulatedMedium.swift": "a test can't go on without its file",
    "Tests/TestSupport/TemporaryDirectory.swift": "a test can't go on without its folder",
  ]

  @Test("Nothing ends the program but what is listed, and what is listed does")
  func traps() {
    var found: Set<String> = []
    let isTrap: (Token) -> Bool = { token in
      ["fatalError", "preconditionFailure", "assertionFailure"].contains(token.text)
        || ["try", "as"].contains(token.text) && token.next == UInt8(ascii: "!")
    }
    for file in SourceTree.files where file.isSwift {
      for token in file.tokens where isTrap(token) {
        found.insert(file.path)
        #expect(Self.traps[file.path] != nil, "\(token.text) in \(file.path):\(token.line)")
      }
    }
    #expect(found == Set(Self.traps.keys))
  }

  @Test("No file names a place on somebody's machine")
  func places() {
    let places = ["/work/", "/home/", "/root/", "/Users/"]
    for file in SourceTree.files {
      for (number, line) in file.lines.enumerated() where line.contains("/") {
        for place in places { #expect(!line.contains(place), "\(file.path):\(number + 1)") }
      }
    }
  }

  @Test("Files are short, end with one newline and have no blanks at the ends of lines")
  func shape() {
    #expect(SourceTree.files.count > 200)
    for file in SourceTree.files where !file.path.hasPrefix("Tests/Fixtures/Tutorial") {
      // The last line is what follows the last newline.
      #expect(file.lines.count <= 501, "\(file.path) has \(file.lines.count - 1) lines")
      #expect(file.lines.last == "" && file.lines.dropLast().last != "", "\(file.path) ends")
      for (number, line) in file.lines.enumerated() {
        #expect(line.last != " " && line.last != "\t", "\(file.path):\(number + 1)")
      }
    }
  }
}
