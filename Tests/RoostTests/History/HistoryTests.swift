import Foundation
import RoostKV
import TestSupport
import Testing

@testable import Roost

@Suite struct HistoryTests {
  @Model final class Entry {
    @Attribute(.preserveValueOnDeletion) var title: String
    @Attribute(.preserveValueOnDeletion) var rank: Int?
    var text = ""
    var folder: Folder?
    init(_ title: String, rank: Int? = nil) {
      self.title = title
      self.rank = rank
    }
  }

  @Model final class Folder {
    @Attribute(.unique) var name: String
    @Relationship(inverse: \Entry.folder) var entries: [Entry] = []
    init(_ name: String) { self.name = name }
  }

  private let folder = TemporaryDirectory()
  private var url: URL { URL(fileURLWithPath: folder.file("history.store")) }

  private func open(limit: Int = 1000) throws -> ModelContext {
    var configuration = ModelConfiguration(url: url)
    configuration.historyLimit = limit
    return ModelContext(try ModelContainer(for: Entry.self, configurations: configuration))
  }

  private typealias Save = DefaultHistoryTransaction

  private func saves(_ context: ModelContext, _ predicate: Predicate<Save>? = nil) throws -> [Save] {
    try context.fetchHistory(HistoryDescriptor<Save>(predicate: predicate))
  }

  /// What a save did, in words.
  private func words(_ save: Save?) -> [String] {
    (save?.changes ?? []).map { change in
      let number = change.changedPersistentIdentifier.number
      switch change {
      case .insert(let insert): return "insert \(type(of: insert) == DefaultHistoryInsert<Entry>.self) \(number)"
      case .update(let update as DefaultHistoryUpdate<Entry>):
        let paths: [(PartialKeyPath<Entry>, String)] = [
          (\.title, "title"), (\.rank, "rank"), (\.text, "text"), (\.folder, "folder"),
        ]
        let names = paths.filter { update.containsAttribute($0.0) }.map(\.1)
        return "update \(number) \(names)"
      case .update(let update as DefaultHistoryUpdate<Folder>):
        return "update folder \(number) \(update.containsAttribute(\.entries)) \(update.containsAttribute(\.name))"
      case .update: return "another update"
      case .delete(let deletion as DefaultHistoryDelete<Entry>):
        let title = deletion.tombstone[\.title] as? String
        let rank = deletion.tombstone[\.rank] as? Int
        return "delete \(number) \(title ?? "-") \(rank.map(String.init) ?? "-")"
      case .delete: return "delete folder \(number)"
      }
    }
  }

  @Test("[R-22] Each save says what it did")
  func eachSaveSaysWhatItDid() throws {
    let context = try open()
    context.author = "me"
    let (a, b, home) = (Entry("a", rank: 7), Entry("b"), Folder("home"))
    for entry in [a, b] { context.insert(entry) }
    context.insert(home)
    let start = Date()
    try context.save()
    a.text = "changed"
    b.folder = home
    try context.save()
    context.author = nil
    b.text = ""
    try context.save()
    context.delete(a)
    context.insert(Folder("home"))
    try context.save()
    let saves = try saves(context)
    #expect(saves.map(\.token.commit) == [1, 2, 3, 4])
    #expect(saves.map(\.author) == ["me", "me", nil, nil])
    #expect(saves.allSatisfy { abs($0.timestamp.timeIntervalSince(start)) < 60 })
    #expect(Set(words(saves[0])) == ["insert true 1", "insert true 2", "insert false 3"])
    #expect(Set(words(saves[1])) == ["update 1 [\"text\"]", "update 2 [\"folder\"]", "update folder 3 true false"])
    #expect(words(saves[2]) == ["update 2 []"])
    #expect(Set(words(saves[3])) == ["delete 1 a 7", "update folder 3 false false"])
    #expect(saves[0].storeIdentifier == a.persistentModelID.storeIdentifier)
  }

  @Test func theFileKeepsItAndOthersReadIt() throws {
    for name in ["a", "b", "c"] {
      let context = try open()
      context.author = name
      context.insert(Entry(name))
      try context.save()
    }
    #expect(try saves(try open()).map(\.author) == ["a", "b", "c"])
    #expect(try IndependentReader.check(url.path) ?? "sound" == "sound")
  }

  @Test func predicatesLimitsAndOrders() throws {
    let context = try open()
    for number in 1...6 {
      context.author = number.isMultiple(of: 2) ? "even" : nil
      context.insert(Entry("\(number)"))
      try context.save()
    }
    let third = try saves(context)[2].token
    #expect(try saves(context, #Predicate { $0.token > third }).map(\.token.commit) == [4, 5, 6])
    #expect(try saves(context, #Predicate { $0.author == "even" }).map(\.token.commit) == [2, 4, 6])
    var descriptor = HistoryDescriptor<Save>(sortBy: [SortDescriptor(\.timestamp, order: .reverse)])
    descriptor.fetchLimit = 2
    #expect(try context.fetchHistory(descriptor).map(\.token.commit) == [6, 5])
    let copy = try JSONDecoder().decode(DefaultHistoryToken.self, from: JSONEncoder().encode(third))
    #expect(copy == third)
    #expect(copy.tokenValue?.values.first == 3)
  }

