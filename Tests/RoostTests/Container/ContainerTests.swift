import Foundation
import Roost
import RoostKV
import TestSupport
import Testing

@Suite struct ContainerTests {
  @Model final class Item {
    #Index<Item>([\.rank])
    @Attribute(.unique) var name: String
    var rank = 0
    init(_ name: String, rank: Int = 0) {
      self.name = name
      self.rank = rank
    }
  }

  @Model final class Other {
    var value = 1
    init() {}
  }

  private let folder = TemporaryDirectory()

  private var url: URL { URL(fileURLWithPath: folder.file("items.store")) }

  private func open(allowsSave: Bool = true, _ types: any PersistentModel.Type...) throws -> ModelContainer {
    try ModelContainer(
      for: Schema(types.isEmpty ? [Item.self] : types),
      configurations: ModelConfiguration(url: url, allowsSave: allowsSave))
  }

  private func fill(_ names: [String]) throws {
    let context = ModelContext(try open())
    for (rank, name) in names.enumerated() { context.insert(Item(name, rank: rank)) }
    try context.save()
  }

  @Test func containersOfOneFileShareIt() throws {
    let (first, second) = (try open(), try open())
    #expect(first != second)
    let (one, two) = (ModelContext(first), ModelContext(second))
    one.insert(Item("a"))
    try one.save()
    two.insert(Item("b"))
    try two.save()
    let mine = try one.fetch(FetchDescriptor<Item>())
    #expect(mine.map(\.name) == ["a", "b"])
    #expect(Set(mine.map(\.persistentModelID)).count == 2)
    let error = #expect(throws: RoostError.self) { try open(Item.self, Other.self) }
    #expect(error?.code == .invalidConfiguration)
  }

  @Test func memoryStoresAreSeparateAndKnowWhatTheyAre() throws {
    let configuration = ModelConfiguration(isStoredInMemoryOnly: true)
    let containers = try (0..<2).map { _ in try ModelContainer(for: Item.self, configurations: configuration)
    }
    let context = ModelContext(containers[0])
    context.insert(Item("a"))
    try context.save()
    #expect(try ModelContext(containers[0]).fetchCount(FetchDescriptor<Item>()) == 1)
    #expect(try ModelContext(containers[1]).fetchCount(FetchDescriptor<Item>()) == 0)
    #expect(containers[0].configurations.first?.isStoredInMemoryOnly == true)
  }

  @Test func aReadOnlyStoreIsReadAndNeverWritten() throws {
    try fill(["a", "b"])
    let before = try Data(contentsOf: url)
    let context = ModelContext(try open(allowsSave: false))
    #expect(try context.fetch(FetchDescriptor<Item>()).map(\.name) == ["a", "b"])
    context.insert(Item("c"))
    let error = #expect(throws: RoostError.self) { try context.save() }
    #expect(error?.code == .readOnly)
    #expect(throws: RoostError.self) { try context.container.erase() }
    #expect(try Data(contentsOf: url) == before)
  }

  @Test func eraseEmptiesTheStoreAndKeepsIdentifiersUnique() throws {
    let container = try open()
    let context = ModelContext(container)
    let first = Item("a")
    context.insert(first)
    try context.save()
    let identifier = first.persistentModelID
    try container.erase()
    let fresh = ModelContext(container)
    #expect(try fresh.fetchCount(FetchDescriptor<Item>()) == 0)
    let second = Item("a")
    fresh.insert(second)
    try fresh.save()
    #expect(second.persistentModelID > identifier)
    container.deleteAllData()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Item>()) == 0)
  }

  /// SPEC.md
  @Test func identifiersStayUniqueOverRelaunches() throws {
    var numbers: [PersistentIdentifier] = []
    for round in 0..<3 {
      let context = ModelContext(try open())
      let (kept, dropped) = (Item("\(round)"), Item("dropped"))
      context.insert(kept)
      context.insert(dropped)
      context.delete(dropped)
      try context.save()
      numbers += [kept.persistentModelID, dropped.persistentModelID]
    }
    #expect(Set(numbers).count == numbers.count)
    #expect(numbers == numbers.sorted())
  }

  @Test func whatIsNoStoreIsRefusedAndLeftAlone() throws {
    let contents: [[UInt8]] = [
      Array("not a store at all, but some text".utf8), [UInt8](repeating: 0, count: 40_000),
    ]
    for content in contents {
      try Data(content).write(to: url)
      let error = #expect(throws: StoreError.self) { try open() }
      #expect(error?.remedy.isEmpty == false)
      #expect(try Data(contentsOf: url) == Data(content))
    }
    let missing = URL(fileURLWithPath: folder.file("no/such/folder/items.store"))
    #expect(throws: StoreError.self) {
      try ModelContainer(for: Item.self, configurations: ModelConfiguration(url: missing))
    }
  }

  @Test func aStoreWithoutASchemaIsTakenOver() throws {
    _ = try Store.open(url.path)
    let context = ModelContext(try open())
    context.insert(Item("a"))
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Item>()) == 1)
  }

  @Test func unusableConfigurationsAreRefused() throws {
    let long = String(repeating: "x", count: 300)
    let configurations = [
      ModelConfiguration(long), ModelConfiguration("a/b"),
      ModelConfiguration(url: URL(string: "https://example.org/store") ?? url),
      ModelConfiguration("x", schema: Schema([Other.self]), isStoredInMemoryOnly: true),
    ]
    for configuration in configurations {
      let error = #expect(throws: RoostError.self) {
        try ModelContainer(for: Item.self, configurations: configuration)
      }
      #expect(error?.code == .invalidConfiguration)
      #expect(error?.remedy.isEmpty == false)
    }
    #expect(throws: RoostError.self) {
      try ModelContainer(
        for: Item.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true),
        ModelConfiguration(url: url))
    }
  }

  @Test func theDefaultPlaceIsNamedAfterTheProgram() {
    let configuration = ModelConfiguration()
    #expect(configuration.name == "default")
    #expect(configuration.url.lastPathComponent == "default.store")
    #expect(ModelConfiguration("habits").url.lastPathComponent == "habits.store")
    #if os(Linux)
      let program = URL(fileURLWithPath: CommandLine.arguments[0]).lastPathComponent
      #expect(configuration.url.deletingLastPathComponent().lastPathComponent == program)
    #endif
    #expect(ModelConfiguration(url: url).name == "items")
    #expect(
      ModelConfiguration(isStoredInMemoryOnly: true).url != ModelConfiguration(isStoredInMemoryOnly: true).url
    )
  }

  @Test @MainActor func theMainContextIsOneAndBelongsToItsContainer() throws {
    let container = try open()
    #expect(container.mainContext === container.mainContext)
    #expect(container.mainContext.container == container)
    #expect(container.mainContext.autosaveEnabled)
    #expect(!ModelContext(container).autosaveEnabled)
    weak var released: ModelContext?
    try {
      let short = try ModelContainer(
        for: Item.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
      released = short.mainContext
    }()
    #expect(released == nil)
  }

  @Test func manyContextsWorkAtOnce() async throws {
    let container = try open()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for round in 0..<10 {
            let context = ModelContext(container)
            context.insert(Item("\(task)-\(round)", rank: task))
            try context.save()
            let mine = FetchDescriptor<Item>(predicate: #Predicate { $0.rank == task })
            #expect(try context.fetchCount(mine) == round + 1)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Item>()) == 80)
  }
}
