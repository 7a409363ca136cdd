import Foundation
import Testing

/// The example program, as its user sees it.
@Suite struct HabitsTests {
  let folder: TemporaryFolder
  let habits: Program
  let store: String

  init() throws {
    folder = try TemporaryFolder()
    store = folder.path("habits.store")
    var habits = Program("habits")
    habits.environment = ["HABITS_STORE": store, "XDG_DATA_HOME": folder.path("data")]
    self.habits = habits
  }

  private func run(_ words: String...) throws -> Program.Result {
    try habits.run(words, in: folder)
  }

  @Test func habitsAreKept() throws {
    #expect(try run("add", "Read").status == 0)
    #expect(try run("add", "Go", "for", "a", "run").status == 0)
    #expect(try run("done", "Read").status == 0)
    let lines = try run("list").text.split(separator: "\n")
    #expect(lines.map { $0.components(separatedBy: ", since ")[0] } == ["[x] Read", "[ ] Go for a run"])
    #expect(try run("delete", "Read").status == 0)
    #expect(try run("list").text.hasPrefix("[ ] Go for a run, since 20"))
    let overview = try run()
    #expect(overview.status == 0)
    #expect(overview.text.contains("usage: habits"))
    #expect(overview.text.contains(store))
    #expect(overview.text.hasSuffix("1 habit, 0 of them done today.\n"))
  }

  @Test func anOverviewMakesNoStore() throws {
    let result = try run()
    #expect(result.status == 0)
    #expect(result.text.contains("It is not there yet"))
    #expect(!FileManager.default.fileExists(atPath: store))
  }

  @Test func mistakesAreExplained() throws {
    #expect(try run("add", "Read").status == 0)
    let twice = try run("add", "Read")
    #expect(twice.status == 1)
    #expect(twice.errors == "habits: there is a habit \"Read\" already\n")
    #expect(try run("done", "Write").errors == "habits: there is no habit \"Write\"\n")
    #expect(try run("delete", "Write").status == 1)
    #expect(try run("frobnicate").status == 2)
    #expect(try run("add").status == 2)
    #expect(try run("list", "--store").status == 2)
  }

  @Test func theStoreCanBeNamed() throws {
    let other = folder.path("other.store")
    #expect(try run("--store", other, "add", "Sing").status == 0)
    #expect(try run("list", "--store", other).text.hasPrefix("[ ] Sing"))
    #expect(!FileManager.default.fileExists(atPath: store))
    var atDefault = habits
    atDefault.environment["HABITS_STORE"] = nil
    #expect(try atDefault.run(["add", "Dance"], in: folder).status == 0)
    #expect(FileManager.default.fileExists(atPath: folder.path("data/habits/default.store")))
  }

  @Test func aDamagedStoreIsReportedAndLeftAlone() throws {
    let damaged = [UInt8](repeating: 0xA5, count: 40_000)
    try folder.write(damaged, to: "habits.store")
    let result = try run("list")
    #expect(result.status == 1)
    #expect(result.errors.hasPrefix("habits: "))
    #expect(try folder.read("habits.store") == damaged)
  }

  @Test func theDemonstrationShowsMigrationAndFallback() throws {
    let result = try run("demo")
    #expect(result.status == 0)
    #expect(result.errors == "")
    let parts = result.text.components(separatedBy: "\n\n")
    #expect(parts.count == 4)
    #expect(parts[0].hasSuffix("\n   [x] Read\n   [ ] Run\n   [ ] Sleep"))
    for part in parts[1...2] {
      let lines = part.split(separator: "\n").dropFirst()
      #expect(lines.map { $0.components(separatedBy: ", since ")[0] } == ["   [x] Read", "   [ ] Run", "   [ ] Sleep"])
      // The default is one value for all old records, settled when the store took the new schema.
      #expect(Set(lines.map { $0.components(separatedBy: ", since ")[1] }).count == 1)
    }
    #expect(parts[3].contains("headerDamaged"))
    #expect(parts[3].contains("\n   [ ] Keep calm"))
    #expect(!FileManager.default.fileExists(atPath: store))
  }

  @Test func theToolReadsWhatTheProgramWrote() throws {
    #expect(try run("add", "Read").status == 0)
    let schema = try Program.roost.run(["schema", store, "--json"], in: folder).json() as? [String: Any]
    #expect(schema?["version"] as? String == "2.0.0")
    #expect(schema?["state"] as? String == "ready")
    let entity = try #require((schema?["entities"] as? [[String: Any]])?.first)
    #expect(entity["name"] as? String == "Habit")
    #expect(entity["records"] as? Int == 1)
    let properties = try #require(entity["properties"] as? [[String: Any]])
    #expect(properties.map { $0["name"] as? String } == ["name", "doneToday", "createdAt"])
    #expect(properties.map { $0["storedAs"] as? String } == ["String", "Bool", "Date"])
    let text = try Program.roost.run(["schema", store], in: folder).text
    #expect(text.hasPrefix("schema 2.0.0, ready\n\nHabit: 1 record, shape "))

    let records = try Program.roost.run(["records", store, "Habit", "--json"], in: folder).json() as? [[String: Any]]
    let values = try #require(records?.first?["values"] as? [String: Any])
    #expect(values["name"] as? String == "Read")
    #expect(values["doneToday"] as? Bool == false)
    #expect((values["createdAt"] as? String)?.hasPrefix("20") == true)
    let line = try Program.roost.run(["records", store, "Habit"], in: folder).text
    #expect(line.contains("name: \"Read\", doneToday: false, createdAt: \"20"))
  }

  @Test func aDumpOfModelsIsAWholeStore() throws {
    #expect(try run("add", "Read").status == 0)
    #expect(try run("done", "Read").status == 0)
    let dump = try Program.roost.run(["dump", store], in: folder)
    let copy = folder.path("copy.store")
    #expect(try Program.roost.run(["load", copy, "--dump", "-"], input: dump.output, in: folder).status == 0)
    #expect(try Program.roost.run(["dump", copy], in: folder).output == dump.output)
    #expect(try run("list", "--store", copy).text == run("list").text)
  }
}
