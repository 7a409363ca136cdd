// A program without concurrency that changes objects and ends in the way its first argument says. The
// second is the store's path.

import Roost

@Model final class Item {
  var name: String
  init(_ name: String) { self.name = name }
}

struct Failure: Error {}

let mode = CommandLine.arguments[1]
let configuration = ModelConfiguration(url: URL(fileURLWithPath: CommandLine.arguments[2]))
let container = try ModelContainer(for: Item.self, configurations: configuration)
let context = container.mainContext

context.insert(Item("first"))
switch mode {
case "end": break
case "exit": exit(3)
case "disabled": context.autosaveEnabled = false
case "saved":
  try context.save()
  context.insert(Item("second"))
  kill(getpid(), SIGKILL)
case "killed": kill(getpid(), SIGKILL)
case "throws": throw Failure()
case "busy":
  // The exit finds the writer's lock in its own thread's hands.
  try container.engine.write { transaction in
    _ = try transaction.createTable("busy")
    exit(4)
  }
case "other":
  // Another context that was asked to save by itself.
  let other = ModelContext(container)
  other.autosaveEnabled = true
  other.insert(Item("second"))
  withExtendedLifetime(other) { exit(0) }
case "released":
  let path = CommandLine.arguments[2] + ".released"
  func change() throws {
    let container = try ModelContainer(
      for: Item.self, configurations: ModelConfiguration(url: URL(fileURLWithPath: path)))
    container.mainContext.insert(Item("first"))
  }
  try change()
  let reopened = try ModelContainer(
    for: Item.self, configurations: ModelConfiguration(url: URL(fileURLWithPath: path)))
  print(try reopened.mainContext.fetchCount(FetchDescriptor<Item>()))
default: fatalError(mode)
}
