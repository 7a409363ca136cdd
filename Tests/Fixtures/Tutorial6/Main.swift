import SwiftData

// The tutorial's app without its user interface, a step an argument. Its store lies at the default place.
@main struct Main {
  @MainActor static func main() throws {
    switch CommandLine.arguments.dropFirst().first {
    case "first-release":
      let container = try ModelContainer(for: HabitSchemaV1.Habit.self)
      container.mainContext.insert(HabitSchemaV1.Habit(name: "Read", doneToday: true))
      container.mainContext.insert(HabitSchemaV1.Habit(name: "Run"))
    case "relaunch":
      let container = try ModelContainer(for: HabitSchemaV1.Habit.self)
      let habits = try container.mainContext.fetch(
        FetchDescriptor<HabitSchemaV1.Habit>(sortBy: [SortDescriptor(\.name)]))
      print(habits.map { "\($0.name) \($0.doneToday)" }.joined(separator: ", "))
      habits.first?.doneToday = false
    case "update":
      let app = HabitApp()
      let context = app.container.mainContext
      let habits = try context.fetch(FetchDescriptor<HabitSchemaV2.Habit>(sortBy: [SortDescriptor(\.name)]))
      print(habits.map { "\($0.name) \($0.doneToday)" }.joined(separator: ", "))
      print(Set(habits.map(\.createdAt)).count, habits.allSatisfy { abs($0.createdAt.timeIntervalSinceNow) < 600 })
      if let last = habits.last { context.delete(last) }
      context.insert(HabitSchemaV2.Habit(name: "Sleep"))
    case "broken":
      let app = HabitApp()
      print(app.container.configurations.allSatisfy(\.isStoredInMemoryOnly))
      app.container.mainContext.insert(HabitSchemaV2.Habit(name: "unsaved"))
      print(try app.container.mainContext.fetchCount(FetchDescriptor<HabitSchemaV2.Habit>()))
    default:
      print("give a step")
    }
  }
}
