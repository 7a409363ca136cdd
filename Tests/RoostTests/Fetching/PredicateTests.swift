import Foundation
import Roost
import TestSupport
import Testing

/// Random rows and random predicates: whatever way a fetch takes, it finds what filtering the objects finds.
@Suite struct PredicateTests {
  enum Kind: String, Codable, CaseIterable { case a, b, c }

  @Model final class Row {
    #Index<Row>([\.count], [\.name, \.flag], [\.score], [\.day])
    @Attribute(.unique) var serial: Int
    var name: String
    var count: Int
    var small: Int8
    var big: UInt64
    var score: Double
    var note: String?
    var rank: Int?
    var flag: Bool
    var day: Date
    var token: UUID
    var kind: Kind
    var tags: [String]
    var boss: Row?
    @Relationship(inverse: \Row.boss) var team: [Row] = []

    init(_ serial: Int, _ random: inout SeededRandom) {
      self.serial = serial
      name = random.pick(PredicateTests.names)
      count = random.pick(PredicateTests.integers)
      small = Int8(truncatingIfNeeded: random.pick(PredicateTests.integers))
      big = random.pick([0, 1, 7, UInt64(Int64.max), UInt64(Int64.max) + 1, .max])
      score = random.pick(PredicateTests.doubles)
      note = random.chance(3) ? nil : random.pick(PredicateTests.names)
      rank = random.chance(3) ? nil : random.pick(PredicateTests.integers)
      flag = random.chance(2)
      day = Date(timeIntervalSinceReferenceDate: random.pick([-1e9, 0, 0.5, 86400, 7e8]))
      token = random.pick(PredicateTests.tokens)
      kind = random.pick(Kind.allCases)
      tags = random.chance(2) ? [] : [random.pick(PredicateTests.names), "x"]
    }
  }

  static let names = [
    "", "a", "A", "ab", "abc", "b", "caf\u{E9}", "cafe\u{301}", "cafe", "\u{212A}", "K", "a\r\nb", "a\nb",
    "z\u{0}z", "🇨🇭",
  ]
  static let integers = [Int.min, -129, -1, 0, 1, 2, 3, 100, 127, Int.max]
  static let doubles = [-Double.infinity, -1.5, -0.0, 0.0, 0.1, 2, .infinity, .nan]
  static let tokens = (1...4).compactMap { UUID(uuidString: "00000000-0000-0000-0000-00000000000\($0)") }

