import Roost

/// What the user asks for.
enum Request {
  case overview
  case add(String)
  case list
  case done(String)
  case delete(String)
  case demo

  static let usage = """
    Tracks habits, in a store of the model layer.

    usage: habits [--store PATH] COMMAND

      add NAME      begin a habit
      list          show all
      done NAME     mark one as done today
      delete NAME   give one up
      demo          show a migration and a damaged store, in a temporary folder

    Without --store, HABITS_STORE names the store's file, or it lies at the default place.
    """

  init(_ words: [String]) throws {
    switch (words.first, words.dropFirst().joined(separator: " ")) {
    case (nil, _), ("help", ""), ("--help", ""): self = .overview
    case ("list", ""): self = .list
    case ("demo", ""): self = .demo
    case ("add", let name) where !name.isEmpty: self = .add(name)
    case ("done", let name) where !name.isEmpty: self = .done(name)
    case ("delete", let name) where !name.isEmpty: self = .delete(name)
    default: throw UsageError()
    }
  }
}

struct UsageError: Error {}

/// The command line: the request, and the store it is about.
struct Invocation {
  let request: Request
  let configuration: ModelConfiguration

  init(_ arguments: [String], environment: [String: String]) throws {
    var words = arguments
    var path = environment["HABITS_STORE"]
    if let option = words.firstIndex(of: "--store") {
      guard option + 1 < words.count else { throw UsageError() }
      path = words[option + 1]
      words.removeSubrange(option...option + 1)
    }
    request = try Request(words)
    configuration = path.map { ModelConfiguration(url: URL(fileURLWithPath: $0)) } ?? ModelConfiguration()
  }

  func run() throws {
    switch request {
    case .overview: try printOverview()
    case .add(let name): try HabitList(configuration).add(name)
    case .list: for habit in try HabitList(configuration).all() { print(habit.line) }
    case .done(let name): try HabitList(configuration).markDone(name)
    case .delete(let name): try HabitList(configuration).delete(name)
    case .demo: try Demo().run()
    }
  }

  private func printOverview() throws {
    print(Request.usage + "\n\nThe store: \(configuration.url.path)")
    guard FileManager.default.fileExists(atPath: configuration.url.path) else {
      return print("It is not there yet; `habits add` makes it.")
    }
    let habits = try HabitList(configuration).all()
    let noun = habits.count == 1 ? "habit" : "habits"
    print("\(habits.count) \(noun), \(habits.count(where: \.doneToday)) of them done today.")
  }
}
