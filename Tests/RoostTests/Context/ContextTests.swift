import Foundation
import Roost
import Testing

@Suite struct ContextTests {
  @Test func savedObjectsAreTheSameObjectsWhenFetched() throws {
    let context = ModelContext(try Zoo.container())
    let lion = Zoo.Animal(name: "Leo")
    context.insert(lion)
    #expect(try context.all(Zoo.Animal.self) == [lion])
    try context.save()
    #expect(try context.all(Zoo.Animal.self).first === lion)
    #expect(!context.hasChanges)
  }

  @Test func anotherContextSeesWhatWasSaved() throws {
    let container = try Zoo.container()
    let context = ModelContext(container)
    let lion = Zoo.Animal(name: "Leo")
    lion.weight = 190.5
    context.insert(lion)
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Zoo.Animal>()) == 0)
    try context.save()
    let other = try #require(try ModelContext(container).all(Zoo.Animal.self).first)
    #expect(other !== lion)
    #expect(other.name == "Leo")
    #expect(other.weight == 190.5)
    #expect(other.persistentModelID == lion.persistentModelID)
  }

  @Test func identifiersAreFinalAtInsertAndSurviveCoding() throws {
    let context = ModelContext(try Zoo.container())
    let lion = Zoo.Animal(name: "Leo")
    #expect(lion.persistentModelID.isTemporary)
    context.insert(lion)
    let identifier = lion.persistentModelID
    #expect(!identifier.isTemporary)
    try context.save()
    #expect(lion.persistentModelID == identifier)
    let coded = try JSONEncoder().encode(identifier)
    #expect(try JSONDecoder().decode(PersistentIdentifier.self, from: coded) == identifier)
    let found: Zoo.Animal? = context.registeredModel(for: identifier)
    #expect(found === lion)
    #expect(context.model(for: identifier) as? Zoo.Animal === lion)
  }

  @Test func rolledBackInsertsDoNotGiveTheirIdentifiersToOthers() throws {
    let context = ModelContext(try Zoo.container())
    let first = Zoo.Animal(name: "a")
    context.insert(first)
    let number = first.persistentModelID
    context.rollback()
    #expect(first.modelContext == nil)
    let second = Zoo.Animal(name: "b")
    context.insert(second)
    #expect(second.persistentModelID > number)
  }

  @Test func rollbackRestoresValuesAndDeletedObjects() throws {
    let context = ModelContext(try Zoo.container())
    let lion = Zoo.Animal(name: "Leo")
    let gnu = Zoo.Animal(name: "Gary")
    context.insert(lion)
    context.insert(gnu)
    try context.save()
    lion.name = "changed"
    lion.weight = 3
    context.delete(gnu)
    #expect(context.changedModelsArray.map(\.persistentModelID) == [lion.persistentModelID])
    #expect(context.deletedModelsArray.map(\.persistentModelID) == [gnu.persistentModelID])
    #expect(gnu.isDeleted)
    context.rollback()
    #expect(!context.hasChanges)
    #expect(lion.name == "Leo")
    #expect(lion.weight == 0)
    #expect(!gnu.isDeleted)
    #expect(try context.fetchCount(FetchDescriptor<Zoo.Animal>()) == 2)
  }

  @Test func unsavedChangesAreLaidOverTheStore() throws {
    let context = ModelContext(try Zoo.container())
    for name in ["a", "b", "c"] { context.insert(Zoo.Animal(name: name)) }
    try context.save()
    let animals = try context.all(Zoo.Animal.self)
    animals[0].name = "z"
    context.delete(animals[1])
    context.insert(Zoo.Animal(name: "d"))
    var descriptor = FetchDescriptor<Zoo.Animal>(
      predicate: #Predicate { $0.name > "b" }, sortBy: [SortDescriptor(\.name)])
    #expect(try context.fetch(descriptor).map(\.name) == ["c", "d", "z"])
    #expect(try context.fetchCount(descriptor) == 3)
    descriptor.includePendingChanges = false
    // The saved rows b and c match; b isn't z for the store, nor gone.
    #expect(try context.fetchCount(descriptor) == 1)
    descriptor.predicate = #Predicate { $0.name == "a" }
    #expect(try context.fetchCount(descriptor) == 1)
  }

  @Test func theSaveTellsWhatItDid() throws {
    let context = ModelContext(try Zoo.container())
    let lion = Zoo.Animal(name: "Leo")
    let gnu = Zoo.Animal(name: "Gary")
    context.insert(lion)
    context.insert(gnu)
    try context.save()
    let kudu = Zoo.Animal(name: "Kim")
    context.insert(kudu)
    lion.weight = 9
    context.delete(gnu)
    nonisolated(unsafe) var info: [AnyHashable: Any] = [:]
    nonisolated(unsafe) var announced = false
    let center = NotificationCenter.default
    let will = center.addObserver(forName: ModelContext.willSave, object: context, queue: nil) { _ in
      announced = true
    }
    let did = center.addObserver(forName: ModelContext.didSave, object: context, queue: nil) { note in
      info = note.userInfo ?? [:]
    }
    defer {
      center.removeObserver(will)
      center.removeObserver(did)
    }
    try context.save()
    func identifiers(_ key: ModelContext.NotificationKey) -> [PersistentIdentifier]? {
      info[key.rawValue] as? [PersistentIdentifier]
    }
    #expect(announced)
    #expect(identifiers(.insertedIdentifiers) == [kudu.persistentModelID])
    #expect(identifiers(.updatedIdentifiers) == [lion.persistentModelID])
    #expect(identifiers(.deletedIdentifiers) == [gnu.persistentModelID])
  }

  @Test func deletedObjectsKeepTheirValues() throws {
    let container = try Zoo.container()
    let context = ModelContext(container)
    let keeper = Zoo.Keeper(badge: 1, name: "Kay")
    let lion = Zoo.Animal(name: "Leo", keeper: keeper)
    context.insert(lion)
    try context.save()
    let hash = lion.hashValue
    let identifier = lion.persistentModelID
    context.delete(lion)
    try context.save()
    #expect(lion.isDeleted)
    #expect(lion.modelContext == nil)
    #expect(lion.name == "Leo")
    #expect(lion.persistentModelID == identifier)
    #expect(lion.hashValue == hash)
    lion.name = "nobody reads this"
    lion.keeper = nil
    lion.notes.append(Zoo.Note("x"))
    #expect(!context.hasChanges)
    try context.save()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Zoo.Animal>()) == 0)
    #expect(keeper.animals.isEmpty)
  }

  @Test func deletionElsewhereIsNoTrap() throws {
    let container = try Zoo.container()
    let context = ModelContext(container)
    let lion = Zoo.Animal(name: "Leo")
    context.insert(lion)
    try context.save()
    let other = ModelContext(container)
    try other.delete(model: Zoo.Animal.self)
    try other.save()
    #expect(lion.name == "Leo")
    lion.name = "too late"
    try context.save()
    #expect(lion.isDeleted)
    #expect(try context.all(Zoo.Animal.self).isEmpty)
  }

  @Test func changesOfDifferentPropertiesAreMerged() throws {
    let container = try Zoo.container()
    let (one, two) = (ModelContext(container), ModelContext(container))
    let mine = Zoo.Animal(name: "Leo")
    one.insert(mine)
    try one.save()
    let theirs = try #require(try two.all(Zoo.Animal.self).first)
    mine.name = "Leona"
    theirs.weight = 7
    try one.save()
    try two.save()
    #expect(theirs.name == "Leona")
    _ = try one.all(Zoo.Animal.self)
    #expect(mine.weight == 7)
    #expect(mine.name == "Leona")
  }

  @Test(arguments: [ModelContext.ConflictPolicy.contextWins, .storeWins, .fails])
  func conflictsFollowThePolicy(_ policy: ModelContext.ConflictPolicy) throws {
    let container = try Zoo.container()
    let (one, two) = (ModelContext(container), ModelContext(container))
    let mine = Zoo.Animal(name: "Leo")
    one.insert(mine)
    try one.save()
    let theirs = try #require(try two.all(Zoo.Animal.self).first)
    mine.name = "one"
    theirs.name = "two"
    try one.save()
    two.conflictPolicy = policy
    switch policy {
    case .contextWins:
      try two.save()
      #expect(theirs.name == "two")
    case .storeWins:
      try two.save()
      #expect(theirs.name == "one")
    case .fails:
      let error = #expect(throws: RoostError.self) { try two.save() }
      #expect(error?.code == .conflict)
      #expect(error?.property == "name")
      #expect(two.hasChanges)
    }
  }

  @Test func misuseIsThrownBySave() throws {
    let container = try Zoo.container()
    let (one, two) = (ModelContext(container), ModelContext(container))
    let lion = Zoo.Animal(name: "Leo")
    one.insert(lion)
    two.insert(lion)
    #expect(throws: RoostError.self) { try two.save() }
    try one.save()
    #expect(throws: RoostError.self) { try one.fetch(FetchDescriptor<Stranger>()) }
    one.insert(Stranger())
    let error = #expect(throws: RoostError.self) { try one.save() }
    #expect(error?.code == .modelNotInSchema)
  }

  @Test func temporariesKeepTheStoreOpen() throws {
    let animals = try ModelContext(try filled()).fetch(FetchDescriptor<Zoo.Animal>())
    #expect(animals.first?.keeper?.name == "Kay")
    #expect(animals.first?.modelContext == nil)
    animals.first?.name = "not tracked any more"
  }

  private func filled() throws -> ModelContainer {
    let container = try Zoo.container()
    let context = ModelContext(container)
    context.insert(Zoo.Animal(name: "Leo", keeper: Zoo.Keeper(badge: 1, name: "Kay")))
    try context.save()
    return container
  }

  @Test func contextsAndObjectsAreReleased() throws {
    weak var animal: Zoo.Animal?
    weak var food: Zoo.Food?
    weak var store: AnyObject?
    try {
      let container = try Zoo.container()
      store = container
      let context = ModelContext(container)
      let lion = Zoo.Animal(name: "Leo", keeper: Zoo.Keeper(badge: 1, name: "Kay"))
      lion.foods = [Zoo.Food("gnu")]
      context.insert(lion)
      try context.save()
      animal = lion
      food = lion.foods.first
      #expect(food?.eaters.first === lion)
      #expect(lion.keeper?.animals.first === lion)
    }()
    #expect(animal == nil)
    #expect(food == nil)
    #expect(store == nil)
  }

  @Test func enumerateGoesThroughAllInBatches() throws {
    let context = ModelContext(try Zoo.container())
    for index in 0..<25 { context.insert(Zoo.Animal(name: "\(index)")) }
    try context.save()
    var names: [String] = []
    try context.enumerate(FetchDescriptor<Zoo.Animal>(), batchSize: 10) { names.append($0.name) }
    #expect(names == (0..<25).map(String.init))
    #expect(throws: RoostError.self) {
      try context.enumerate(FetchDescriptor<Zoo.Animal>(), batchSize: 10) { $0.weight = 1 }
    }
  }

  @Test func transactionSaves() throws {
    let container = try Zoo.container()
    let context = ModelContext(container)
    try context.transaction { context.insert(Zoo.Animal(name: "Leo")) }
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Zoo.Animal>()) == 1)
  }

  @Model final class Stranger {
    var x = 0
    init() {}
  }
}
