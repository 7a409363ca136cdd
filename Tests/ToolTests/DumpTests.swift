import Foundation
import RoostKV
import Testing

/// `dump` and `load --dump`.
@Suite struct DumpTests {
  let folder: TemporaryFolder
  let roost = Program.roost

  init() throws {
    folder = try TemporaryFolder()
  }

  /// The example of SPEC.md, section 18.
  static let example = "roost-dump 1\ntable words 2\na\t\n\\xc3\\xa9\t1\\x092\nend 1 2 2425ca91\n"

  private func dump(_ store: String, _ more: String...) throws -> [UInt8] {
    let result = try roost.run(["dump", store] + more, in: folder)
    #expect(result.status == 0)
    #expect(result.errors == "")
    return result.output
  }

  /// SPEC.md [U-1] [U-2] [U-4] [U-6] [U-7]
  @Test func theExampleOfTheSpecification() throws {
    let store = try folder.makeStore(
      "store", ["words": [(Array("é".utf8), Array("1\t2".utf8)), (Array("a".utf8), [])]])
    #expect(try String(decoding: dump(store), as: UTF8.self) == Self.example)
    let loaded = folder.path("loaded")
    let result = try roost.run(["load", loaded, "--dump", "-"], input: Array(Self.example.utf8), in: folder)
    #expect(result.status == 0)
    #expect(result.text == "loaded 1 tables with 2 entries\n")
    #expect(try String(decoding: dump(loaded), as: UTF8.self) == Self.example)
  }

  /// SPEC.md [U-5]
  @Test func everyByteSurvives() throws {
    let all = (0...255).map { UInt8($0) }
    let store = try folder.makeStore(
      "store", ["a b\\\t\u{1}é": all.map { (key: [$0], value: all) }, "": [([], [])]].filter { $0.key != "" })
    let text = try dump(store)
    #expect(text.allSatisfy { (0x20...0x7E).contains($0) || $0 == 9 || $0 == 10 })
    let loaded = folder.path("loaded")
    #expect(
      try roost.run(["load", loaded, "--dump", folder.write(text, to: "dump")], in: folder).status == 0)
    #expect(try dump(loaded) == text)
    let reopened = try Store.open(loaded, StoreOptions(access: .readOnly))
    let value = try reopened.read { try $0.get([10], in: $0.table("a b\\\t\u{1}é")) }
    #expect(value == all)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func contentAloneDecides(_ seed: UInt64) throws {
    var random = Seeded(seed)
    var tables: [String: [(key: [UInt8], value: [UInt8])]] = [:]
    for index in 0..<4 {
      tables["table \(index)"] = (0..<50 * index).map { _ in (random.bytes(upTo: 40), random.bytes(upTo: 300))
      }
    }
    tables["large"] = [([1], (0..<300_000).map { _ in UInt8.random(in: 0...255, using: &random) })]
    let store = try folder.makeStore("store", tables)
    let text = try dump(store)

    // Another way to the same content: other order, detours, many commits.
    let other = try Store.open(folder.path("other"))
    try other.write { _ = try $0.createTable("gone") }
    for (name, entries) in tables.sorted(by: { $0.key > $1.key }) {
      try other.write { transaction in
        let table = try transaction.createTable(name)
        for entry in entries.reversed() { try transaction.put(entry.key, [9, 9], in: table) }
        try transaction.put(Array("detour".utf8), [1], in: table)
        for entry in entries { try transaction.put(entry.key, entry.value, in: table) }
      }
      try other.write { _ = try $0.delete(Array("detour".utf8), in: $0.table(name)) }
    }
    try other.write { try $0.dropTable($0.table("gone")) }
    try other.close()
    #expect(try dump(folder.path("other")) == text)

