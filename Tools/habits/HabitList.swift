import Roost

/// The habits in one store.
struct HabitList {
  private let context: ModelContext

  init(_ configuration: ModelConfiguration) throws {
    let container = try ModelContainer(
      for: Habit.self, migrationPlan: HabitMigrationPlan.self, configurations: configuration)
    context = ModelContext(container)
  }

  func all() throws -> [Habit] {
    try context.fetch(FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.createdAt), SortDescriptor(\.name)]))
  }

  func add(_ name: String) throws {
    guard try find(name) == nil else { throw HabitError.exists(name) }
    context.insert(Habit(name: name))
    try context.save()
  }

  func markDone(_ name: String) throws {
    guard let habit = try find(name) else { throw HabitError.unknown(name) }
    habit.doneToday = true
    try context.save()
  }

  func delete(_ name: String) throws {
    guard let habit = try find(name) else { throw HabitError.unknown(name) }
    context.delete(habit)
    try context.save()
  }

  private func find(_ name: String) throws -> Habit? {
    try context.fetch(FetchDescriptor<Habit>(predicate: #Predicate { $0.name == name })).first
  }
}

enum HabitError: Error, CustomStringConvertible {
  case unknown(String)
  case exists(String)

  var description: String {
    switch self {
    case .unknown(let name): "there is no habit \"\(name)\""
    case .exists(let name): "there is a habit \"\(name)\" already"
    }
  }
}

extension Habit {
  /// One line of a list.
  var line: String {
    "\(doneToday ? "[x]" : "[ ]") \(name), since \(createdAt.formatted(.iso8601))"
  }
}
