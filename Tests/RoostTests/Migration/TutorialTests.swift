import Foundation
import Roost
import TestSupport
import Testing

enum HabitSchemaV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Habit.self] }

  @Model final class Habit {
    var name: String
    var doneToday: Bool
    init(name: String, doneToday: Bool = false) {
      self.name = name
      self.doneToday = doneToday
    }
  }
}

enum HabitSchemaV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Habit.self] }

  @Model final class Habit {
    var name: String
    var doneToday: Bool
    var createdAt: Date = Date.now
    init(name: String, doneToday: Bool = false, createdAt: Date = .now) {
      self.name = name
      self.doneToday = doneToday
      self.createdAt = createdAt
    }
  }
}

enum HabitMigrationPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [HabitSchemaV1.self, HabitSchemaV2.self] }
  static var stages: [MigrationStage] {
    [.lightweight(fromVersion: HabitSchemaV1.self, toVersion: HabitSchemaV2.self)]
  }
}

/// The same versions with a stage that has work to do.
enum CustomHabitPlan: SchemaMigrationPlan {
  nonisolated(unsafe) static var failure: (any Error)?
  static var schemas: [any VersionedSchema.Type] { [HabitSchemaV1.self, HabitSchemaV2.self] }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: HabitSchemaV1.self, toVersion: HabitSchemaV2.self,
        willMigrate: { context in
          for habit in try context.fetch(FetchDescriptor<HabitSchemaV1.Habit>()) where habit.name.isEmpty {
            habit.name = "unnamed"
          }
          try context.save()
        },
        didMigrate: { context in
          let all = try context.fetch(FetchDescriptor<HabitSchemaV2.Habit>(sortBy: [SortDescriptor(\.name)]))
          for (index, habit) in all.enumerated() {
            habit.createdAt = Date(timeIntervalSinceReferenceDate: Double(index))
          }
          context.insert(HabitSchemaV2.Habit(name: "made by the stage", createdAt: .distantPast))
          if let failure { throw failure }
        })
    ]
  }
}

/// The tutorial's way, from the first release over a migration to the fallback.
@Suite(.serialized) struct TutorialTests {
  let folder = TemporaryDirectory()

  private func configuration(_ mode: MigrationMode = .automatic) -> ModelConfiguration {
    ModelConfiguration(url: URL(fileURLWithPath: folder.file("habits.store")), migration: mode)
  }

  /// A first release with some habits.
  private func fill(_ names: [String]) throws {
    let container = try ModelContainer(for: HabitSchemaV1.Habit.self, configurations: configuration())
    let context = ModelContext(container)
    for name in names { context.insert(HabitSchemaV1.Habit(name: name, doneToday: name == "run")) }
    try context.save()
  }

  private func namesInV1() throws -> [String] {
    let container = try ModelContainer(for: HabitSchemaV1.Habit.self, configurations: configuration())
    return try ModelContext(container).fetch(FetchDescriptor<HabitSchemaV1.Habit>()).map(\.name)
  }

  @Test func dataSurvivesARelaunch() throws {
    try fill(["run", "read"])
    #expect(try namesInV1() == ["run", "read"])
  }

  @Test(arguments: [MigrationMode.lazy, .automatic, .eager])
  func theSecondReleaseOpensTheFirstOnesStore(_ mode: MigrationMode) throws {
    try fill(["run", "read"])
    var dates: [Date] = []
    for round in 0..<2 {
      let container = try ModelContainer(
        for: HabitSchemaV2.Habit.self, migrationPlan: HabitMigrationPlan.self,
        configurations: configuration(mode))
      let context = ModelContext(container)
      let habits = try context.fetch(FetchDescriptor<HabitSchemaV2.Habit>())
      #expect(habits.map(\.name) == ["run", "read"])
      #expect(habits.map(\.doneToday) == [true, false])
      dates += habits.map(\.createdAt)
      #expect(try container.sweep() == (mode == .lazy && round == 0 ? 2 : 0))
    }
    // The default is settled when the schema is taken over, not whenever a record is read.
    #expect(Set(dates).count == 1)
    #expect(abs(try #require(dates.first).timeIntervalSinceNow) < 60)
  }

