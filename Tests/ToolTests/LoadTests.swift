import Foundation
import RoostKV
import Testing

/// `load --tsv`.
@Suite struct LoadTests {
  let folder: TemporaryFolder
  let store: String
  let roost = Program.roost

  init() throws {
    folder = try TemporaryFolder()
    store = folder.path("store")
  }

  private func load(_ text: String, _ more: String...) throws -> Program.Result {
    try roost.run(["load", store, "t", "--tsv", "-"] + more, input: Array(text.utf8), in: folder)
  }

  private func entries() throws -> [Entry] {
    let opened = try Store.open(store, StoreOptions(access: .readOnly))
    return try opened.read { transaction in
      var entries: [Entry] = []
      try transaction.forEach(in: try transaction.table("t"), .all, reversed: false) { key, value in
        entries.append(Entry(key: Array(key), value: Array(value)))
        return true
      }
      return entries
    }
  }

  private func entry(_ key: String, _ value: String) -> Entry {
    Entry(key: Array(key.utf8), value: Array(value.utf8))
  }

  @Test func linesBecomeEntries() throws {
    let result = try load("b\t2\tand more\na\t1\n\nonly\nc\r\nd\te\r\n\tno key\nlast\tline")
    #expect(result.status == 0)
    #expect(
      result.text
        == "committed 7 lines, 7 in all\nloaded 7 lines, 1 empty ones skipped; the table has 7 entries\n")
    #expect(
      try entries() == [
        entry("", "no key"), entry("a", "1"), entry("b", "2\tand more"), entry("c\r", ""), entry("d", "e\r"),
        entry("last", "line"), entry("only", ""),
      ])
  }

  @Test func batchesAreAnnounced() throws {
    let text = (1...10).map { "\($0)\tvalue\n" }.joined()
    let result = try load(text, "--batch", "4")
    #expect(
      result.text == """
        committed 4 lines, 4 in all
        committed 4 lines, 8 in all
        committed 2 lines, 10 in all
        loaded 10 lines; the table has 10 entries

        """)
    // The same again changes nothing; a number of lines that batches divide leaves no empty commit.
    let again = try load(text, "--batch=5", "--json")
    #expect(again.text == #"{"lines":10,"skipped":0,"commits":2,"count":10}"# + "\n")
  }

  @Test func anEmptyFileMakesTheTable() throws {
    let result = try load("")
    #expect(result.text == "committed 0 lines, 0 in all\nloaded 0 lines; the table has 0 entries\n")
    #expect(try entries() == [])
  }

  @Test func linesMayBeLong() throws {
    let value = String(repeating: "0123456789", count: 300_000)
    #expect(try load("k\t\(value)\nl\tx\n").status == 0)
    #expect(try entries() == [entry("k", value), entry("l", "x")])
  }

  @Test func aKeyThatIsTooLongEndsTheLoad() throws {
    let long = String(repeating: "k", count: 70_000)
    let result = try load("a\t1\nb\t2\nc\t3\n\(long)\t4\n", "--batch", "2")
    guard result.status != 0 else { return }
    #expect(result.status == 6)
    #expect(result.text == "committed 2 lines, 2 in all\n")
    #expect(result.errors.contains("line 4"))
    #expect(try entries() == [entry("a", "1"), entry("b", "2")])
  }

  @Test func aFileThatIsMissingMakesNoStore() throws {
    let result = try roost.run(["load", store, "t", "--tsv", folder.path("missing")], in: folder)
    #expect(result.status == 5)
    #expect(!FileManager.default.fileExists(atPath: store))
  }

  /// Feeds lines, kills the load in the middle of a batch, and looks at what is there.
  @Test(arguments: [0, 1, 7])
  func killLeavesWholeBatches(_ batches: Int) throws {
    let process = try roost.makeProcess(["load", store, "t", "--tsv", "-", "--batch", "10"])
    let input = Pipe()
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    for line in 0..<batches * 10 + 5 {
      try input.fileHandleForWriting.write(contentsOf: Data("\(line)\tvalue\n".utf8))
    }
    var printed = ""
    while printed.components(separatedBy: "\n").count <= batches {
      printed += String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    #expect(process.terminationReason == .uncaughtSignal)
    #expect(printed.hasSuffix(batches == 0 ? "" : "committed 10 lines, \(batches * 10) in all\n"))
    guard batches > 0 else { return }
    let keys = try entries().map { String(decoding: $0.key, as: UTF8.self) }
    #expect(keys == (0..<batches * 10).map(String.init).sorted())
    // The store goes on.
    #expect(try load("more\tlines\n").status == 0)
    #expect(try entries().count == batches * 10 + 1)
  }

  /// Kills a load wherever it happens to be, several times over the same store.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func killAnywhereLeavesWholeBatches(_ seed: UInt64) throws {
    var random = Seeded(seed)
    let lines = (0..<30_000).map { "\(String($0 + 100_000))\tvalue \($0)\n" }
    let file = try folder.write(Array(lines.joined().utf8), to: "lines")
    var least = 0
    for round in 0..<4 {
      let process = try roost.makeProcess(["load", store, "t", "--tsv", file, "--batch", "70"])
      let printed = folder.path("printed")
      try folder.write([], to: "printed")
      process.standardOutput = FileHandle(forWritingAtPath: printed)
      try process.run()
      usleep(UInt32.random(in: 5_000...150_000, using: &random))
      // The last round gets as far as a commit, however slow the machine.
      while round == 3, process.isRunning, try folder.read("printed").isEmpty { usleep(1000) }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      let announced = String(decoding: try folder.read("printed"), as: UTF8.self).components(separatedBy: "\n")
        .dropLast().filter { $0.hasPrefix("committed ") }.count
      least = max(least, min(announced * 70, lines.count))
      guard FileManager.default.fileExists(atPath: store) else { continue }
      let check = try roost.run(["check", store], in: folder)
      #expect(check.status == 0, "seed \(seed), round \(round): \(check.text)")
      guard try Store.open(store, StoreOptions(access: .readOnly)).read({ try $0.tableIfPresent("t") }) != nil else {
        #expect(least == 0)
        continue
      }
      let keys = try entries().map { String(decoding: $0.key, as: UTF8.self) }
      #expect(keys.count >= least, "seed \(seed), round \(round)")
      #expect(keys.count % 70 == 0 || keys.count == lines.count, "seed \(seed), round \(round)")
      #expect(keys.first == "100000" && keys.last == String(99_999 + keys.count), "seed \(seed), round \(round)")
    }
    #expect(least > 0)
  }
}
