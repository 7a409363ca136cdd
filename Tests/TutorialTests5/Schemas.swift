import SwiftData

enum HabitSchemaV1: VersionedSchema {
  static var versionIdentifier = Schema.Version(1, 0, 0)
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
  static var versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Habit.self] }

  @Model final class Habit {
    var name: String
    var doneToday: Bool
    var createdAt: Date = Date.now  // new properties must carry a default value
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
