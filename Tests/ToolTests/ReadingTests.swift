import Foundation
import RoostKV
import Testing

/// `info`, `tables` and `get`.
@Suite struct ReadingTests {
  let folder: TemporaryFolder
  let store: String
  let roost = Program.roost

  init() throws {
    folder = try TemporaryFolder()
    store = try folder.makeStore(
      "store",
      [
        "words": [
          (Array("a".utf8), []), (Array("é".utf8), Array("x\ty\n".utf8)), ([0, 255], [0x80, 0x7F]),
        ],
        "empty": [],
        "tab le": [(Array("-k".utf8), Array("v".utf8))],
      ])
  }

  @Test func tablesAreListed() throws {
    let result = try roost.run(["tables", store], in: folder)
    #expect(result.status == 0)
    #expect(result.text == "empty   0\ntab le  1\nwords   3\n")
  }

  @Test func tablesAsJSON() throws {
    let list = try #require(
      try roost.run(["tables", "--json", store], in: folder).json() as? [[String: Any]])
    #expect(list.map { $0["name"] as? String } == ["empty", "tab le", "words"])
    #expect(list.map { $0["count"] as? Int } == [0, 1, 3])
    #expect(list.map { $0["system"] as? Bool } == [false, false, false])
  }

  @Test func infoAgreesWithTheFile() throws {
    let info = try #require(try roost.run(["info", store, "--json"], in: folder).json() as? [String: Any])
    #expect(info["path"] as? String == store)
    #expect(info["fileSize"] as? Int == (try folder.read(store)).count)
    #expect(info["pageSize"] as? Int == 8192)
    #expect(info["formatVersion"] as? Int == 1)
    #expect(info["tables"] as? Int == 3)
    #expect(info["entries"] as? Int == 4)
    #expect((info["storeID"] as? String)?.isEmpty == false)
    #expect(info["journalBytes"] as? Int == 0)
    #expect((info["generation"] as? Int ?? 0) > 0)
    #expect(info["schemaVersion"] == nil)
    let text = try roost.run(["info", store], in: folder).text
    #expect(text.contains("page size"))
    #expect(text.contains("8192 bytes (8.0 KiB)"))
  }

  @Test func getPrintsTheValueAsItIs() throws {
    #expect(try roost.run(["get", store, "words", "é"], in: folder).output == Array("x\ty\n".utf8))
    #expect(try roost.run(["get", store, "words", "a"], in: folder).output == [])
    #expect(try roost.run(["get", store, "words", "00FF", "--hex-key"], in: folder).output == [0x80, 0x7F])
    #expect(try roost.run(["get", store, "words", "00ff", "--hex"], in: folder).text == "807f\n")
    #expect(try roost.run(["get", store, "words", "é", "--hex-value"], in: folder).text == "7809790a\n")
    #expect(try roost.run(["get", store, "tab le", "--", "-k"], in: folder).text == "v")
  }

  @Test func getAsJSON() throws {
    let text = try roost.run(["get", store, "words", "é", "--json"], in: folder)
    #expect(text.text == #"{"table":"words","key":"é","size":4,"value":"x\ty\n"}"# + "\n")
    let bytes = try roost.run(["get", store, "words", "00ff", "--hex-key", "--json"], in: folder)
    #expect(bytes.text == #"{"table":"words","key":{"hex":"00ff"},"size":2,"value":{"hex":"807f"}}"# + "\n")
  }

  @Test func whatIsMissingIsNotFound() throws {
    for arguments in [
      ["get", store, "words", "nope"], ["get", store, "nope", "a"], ["dump", store, "nope"],
    ] {
      let result = try roost.run(arguments, in: folder)
      #expect(result.status == 4)
      #expect(result.output == [])
      #expect(result.errors.hasPrefix("roost: "))
    }
  }

  @Test func aStoreWithoutModels() throws {
    #expect(try roost.run(["schema", store], in: folder).text.hasPrefix("no schema"))
    #expect(try roost.run(["schema", store, "--json"], in: folder).text == "null\n")
    #expect(try roost.run(["records", store, "Habit"], in: folder).status == 4)
  }

  @Test func readingChangesNothing() throws {
    let before = try folder.read(store)
    for arguments in [
      ["info", store], ["tables", store], ["dump", store], ["get", store, "words", "a"], ["schema", store],
    ] {
      #expect(try roost.run(arguments, in: folder).status == 0)
    }
    #expect(try folder.read(store) == before)
  }

  @Test func worksBesideAWriter() throws {
    let writer = try Store.open(store)
    defer { try? writer.close() }
    try writer.write { transaction in
      let table = try transaction.table("empty")
      try transaction.put("new", "value", in: table)
    }
    #expect(try roost.run(["get", store, "empty", "new"], in: folder).text == "value")
    #expect(try roost.run(["tables", store], in: folder).text.hasPrefix("empty   1\n"))
  }
}
