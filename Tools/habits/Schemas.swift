import Roost

// Each version of the models that has ever been shipped stays as it was; the plan says how one
// becomes the next.

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
    /// The default is what habits from before this version get.
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

/// The current version, which all of the program but the demonstration speaks of.
typealias Habit = HabitSchemaV2.Habit
