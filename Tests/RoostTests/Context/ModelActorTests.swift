import Foundation
import Testing

@testable import Roost

@ModelActor
private actor Clerk {
  func add(_ name: String) throws -> PersistentIdentifier {
    let animal = Animal(name: name)
    modelContext.insert(animal)
    try modelContext.save()
    return animal.persistentModelID
  }

  func name(of identifier: PersistentIdentifier) -> String? { self[identifier, as: Animal.self]?.name }

  func isKeeper(_ identifier: PersistentIdentifier) -> Bool { self[identifier, as: Keeper.self] != nil }

  func isOnMainThread() -> Bool { Thread.isMainThread }
}

@Suite struct ModelActorTests {
  private func container() throws -> ModelContainer {
    let configuration = ModelConfiguration(isStoredInMemoryOnly: true)
    return try ModelContainer(for: Animal.self, Keeper.self, configurations: configuration)
  }

  @Test func anActorWorksOnItsOwnContext() async throws {
    let clerk = Clerk(modelContainer: try container())
    let identifier = try await clerk.add("Rex")
    #expect(await clerk.name(of: identifier) == "Rex")
    #expect(await !clerk.isKeeper(identifier))
    #expect(await !clerk.isOnMainThread())
  }

  @Test func identifiersPassBetweenActors() async throws {
    let container = try container()
    let (first, second) = (Clerk(modelContainer: container), Clerk(modelContainer: container))
    let identifier = try await first.add("Rex")
    #expect(await second.name(of: identifier) == "Rex")
    #expect(first.modelContainer == second.modelContainer)
  }

  @Test func workFromManyTasksIsDoneOneByOne() async throws {
    let clerk = Clerk(modelContainer: try container())
    let identifiers = try await withThrowingTaskGroup(of: PersistentIdentifier.self) { group in
      for number in 0..<50 { group.addTask { try await clerk.add("\(number)") } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(identifiers.count == 50)
  }
}