  @Test("[R-23] Tokens expire when what came after them is gone")
  func tokensExpire() throws {
    let context = try open(limit: 8)
    context.insert(Entry("first"))
    try context.save()
    let first = try saves(context)[0].token
    func after(_ token: DefaultHistoryToken) throws -> [UInt64] {
      try saves(context, #Predicate { $0.token > token }).map(\.token.commit)
    }
    #expect(try after(first) == [])
    for number in 0..<30 {
      context.insert(Entry("\(number)"))
      try context.save()
    }
    let kept = try saves(context)
    #expect(kept.count >= 8 && kept.count <= 9)
    #expect(kept.last?.token.commit == 31)
    #expect(throws: RoostError.self) { try after(first) }
    #expect(try after(kept[0].token).count == kept.count - 1)
    try context.deleteHistory(HistoryDescriptor<Save>())
    let error = #expect(throws: RoostError.self) { try after(kept[0].token) }
    #expect(error?.code == .historyTokenExpired)
    #expect(try after(kept[kept.count - 1].token) == [])
    try context.container.erase()
    #expect(throws: RoostError.self) { try after(kept[kept.count - 1].token) }
  }

  @Test func aLimitOfZeroKeepsNone() throws {
    let context = try open()
    context.insert(Entry("a"))
    try context.save()
    let none = try open(limit: 0)
    none.insert(Entry("b"))
    try none.save()
    #expect(try saves(none).isEmpty)
  }

  // MARK: Rows

  @Test("[R-20, R-21] The example of SPEC.md")
  func example() throws {
    var first = PropertySet()
    for index in [0, 8] { first.insert(index) }
    let changes = HistoryRow.Changes(
      shape: 2, inserted: [5...7, 300...300], updated: [.init(number: 3, properties: first)],
      deleted: [.init(number: 4, kept: [.init(property: 1, field: Array("Elm".utf8))])])
    let row = HistoryRow(date: 700_000_000.5, author: "sync", changes: [changes])
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let spec = try String(contentsOf: root.appendingPathComponent("SPEC.md"), encoding: .utf8)
    let start = try #require(spec.range(of: "```hex history\n"))
    let end = try #require(spec.range(of: "\n```", range: start.upperBound..<spec.endIndex))
    let example = spec[start.upperBound..<end.lowerBound].split(separator: "\n").flatMap { line in
      line.split(separator: " ").dropFirst().compactMap { UInt8($0, radix: 16) }
    }
    #expect(row.bytes == example)
    #expect(example.withUnsafeBytes { HistoryRow($0) } == row)
  }

  @Test(arguments: Seed.first(20))
  func rowsSurviveAndHostileBytesDoNoHarm(_ seed: Seed) {
    var random = seed.generator
    func ascending(_ count: Int) -> [UInt64] {
      var numbers: Set<UInt64> = []
      for _ in 0..<count { numbers.insert(UInt64.random(in: 1...(random.oneIn(3) ? .max - 1 : 300), using: &random)) }
      return numbers.sorted()
    }
    var changes: [HistoryRow.Changes] = []
    for shape in 1...UInt32.random(in: 1...3, using: &random) {
      var entity = HistoryRow.Changes(shape: shape * 1000)
      entity.inserted = ascending(6).map { $0...$0 }
      entity.updated = ascending(5).map { number in
        var set = PropertySet()
        for _ in 0..<Int.random(in: 0...4, using: &random) { set.insert(Int.random(in: 0..<200, using: &random)) }
        return .init(number: number, properties: set)
      }
      entity.deleted = ascending(4).map { number in
        .init(
          number: number,
          kept: random.oneIn(2) ? [.init(property: 3, field: random.oneIn(2) ? nil : random.bytes(9))] : [])
      }
      changes.append(entity)
    }
    let row = HistoryRow(date: 1.5, author: random.oneIn(2) ? nil : "é", changes: changes)
    let bytes = row.bytes
    #expect(bytes.withUnsafeBytes { HistoryRow($0) } == row)
    for count in bytes.indices { #expect(bytes[..<count].withUnsafeBytes { HistoryRow($0) } == nil) }
    for _ in 0..<500 {
      var damaged = bytes
      damaged[Int.random(in: damaged.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      _ = damaged.withUnsafeBytes { HistoryRow($0)?.bytes }
    }
  }
}
