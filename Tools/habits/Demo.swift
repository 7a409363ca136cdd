import Roost

/// What happens to a store when its models change, and when its file is damaged.
struct Demo {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("habits-demo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  func run() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let original = folder.appendingPathComponent("habits.store")
    print("1. A store of version 1, whose habits have no date:")
    try makeFirstVersion(original)

    print("\n2. The same, opened with version 2. Lazily: old records are read through the change.")
    try migrate(try copy(original, to: "lazy.store"), .lazy)

    print("\n3. Eagerly: every record has been rewritten when the container is there.")
    try migrate(try copy(original, to: "eager.store"), .eager)

    print("\n4. A copy whose header is damaged, and the fallback that lets an app start all the same:")
    let damaged = try copy(original, to: "damaged.store")
    try damage(damaged)
    try openOrFallBack(damaged)
  }

  private func makeFirstVersion(_ file: URL) throws {
    let container = try ModelContainer(
      for: Schema(versionedSchema: HabitSchemaV1.self), configurations: ModelConfiguration(url: file))
    let context = ModelContext(container)
    context.insert(HabitSchemaV1.Habit(name: "Read", doneToday: true))
    context.insert(HabitSchemaV1.Habit(name: "Run"))
    context.insert(HabitSchemaV1.Habit(name: "Sleep"))
    try context.save()
    for habit in try context.fetch(FetchDescriptor<HabitSchemaV1.Habit>(sortBy: [SortDescriptor(\.name)])) {
      print("   \(habit.doneToday ? "[x]" : "[ ]") \(habit.name)")
    }
  }

  private func migrate(_ file: URL, _ mode: MigrationMode) throws {
    for habit in try HabitList(ModelConfiguration(url: file, migration: mode)).all() {
      print("   \(habit.line)")
    }
  }

  private func openOrFallBack(_ file: URL) throws {
    let list: HabitList
    do {
      list = try HabitList(ModelConfiguration(url: file))
    } catch {
      print("   \(error)")
      print("   In memory instead; the file stays as it is.")
      list = try HabitList(ModelConfiguration(isStoredInMemoryOnly: true))
    }
    try list.add("Keep calm")
    for habit in try list.all() { print("   \(habit.line)") }
  }

  private func copy(_ file: URL, to name: String) throws -> URL {
    let target = folder.appendingPathComponent(name)
    try FileManager.default.copyItem(at: file, to: target)
    return target
  }

  /// Overwrites both copies of the header, behind the mark that says what the file is.
  private func damage(_ file: URL) throws {
    let handle = try FileHandle(forUpdating: file)
    for copy in [0, 4096] as [UInt64] {
      try handle.seek(toOffset: copy + 16)
      try handle.write(contentsOf: Data(repeating: 0xFF, count: 496))
    }
    try handle.close()
  }
}
