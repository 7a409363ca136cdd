import Foundation
import Roost
import Testing

@Suite struct SortTests {
  @Model final class Item {
    var name: String
    var rank: Int?
    var isOpen: Bool
    var isKnown: Bool?
    var owner: Item?
    init(_ name: String, _ rank: Int?, _ isOpen: Bool, _ isKnown: Bool?) {
      self.name = name
      self.rank = rank
      self.isOpen = isOpen
      self.isKnown = isKnown
    }
  }

  let context: ModelContext

  init() throws {
    context = ModelContext(
      try ModelContainer(for: Item.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    let rows: [(String, Int?, Bool, Bool?)] = [
      ("b", 2, true, nil), ("a", nil, false, true), ("C", 1, true, false), ("a", 3, false, nil),
      ("ä", 2, true, true),
    ]
    for row in rows { context.insert(Item(row.0, row.1, row.2, row.3)) }
    try context.save()
  }

  private func names(_ sort: SortDescriptor<Item>...) throws -> [String] {
    try context.fetch(FetchDescriptor(sortBy: sort)).map { "\($0.name)\($0.rank ?? 0)" }
  }

  @Test func sortsByOneKey() throws {
    #expect(try names(SortDescriptor(\.name)) == ["C1", "a0", "a3", "b2", "ä2"])
    #expect(try names(SortDescriptor(\.name, order: .reverse)) == ["ä2", "b2", "a0", "a3", "C1"])
    #expect(try names(SortDescriptor(\.rank)) == ["a0", "C1", "b2", "ä2", "a3"])
    #expect(try names(SortDescriptor(\.rank, order: .reverse)) == ["a3", "b2", "ä2", "C1", "a0"])
  }

  @Test func sortsByBool() throws {
    #expect(try names(SortDescriptor(\.isOpen)) == ["a0", "a3", "b2", "C1", "ä2"])
    #expect(
      try names(SortDescriptor(\.isOpen, order: .reverse), SortDescriptor(\.name)) == [
        "C1", "b2", "ä2", "a0", "a3",
      ])
    #expect(try names(SortDescriptor(\.isKnown)) == ["b2", "a3", "C1", "a0", "ä2"])
  }

  @Test func agreesWithTheDescriptors() throws {
    let all = try context.fetch(FetchDescriptor<Item>())
    let sorts: [[SortDescriptor<Item>]] = [
      [SortDescriptor(\.name)], [SortDescriptor(\.rank, order: .reverse), SortDescriptor(\.name)],
      [SortDescriptor(\.isOpen), SortDescriptor(\.rank)],
    ]
    for sort in sorts {
      #expect(try context.fetch(FetchDescriptor(sortBy: sort)) == all.sorted(using: sort))
    }
  }

  @Test func sortsThroughARelationship() throws {
    let all = try context.fetch(FetchDescriptor<Item>())
    all[0].owner = all[4]
    all[4].owner = all[1]
    try context.save()
    #expect(try names(SortDescriptor(\.owner?.name)) == ["a0", "C1", "a3", "ä2", "b2"])
  }

  @Test func limitsAndOffsets() throws {
    var descriptor = FetchDescriptor<Item>(sortBy: [SortDescriptor(\.name)])
    descriptor.fetchLimit = 2
    descriptor.fetchOffset = 1
    #expect(try context.fetch(descriptor).map(\.name) == ["a", "a"])
    #expect(try context.fetchCount(descriptor) == 2)
    descriptor.sortBy = []
    #expect(try context.fetch(descriptor).map(\.name) == ["a", "C"])
    #expect(try context.fetchIdentifiers(descriptor).count == 2)
    descriptor.fetchOffset = 4
    #expect(try context.fetch(descriptor).map(\.name) == ["ä"])
    descriptor.fetchOffset = 10
    #expect(try context.fetch(descriptor).isEmpty)
    #expect(try context.fetchCount(descriptor) == 0)
    descriptor.fetchLimit = 0
    descriptor.fetchOffset = nil
    #expect(try context.fetch(descriptor).isEmpty)
    descriptor.fetchLimit = .max
    descriptor.fetchOffset = .max
    #expect(try context.fetch(descriptor).isEmpty)
    descriptor.fetchLimit = -1
    descriptor.fetchOffset = -5
    #expect(try context.fetchCount(descriptor) == 0)
  }
}
