import Foundation
import Testing

@testable import Roost

/// A context that writes down what objects tell it.
private final class Recorder: ModelContextCore {
  var calls: [String] = []
  var objects: [UInt64: any PersistentModel] = [:]
  var unregistered: [UInt64] = []
  /// What the changing object's record held when it announced a change.
  var cleanSelf: ((any PersistentModel) -> Void)?

  func willChange(_ model: any PersistentModel, at index: Int) {
    cleanSelf?(model)
    calls.append("will \(index)")
  }
  func relationshipChanged(_ model: any PersistentModel, at index: Int) { calls.append("related \(index)") }
  func adopt(_ model: any PersistentModel, at index: Int) { calls.append("adopt \(index)") }
  func resolve<T: PersistentModel>(_ identifier: PersistentIdentifier, as type: T.Type) -> T? {
    calls.append("resolve \(identifier.number)")
    return objects[identifier.number] as? T
  }
  func resolveMany<T: PersistentModel>(_ identifiers: [PersistentIdentifier], as type: T.Type) -> [T] {
    calls.append("resolve many")
    return identifiers.compactMap { objects[$0.number] as? T }
  }
  func resolveStored<T: PersistentModel>(
    _ model: any PersistentModel, at index: Int, as type: T.Type
  ) -> [T] {
    calls.append("resolve stored \(index)")
    return objects.values.compactMap { $0 as? T }
  }
  func unregister(_ identifier: PersistentIdentifier) { unregistered.append(identifier.number) }

  func add(_ model: some PersistentModel, _ number: UInt64, isNew: Bool = false) {
    model._$state.register(identifier(number), with: self, isNew: isNew)
  }
  func identifier(_ number: UInt64) -> PersistentIdentifier {
    PersistentIdentifier(number: number, entityName: "X", storeIdentifier: "s")
  }
}

@Suite struct ModelStateTests {
  private let recorder = Recorder()

  @Test func theFirstChangeOfEachPropertyIsAnnounced() {
    let model = Watched()
    recorder.add(model, 1)
    #expect(!model.hasChanges)
    model.plain = 2
    model.plain = 3
    model.list.append(1)
    model.list.append(2)
    model.clamped = 30
    #expect(recorder.calls == ["will 0", "will 2", "will 3", "will 4"])
    #expect(model.hasChanges && model._$state.changes.contains(0) && !model._$state.changes.contains(1))
    model._$state.markClean()
    #expect(!model.hasChanges)
    model.plain = 4
    #expect(recorder.calls.last == "will 0" && recorder.calls.count == 5)
  }

  @Test func theObjectIsStillCleanWhenTheFirstChangeIsAnnounced() {
    let model = Watched()
    recorder.add(model, 1)
    var seen: [Int] = []
    recorder.cleanSelf = { seen.append(($0 as? Watched).map { recoded($0).plain } ?? 0) }
    model.plain = 2
    #expect(seen == [1])
  }

  @Test func anInsertedObjectIsAllChanged() {
    let model = Watched()
    recorder.add(model, 1, isNew: true)
    #expect(model.hasChanges && model._$state.changes == .all)
    model.plain = 5
    #expect(recorder.calls.isEmpty)
  }

  @Test func inheritedPropertiesHaveTheirOwnIndices() {
    let puppy = Puppy(weeks: 1)
    recorder.add(puppy, 1)
    puppy.weeks = 2
    puppy.tag = 3
    puppy.name = "n"
    puppy.isAsleep = true
    #expect(recorder.calls == ["will 4", "will 3", "will 0"])
  }

  @Test func anObjectLeavesItsContextWhenReleased() {
    do {
      let model = Watched()
      recorder.add(model, 42)
    }
    #expect(recorder.unregistered == [42])
    do {
      let model = Watched()
      recorder.add(model, 43)
      model._$state.detach()
    }
    #expect(recorder.unregistered == [42])
  }

