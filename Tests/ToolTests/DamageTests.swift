import Foundation
import RoostKV
import Testing

/// `check`, and every command on files that are damaged.
@Suite struct DamageTests {
  let folder: TemporaryFolder
  let roost = Program.roost

  init() throws {
    folder = try TemporaryFolder()
  }

  /// A store with a tree of two levels, a value in a run, and something in the journal.
  private func makeStore() throws -> String {
    let rows = (0..<600).map { (key: Array("key \($0)".utf8), value: Array("value \($0)".utf8)) }
    let path = try folder.makeStore(
      "store", ["t": rows, "large": [([1], [UInt8](repeating: 7, count: 70_000))]])
    let store = try Store.open(path)
    try store.write { transaction in
      let table = try transaction.table("t")
      try transaction.put("in the journal", "value", in: table)
    }
    return path
  }

  @Test func aSoundStore() throws {
    let store = try makeStore()
    let result = try roost.run(["check", store], in: folder)
    #expect(result.status == 0)
    #expect(result.text.hasPrefix("sound: checked "))
    let report = try #require(try roost.run(["check", store, "--json"], in: folder).json() as? [String: Any])
    #expect(report["sound"] as? Bool == true)
    #expect((report["problems"] as? [Any])?.isEmpty == true)
    #expect((report["runs"] as? Int ?? 0) > 0)
    #expect((report["entries"] as? Int ?? 0) >= 602)
  }

  @Test func aDamagedPageIsNamed() throws {
    let store = try makeStore()
    var bytes = try folder.read(store)
    // The value lies in a leaf, in plain text; another copy may be left in a recycled part of the journal.
    let places = bytes.ranges(of: Array("value 300".utf8)).map(\.lowerBound)
    for place in places { bytes[place] ^= 1 }
    try folder.write(bytes, to: "damaged")
    let pages = places.map { $0 / 8192 }
    let result = try roost.run(["check", folder.path("damaged")], in: folder)
    #expect(result.status == 1)
    #expect(pages.contains { result.text.contains("page \($0), ") })
    let report = try roost.run(["check", folder.path("damaged"), "--json"], in: folder)
    #expect(report.status == 1)
    let problems = try #require((try report.json() as? [String: Any])?["problems"] as? [[String: Any]])
    #expect(problems.contains { $0["kind"] as? String == "page" && pages.contains($0["page"] as? Int ?? 0) })
    // What is damaged is not printed as if it were content.
    let dump = try roost.run(["dump", folder.path("damaged")], in: folder)
    #expect(dump.status == 5)
    #expect(!String(decoding: dump.output, as: UTF8.self).contains("\nend "))
  }

  @Test func aStoreThatCannotBeOpenedHasAProblem() throws {
    var bytes = try folder.read(try makeStore())
    for slot in [0, 4096] { bytes[slot + 100] ^= 0xFF }
    try folder.write(bytes, to: "damaged")
    let result = try roost.run(["check", folder.path("damaged")], in: folder)
    #expect(result.status == 1)
    #expect(result.text.hasPrefix("headerDamaged: "))
    #expect(try roost.run(["info", folder.path("damaged")], in: folder).status == 3)
  }

  @Test func whatIsNoStoreIsNotChecked() throws {
    #expect(try roost.run(["check", folder.path("missing")], in: folder).status == 3)
    #expect(try roost.run(["check", folder.write([1, 2, 3], to: "other")], in: folder).status == 3)
  }

  /// Whatever the bytes, the tool ends by itself, with a status that its help explains.
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func noBytesCrashTheTool(_ seed: UInt64) throws {
    var random = Seeded(seed)
    let original = try folder.read(try makeStore())
    let commands = [
      ["info"], ["check"], ["tables"], ["schema"], ["dump"], ["get", "t", "key 77"], ["records", "T"],
    ]
    for number in 0..<15 {
      var bytes = original
      switch number % 3 {
      case 0:
        // Mostly where the structure is: the headers, the first segment's start.
        for _ in 0..<Int.random(in: 1...8, using: &random) {
          let region = [0..<512, 4096..<4608, 16_384..<24_700, 0..<bytes.count].randomElement(using: &random)!
          bytes[Int.random(in: region, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
      case 1:
        bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
      default:
        let from = Int.random(in: 0..<bytes.count - 4096, using: &random)
        let to = Int.random(in: 0..<bytes.count - 4096, using: &random)
        bytes.replaceSubrange(to..<to + 4096, with: original[from..<from + 4096])
      }
      let path = try folder.write(bytes, to: "hostile")
      for command in [commands[number % commands.count], commands[1]] {
        let result = try roost.run([command[0], path] + command.dropFirst(), in: folder)
        #expect(!result.wasSignalled, "seed \(seed), file \(number), \(command)")
        #expect([0, 1, 3, 4, 5].contains(result.status), "seed \(seed), file \(number), \(command)")
        #expect(try folder.read(path) == bytes, "seed \(seed), file \(number), \(command)")
      }
    }
  }
}