    let loaded = folder.path("loaded")
    #expect(try roost.run(["load", loaded, "--dump", "-"], input: text, in: folder).status == 0)
    #expect(try dump(loaded) == text)
  }

  /// SPEC.md [U-3]
  @Test func oneTable() throws {
    let store = try folder.makeStore("store", ["a": [([65], [66])], "b": [([67], [68])]])
    let text = try String(decoding: dump(store, "b"), as: UTF8.self)
    #expect(text.hasPrefix("roost-dump 1\ntable b 1\nC\tD\nend 1 1 "))
  }

  @Test func asJSON() throws {
    let store = try folder.makeStore("store", ["a": [([65], [66]), ([255], [])], "b": []])
    let result = try roost.run(["dump", store, "--json"], in: folder)
    let document = try #require(try result.json() as? [String: Any])
    let tables = try #require(document["tables"] as? [[String: Any]])
    #expect(tables.map { $0["name"] as? String } == ["a", "b"])
    #expect(tables.map { $0["count"] as? Int } == [2, 0])
    let entries = try #require(tables[0]["entries"] as? [[Any]])
    #expect(entries[0] as? [String] == ["A", "B"])
    #expect((entries[1][0] as? [String: String]) == ["hex": "ff"])
  }

  @Test func theWholeIsLoadedOrNothing() throws {
    let good = Array(Self.example.utf8)
    var random = Seeded(7)
    var damaged = stride(from: 0, to: good.count, by: 5).map { Array(good[..<$0]) }
    for _ in 0..<25 {
      var copy = good
      copy[Int.random(in: copy.indices, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
      damaged.append(copy)
    }
    damaged.append(good + [10])
    damaged.append(good + good)
    for (number, bytes) in damaged.enumerated() {
      let store = folder.path("store-\(number)")
      let result = try roost.run(["load", store, "--dump", "-"], input: bytes, in: folder)
      #expect(result.status == 6, "\(String(decoding: bytes, as: UTF8.self))")
      #expect(result.errors.contains(", line "))
      if FileManager.default.fileExists(atPath: store) {
        #expect(try dump(store) == Array("roost-dump 1\nend 0 0 ae3a8aa7\n".utf8))
      }
    }
  }

  /// SPEC.md [U-8]
  @Test(arguments: [
    "table t 2\nb\t\na\t\n", "table t 2\na\t\na\t\n", "table b 0\ntable a 0\n", "table a 0\ntable a 0\n",
    "table t 1\n\\x41\t\n", "table t 1\n\\xC3\t\n", "table t 1\na\n", "table t 01\na\t\n", "table t -1\n",
    "table t 1\na\tb\tc\n", "table \\xff 0\n", "table t 1\n\\x0\t\n", "table t 9999999999999999999999\na\t\n",
    "table\n", "\n", "table t 1\na\t\r\n",
  ])
  func otherSpellingsAreRefused(_ body: String) throws {
    let bytes = Array("roost-dump 1\n\(body)".utf8)
    let end = Array("end 1 1 \(crc(bytes))\n".utf8)
    let result = try roost.run(["load", folder.path("store"), "--dump", "-"], input: bytes + end, in: folder)
    #expect(result.status == 6)
    #expect(result.errors.contains("standard input, line "))
  }

  @Test func onlyAnEmptyStoreIsFilled() throws {
    let store = try folder.makeStore("store", ["a": []])
    let before = try dump(store)
    let result = try roost.run(["load", store, "--dump", "-"], input: Array(Self.example.utf8), in: folder)
    #expect(result.status == 6)
    #expect(try dump(store) == before)
    let new = try folder.makeStore("new", [:])
    let again = try roost.run(
      ["load", new, "--dump", "-", "--json"], input: Array(Self.example.utf8), in: folder)
    #expect(again.text == #"{"tables":1,"entries":2}"# + "\n")
  }
}

/// The checksum of a dump, written a second time from its definition.
func crc(_ bytes: [UInt8]) -> String {
  var crc = UInt32.max
  for byte in bytes {
    crc ^= UInt32(byte)
    for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
  }
  let digits = String(~crc, radix: 16)
  return String(repeating: "0", count: 8 - digits.count) + digits
}