  @Test func relationshipsAreFollowedThroughTheContext() {
    let (keeper, animal) = (Keeper(name: "k"), Animal(name: "a"))
    recorder.add(keeper, 1)
    recorder.add(animal, 2)
    keeper.animals = [animal]
    keeper.favourite = animal
    let copy = recoded(keeper)
    recorder.objects = [1: keeper, 2: animal]
    #expect(copy.favourite == nil, "an object without context can't follow")
    recorder.add(copy, 3)
    recorder.calls = []
    #expect(copy.favourite === animal && copy.favourite === animal)
    #expect(recorder.calls == ["resolve 2", "resolve 2"])
    #expect(copy.animals.first === animal && copy.animals.count == 1)
    #expect(recorder.calls.suffix(1) == ["resolve many"])
    // To-many objects are kept, so following them again costs nothing.
    #expect(recorder.calls.count == 3)
    copy._$state.detach()
    #expect(copy.animals.count == 1 && copy.favourite == nil)
    keeper._$state.detach()
    animal._$state.detach()
  }

  @Test func aRelationshipThatIsNotFollowedIsEncodedAsItWas() throws {
    let (keeper, animal) = (Keeper(name: "k"), Animal(name: "a"))
    recorder.add(animal, 2)
    keeper.animals = [animal]
    keeper.favourite = animal
    let copy = recoded(recoded(keeper))
    recorder.add(copy, 3)
    recorder.objects = [2: animal]
    #expect(copy.animals.count == 1 && copy.favourite === animal)
  }

  @Test func everyChangeOfARelationshipIsReported() {
    let (keeper, animal) = (Keeper(name: "k"), Animal(name: "a"))
    recorder.add(keeper, 1)
    keeper.animals.append(animal)
    keeper.animals.append(animal)
    keeper.favourite = animal
    keeper.name = "n"
    #expect(recorder.calls == ["will 2", "related 2", "related 2", "will 3", "related 3", "will 0"])
  }

  @Test func aVanishedTargetIsNil() {
    let (animal, keeper) = (Animal(name: "a"), Keeper(name: "k"))
    recorder.add(keeper, 1)
    animal.owner = keeper
    let copy = recoded(animal)
    recorder.add(copy, 2)
    #expect(copy.owner == nil)
    let kennel = Kennel(dog: Dog(name: "d", tag: 1))
    recorder.add(kennel.dog, 9)
    let emptied = recoded(kennel)
    recorder.add(emptied, 3)
    #expect(emptied.dog.isDeleted && emptied.dog.name.isEmpty)
  }

  @Test func theContextReachesARelationshipWithoutFollowingIt() throws {
    let (keeper, animal) = (Keeper(name: "k"), Animal(name: "a"))
    recorder.add(animal, 2)
    let animals = try #require(Keeper._$properties[2].relationship)
    let favourite = try #require(Keeper._$properties[3].relationship)
    #expect(animals.isToMany && !favourite.isToMany && animals.destination == Animal.self)
    animals.setContent(keeper, .loaded([animal]))
    #expect(keeper.animals.first === animal)
    animals.replaceContent(keeper, .identifiers([recorder.identifier(2)]))
    favourite.setContent(keeper, .identifiers([recorder.identifier(2)]))
    #expect(animals.content(keeper).identifiers == [recorder.identifier(2)])
    #expect(favourite.content(keeper).identifiers == [recorder.identifier(2)])
    recorder.add(keeper, 1)
    recorder.objects = [2: animal]
    #expect(keeper.animals.first === animal && keeper.favourite === animal)
    animals.replaceContent(keeper, .stored)
    #expect(animals.content(keeper).identifiers == nil)
    #expect(keeper.animals.count == 1 && recorder.calls.last == "resolve stored 2")
    favourite.setContent(keeper, .loaded([]))
    #expect(keeper.favourite == nil)
  }

  @Test func changesToARelationshipInPlaceAreCheap() {
    let keeper = Keeper(name: "k")
    recorder.add(keeper, 1)
    let clock = ContinuousClock()
    let animal = Animal(name: "a")
    // A copy at each append would move two gigabytes.
    let time = clock.measure {
      for _ in 0..<20_000 { keeper.animals.append(animal) }
    }
    #expect(keeper.animals.count == 20_000 && time < .seconds(2))
    recorder.calls = []
  }

  @Test func aMaskHoldsAnyIndex() {
    var mask = PropertyMask()
    for index in [0, 62, 63, 64, 1000] {
      #expect(mask.contains(index) == (index > 63))
      mask.insert(index)
      #expect(mask.contains(index))
    }
    #expect(mask.contains(63) && !mask.contains(1))
    mask.remove(500)
    #expect(!mask.contains(1000) && mask.contains(62))
  }
}