  private static func predicates(_ r: inout SeededRandom) -> [Predicate<Row>] {
    let (text, other) = (r.pick(names), r.pick(names))
    let maybeText: String? = r.chance(4) ? nil : r.pick(names)
    let (low, high) = (r.pick(integers), r.pick(integers))
    let maybeInteger: Int? = r.chance(4) ? nil : r.pick(integers)
    let integers = Set((0..<3).map { _ in r.pick(Self.integers) })
    let list = (0..<3).map { _ in r.pick(names) }
    let double = r.pick(doubles)
    let day = Date(timeIntervalSinceReferenceDate: r.pick([-1e9, 0, 0.5, 86400, 1]))
    let token = r.pick(tokens)
    let small = Int8(truncatingIfNeeded: r.pick(Self.integers))
    let big = r.pick([0, 7, UInt64(Int64.max), UInt64.max])
    let kind = r.pick(Kind.allCases)
    let range = min(low, high)...max(low, high)
    let flag = r.chance(2)
    var all: [Predicate<Row>] = []
    all.append(#Predicate { $0.name == text })
    all.append(#Predicate { $0.name != text && $0.flag })
    all.append(#Predicate { $0.name < text })
    all.append(#Predicate { $0.name >= text || $0.count == low })
    all.append(#Predicate { $0.name.contains(text) })
    all.append(#Predicate { $0.name.starts(with: text) })
    all.append(#Predicate { $0.name.localizedStandardContains(text) })
    all.append(#Predicate { $0.note == maybeText })
    all.append(#Predicate { $0.note != maybeText })
    all.append(#Predicate { ($0.note ?? "none") == text })
    all.append(#Predicate { $0.note?.contains(text) ?? flag })
    all.append(#Predicate { $0.note == nil || $0.name == other })
    all.append(#Predicate { $0.count > low && $0.count <= high })
    all.append(#Predicate { low < $0.count })
    all.append(#Predicate { range.contains($0.count) })
    all.append(#Predicate { integers.contains($0.count) })
    all.append(#Predicate { list.contains($0.name) && !$0.flag })
    all.append(#Predicate { !integers.contains($0.count) })
    all.append(#Predicate { $0.rank == maybeInteger })
    all.append(#Predicate { ($0.rank ?? 0) > low })
    all.append(#Predicate { $0.small == small || $0.small > 100 })
    all.append(#Predicate { $0.big >= big })
    all.append(#Predicate { $0.big == big })
    all.append(#Predicate { $0.score == double })
    all.append(#Predicate { $0.score < double })
    all.append(#Predicate { !($0.score < double) })
    all.append(#Predicate { $0.score >= double && $0.score != 0.1 })
    all.append(#Predicate { $0.flag == flag })
    all.append(#Predicate { !$0.flag })
    all.append(#Predicate { $0.day > day })
    all.append(#Predicate { $0.day <= day || $0.day == day })
    all.append(#Predicate { $0.token == token })
    all.append(#Predicate { $0.serial == low })
    all.append(#Predicate { $0.serial > 3 && $0.serial < 9 && $0.flag == flag })
    all.append(#Predicate { $0.kind == kind })
    all.append(#Predicate { $0.tags.contains(text) })
    all.append(#Predicate { $0.tags.isEmpty == false })
    all.append(#Predicate { $0.boss == nil })
    all.append(#Predicate { $0.boss != nil && $0.boss?.name == text })
    all.append(#Predicate { $0.boss?.boss?.count == low })
    all.append(#Predicate { $0.team.contains { $0.flag } })
    all.append(#Predicate { $0.team.allSatisfy { $0.count > low } })
    all.append(#Predicate { $0.team.count > 1 })
    all.append(#Predicate { $0.flag ? $0.count > low : $0.name == text })
    all.append(
      #Predicate {
        if let note = $0.note {
          return note == text
        } else {
          return flag
        }
      })
    all.append(#Predicate { $0.name == text && $0.flag && $0.count > low })
    all.append(#Predicate { $0.name.count > 2 && $0.score > double })
    return all + [.true, .false]
  }

  private func container(_ seed: Seed, rows: Int) throws -> (ModelContext, SeededRandom) {
    var random = SeededRandom(seed)
    let container = try ModelContainer(
      for: Row.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    var all: [Row] = []
    for serial in 0..<rows {
      let row = Row(serial, &random)
      context.insert(row)
      if !all.isEmpty && random.chance(2) { row.boss = random.pick(all) }
      all.append(row)
    }
    try context.save()
    return (context, random)
  }

  @Test(arguments: Seed.first(6))
  func savedRowsAreFoundAsByFilter(_ seed: Seed) throws {
    let (context, start) = try container(seed, rows: 60)
    var random = start
    for fresh in [context, ModelContext(context.container)] {
      let all = try fresh.fetch(FetchDescriptor<Row>())
      #expect(all.count == 60)
      for (index, predicate) in Self.predicates(&random).enumerated() {
        let expected = try all.filter { try predicate.evaluate($0) }
        let descriptor = FetchDescriptor(predicate: predicate)
        #expect(try fresh.fetch(descriptor) == expected, "predicate \(index)")
        #expect(try fresh.fetchCount(descriptor) == expected.count, "predicate \(index)")
        #expect(
          try fresh.fetchIdentifiers(descriptor) == expected.map(\.persistentModelID), "predicate \(index)")
      }
    }
  }

  @Test(arguments: Seed.first(4))
  func unsavedRowsAreFoundAsByFilter(_ seed: Seed) throws {
    let (context, start) = try container(seed, rows: 40)
    var random = start
    let all = try context.fetch(FetchDescriptor<Row>())
    for row in all where random.chance(4) { context.delete(row) }
    for row in all where random.chance(4) && !row.isDeleted {
      row.name = random.pick(Self.names)
      row.count = random.pick(Self.integers)
      row.note = nil
    }
    for serial in 100..<110 { context.insert(Row(serial, &random)) }
    let rows = try context.fetch(FetchDescriptor<Row>())
    for (index, predicate) in Self.predicates(&random).enumerated() {
      let expected = try rows.filter { try predicate.evaluate($0) }
      let descriptor = FetchDescriptor(predicate: predicate)
      #expect(try context.fetch(descriptor) == expected, "predicate \(index)")
      #expect(try context.fetchCount(descriptor) == expected.count, "predicate \(index)")
    }
  }

  @Test func identifiersAreLookedUp() throws {
    let (context, _) = try container(Seed(1), rows: 20)
    let rows = try context.fetch(FetchDescriptor<Row>())
    let identifier = rows[7].persistentModelID
    let one = #Predicate<Row> { $0.persistentModelID == identifier }
    #expect(try context.fetch(FetchDescriptor(predicate: one)) == [rows[7]])
    let several = Set([rows[3].persistentModelID, rows[1].persistentModelID])
    let some = #Predicate<Row> { several.contains($0.persistentModelID) && $0.serial != 1 }
    #expect(try context.fetch(FetchDescriptor(predicate: some)) == [rows[3]])
  }

  @Test func whatThePredicateThrowsIsThrown() throws {
    let (context, _) = try container(Seed(1), rows: 20)
    let predicate = #Predicate<Row> { $0.note! == "a" }
    #expect(throws: (any Error).self) { try context.fetch(FetchDescriptor(predicate: predicate)) }
  }
}

/// A generator whose numbers a seed decides.
struct SeededRandom {
  private var state: UInt64

  init(_ seed: Seed) { state = seed.value &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }

  mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % bound }
  mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
  mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}