  /// SPEC.md
  @Test func aLazyStoreIsReadAndWrittenAsAnyOther() throws {
    try fill(["run", "read", "eat"])
    for round in 0..<2 {
      let container = try ModelContainer(
        for: HabitSchemaV2.Habit.self, migrationPlan: HabitMigrationPlan.self,
        configurations: configuration(.lazy))
      let context = ModelContext(container)
      let now = Date.now
      let predicate = #Predicate<HabitSchemaV2.Habit> { $0.createdAt <= now && $0.name != "read" }
      let found = try context.fetch(FetchDescriptor(predicate: predicate))
      #expect(found.map(\.name) == (round == 0 ? ["run", "eat"] : ["jog", "eat", "sleep"]))
      if round == 0 {
        found[0].name = "jog"
        context.insert(HabitSchemaV2.Habit(name: "sleep"))
        try context.save()
      } else {
        #expect(try container.sweep() == 2)
      }
    }
  }

  @Test func aCustomStageSeesOldAndNewModels() throws {
    try fill(["run", "", "read"])
    let container = try ModelContainer(
      for: HabitSchemaV2.Habit.self, migrationPlan: CustomHabitPlan.self, configurations: configuration())
    let habits = try ModelContext(container).fetch(
      FetchDescriptor<HabitSchemaV2.Habit>(sortBy: [SortDescriptor(\.createdAt)]))
    #expect(habits.map(\.name) == ["made by the stage", "read", "run", "unnamed"])
    #expect(habits.last?.createdAt == Date(timeIntervalSinceReferenceDate: 2))
  }

  @Test func aFailingStageLeavesTheStoreAsItWas() throws {
    struct Refusal: Error {}
    try fill(["run", ""])
    CustomHabitPlan.failure = Refusal()
    defer { CustomHabitPlan.failure = nil }
    let before = try Data(contentsOf: configuration().url)
    #expect(throws: Refusal.self) {
      try ModelContainer(
        for: HabitSchemaV2.Habit.self, migrationPlan: CustomHabitPlan.self, configurations: configuration())
    }
    #expect(try Data(contentsOf: configuration().url) == before)
    #expect(try namesInV1() == ["run", ""])
    CustomHabitPlan.failure = nil
    let container = try ModelContainer(
      for: HabitSchemaV2.Habit.self, migrationPlan: CustomHabitPlan.self, configurations: configuration())
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<HabitSchemaV2.Habit>()) == 3)
  }

  @Test func lazyRefusesACustomStage() throws {
    try fill(["run"])
    let error = #expect(throws: RoostError.self) {
      try ModelContainer(
        for: HabitSchemaV2.Habit.self, migrationPlan: CustomHabitPlan.self,
        configurations: configuration(.lazy))
    }
    #expect(error?.code == .stageNotLazy)
    #expect(try namesInV1() == ["run"])
  }

  @Test func withoutAPlanAdditionsAreInferred() throws {
    try fill(["run"])
    let container = try ModelContainer(for: HabitSchemaV2.Habit.self, configurations: configuration())
    #expect(try ModelContext(container).fetch(FetchDescriptor<HabitSchemaV2.Habit>()).map(\.name) == ["run"])
  }

  @Test func theFallbackNeverBlocksTheLaunch() throws {
    try fill(["run"])
    try {
      let newer = try ModelContainer(
        for: HabitSchemaV2.Habit.self, migrationPlan: HabitMigrationPlan.self, configurations: configuration()
      )
      #expect(newer.configurations.first?.isStoredInMemoryOnly == false)
    }()
    let before = try Data(contentsOf: configuration().url)
    let container: ModelContainer
    do {
      // An older release meets the newer store.
      container = try ModelContainer(for: HabitSchemaV1.Habit.self, configurations: configuration())
      Issue.record("the store was opened")
    } catch {
      #expect((error as? RoostError)?.code == .backwardMigration)
      let fallback = ModelConfiguration(isStoredInMemoryOnly: true)
      container = try ModelContainer(for: HabitSchemaV1.Habit.self, configurations: fallback)
    }
    #expect(container.configurations.first?.isStoredInMemoryOnly == true)
    let context = ModelContext(container)
    context.insert(HabitSchemaV1.Habit(name: "not kept"))
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<HabitSchemaV1.Habit>()) == 1)
    #expect(try Data(contentsOf: configuration().url) == before)
  }

  @Test func openingDoesNotBlockTheCaller() async throws {
    try fill(["run", "read"])
    let container = try await ModelContainer.open(
      for: HabitSchemaV2.Habit.self, migrationPlan: HabitMigrationPlan.self,
      configurations: configuration(.eager))
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<HabitSchemaV2.Habit>()) == 2)
  }
}
