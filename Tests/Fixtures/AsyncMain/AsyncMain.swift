// A program with an asynchronous main that changes objects and ends in the way its first argument says. The
// second is the store's path.

import Roost

@Model final class Item {
  var name: String
  init(_ name: String) { self.name = name }
}

@main struct AsyncMain {
  static func main() async throws {
    let path = CommandLine.arguments[2]
    let container = try ModelContainer(
      for: Item.self, configurations: ModelConfiguration(url: URL(fileURLWithPath: path)))
    container.mainContext.insert(Item("first"))
    switch CommandLine.arguments[1] {
    case "end": break
    case "turn":
      // The turn ends here, and with it the change is saved.
      try await Task.sleep(for: .milliseconds(200))
      container.mainContext.insert(Item("second"))
      kill(getpid(), SIGKILL)
    case "late":
      try await Task.sleep(for: .milliseconds(50))
      container.mainContext.insert(Item("second"))
    case "once":
      // All changes of one turn are one save.
      let saves = Saves()
      let observer = NotificationCenter.default.addObserver(
        forName: ModelContext.didSave, object: nil, queue: nil
      ) { _ in saves.add() }
      for index in 0..<100 { container.mainContext.insert(Item("\(index)")) }
      try await Task.sleep(for: .milliseconds(200))
      print(saves.count)
      NotificationCenter.default.removeObserver(observer)
    case "released": try await releaseElsewhere(path + ".released")
    default: fatalError(CommandLine.arguments[1])
    }
  }

  /// The last reference to a container goes on another thread; the main context is saved all the same.
  @MainActor private static func releaseElsewhere(_ path: String) async throws {
    var container: ModelContainer? = try ModelContainer(
      for: Item.self, configurations: ModelConfiguration(url: URL(fileURLWithPath: path)))
    container?.mainContext.insert(Item("first"))
    let holder = container
    container = nil
    Task.detached {
      try await Task.sleep(for: .milliseconds(1))
      withExtendedLifetime(holder) {}
    }
    try await Task.sleep(for: .milliseconds(300))
  }
}

final class Saves: @unchecked Sendable {
  private let lock = NSLock()
  private var number = 0

  var count: Int { lock.withLock { number } }
  func add() { lock.withLock { number += 1 } }
}
