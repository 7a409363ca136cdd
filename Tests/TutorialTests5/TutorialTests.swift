import SwiftData
import Testing

/// The tutorial's schemas and its way of opening a store, in Swift's language mode 5, as an app written
/// for Apple's systems has them.
@Suite struct TutorialTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "habits-\(UUID().uuidString)")

  private func withStore(_ body: (ModelConfiguration) throws -> Void) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(ModelConfiguration(url: folder.appending(path: "habits.store")))
  }

  @Test func aStoreOfTheFirstVersionOpensAsTheSecond() throws {
    try withStore { configuration in
      do {
        let container = try ModelContainer(
          for: HabitSchemaV1.Habit.self, configurations: configuration)
        let context = ModelContext(container)
        context.insert(HabitSchemaV1.Habit(name: "Read", doneToday: true))
        context.insert(HabitSchemaV1.Habit(name: "Run"))
        try context.save()
      }
      let before = Date.now
      let container = try ModelContainer(
        for: HabitSchemaV2.Habit.self, migrationPlan: HabitMigrationPlan.self, configurations: configuration)
      let context = ModelContext(container)
      let habits = try context.fetch(
        FetchDescriptor<HabitSchemaV2.Habit>(sortBy: [SortDescriptor(\.name)]))
      #expect(habits.map(\.name) == ["Read", "Run"])
      #expect(habits.map(\.doneToday) == [true, false])
      #expect(habits.allSatisfy { $0.createdAt >= before && $0.createdAt <= .now })
      #expect(habits[0].createdAt == habits[1].createdAt, "the default is settled once")
    }
  }

  @Test func whatIsInsertedToggledAndDeletedIsThereAfterARelaunch() throws {
    try withStore { configuration in
      for launch in 0..<3 {
        let container = try ModelContainer(
          for: HabitSchemaV2.Habit.self, migrationPlan: HabitMigrationPlan.self,
          configurations: configuration)
        let context = ModelContext(container)
        var habits = try context.fetch(
          FetchDescriptor<HabitSchemaV2.Habit>(sortBy: [SortDescriptor(\.createdAt)]))
        #expect(habits.count == launch && habits.allSatisfy(\.doneToday))
        if launch == 2 { context.delete(habits.removeFirst()) }
        let added = HabitSchemaV2.Habit(name: "New habit")
        context.insert(added)
        added.doneToday.toggle()
        try context.save()
      }
    }
  }

  @Test func theFallbackLivesInMemory() throws {
    let fallback = ModelConfiguration(isStoredInMemoryOnly: true)
    let container = try! ModelContainer(for: HabitSchemaV2.Habit.self, configurations: fallback)
    let context = ModelContext(container)
    context.insert(HabitSchemaV2.Habit(name: "New habit"))
    try context.save()
    let done = #Predicate<HabitSchemaV2.Habit> { $0.doneToday }
    #expect(try context.fetchCount(FetchDescriptor<HabitSchemaV2.Habit>()) == 1)
    #expect(try context.fetchCount(FetchDescriptor<HabitSchemaV2.Habit>(predicate: done)) == 0)
  }
}
