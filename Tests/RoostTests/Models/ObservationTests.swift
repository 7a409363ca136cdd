import Foundation
import Synchronization
import Testing

@testable import Roost

final class ChangeCounter: Sendable {
  private let value = Mutex(0)
  func increment() { value.withLock { $0 += 1 } }
  var count: Int { value.withLock { $0 } }
}

@Suite struct ObservationTests {
  private func changes(reading read: () -> Void, then change: () -> Void) -> Int {
    let counter = ChangeCounter()
    withObservationTracking(read) { counter.increment() }
    change()
    return counter.count
  }

  @Test func settingAReadPropertyIsReported() {
    let model = Watched()
    #expect(changes(reading: { _ = model.plain }, then: { model.plain = 2 }) == 1)
    #expect(changes(reading: { _ = model.list }, then: { model.list = [1] }) == 1)
    #expect(changes(reading: { _ = model.list }, then: { model.list.append(2) }) == 1)
    #expect(changes(reading: { _ = model.plain }, then: { model.plain += 1 }) == 1)
    #expect(changes(reading: { _ = model.clamped }, then: { model.clamped = 3 }) == 1)
    #expect(changes(reading: { _ = model.mood }, then: { model.mood = .cross }) == 1)
  }

  @Test func settingAnotherPropertyIsNot() {
    let model = Watched()
    #expect(changes(reading: { _ = model.plain }, then: { model.other = 2 }) == 0)
    #expect(changes(reading: { _ = model.list }, then: { model.plain = 2 }) == 0)
    #expect(changes(reading: {}, then: { model.plain = 3 }) == 0)
  }

  @Test func inheritedPropertiesAreReported() {
    let puppy = Puppy(weeks: 3)
    #expect(changes(reading: { _ = puppy.name }, then: { puppy.name = "n" }) == 1)
    #expect(changes(reading: { _ = puppy.weeks }, then: { puppy.weeks = 4 }) == 1)
    #expect(changes(reading: { _ = puppy.isAsleep }, then: { puppy.isAsleep = true }) == 1)
    #expect(changes(reading: { _ = (puppy as Animal).name }, then: { puppy.name = "m" }) == 1)
    #expect(changes(reading: { _ = puppy.name }, then: { puppy.breed = "m" }) == 0)
  }

  @Test func relationshipsAreReported() {
    let keeper = Keeper(name: "k")
    let animal = Animal(name: "a")
    #expect(changes(reading: { _ = keeper.animals }, then: { keeper.animals.append(animal) }) == 1)
    #expect(changes(reading: { _ = animal.owner?.name }, then: { animal.owner = keeper }) == 1)
    #expect(changes(reading: { _ = animal.owner?.name }, then: { keeper.name = "q" }) == 1)
  }

  @Test func anUnobservedObjectHasNoRegistrar() {
    let model = Watched()
    model.plain += model.other
    model.list.append(1)
    #expect(model._$state.registrar == nil)
    withObservationTracking {
      _ = model.plain
    } onChange: {
    }
    #expect(model._$state.registrar != nil)
  }

  @Test func theProbeKnowsWhetherTrackingIsOn() {
    #expect(!ModelState.isTracked)
    withObservationTracking {
      #expect(ModelState.isTracked && ModelState.isTracked)
      withObservationTracking {
        #expect(ModelState.isTracked)
      } onChange: {
      }
      #expect(ModelState.isTracked)
    } onChange: {
    }
    #expect(!ModelState.isTracked)
  }

  @Test func theValueIsTheOldOneWhileAChangeIsAnnounced() {
    nonisolated(unsafe) let model = Watched()
    nonisolated(unsafe) var seen: [Int] = []
    withObservationTracking {
      _ = model.plain
    } onChange: {
      seen.append(model.plain)
      model.other = 9
    }
    model.plain = 7
    #expect(seen == [1] && model.plain == 7 && model.other == 9)
  }

  @Test @MainActor func observationsDeliverChanges() async {
    let model = Watched()
    let values = Observations { model.plain }
    var seen: [Int] = []
    for await value in values {
      seen.append(value)
      if value == 3 { break }
      model.plain = value + 1
    }
    #expect(seen == [1, 2, 3])
  }
}

@Suite struct PropertyObserverTests {
  @Test func observersRunOnceForEachSet() {
    let model = Watched()
    model.clamped = 4
    #expect(model.log == ["will 4", "did 0"])
    model.clamped += 1
    #expect(model.log == ["will 4", "did 0", "will 5", "did 4"] && model.clamped == 5)
  }

  @Test func anObserverMaySetItsOwnProperty() {
    let model = Watched()
    model.clamped = 50
    #expect(model.clamped == 10 && model.log == ["will 50", "did 0"])
    model.clamped = 60
    #expect(model.clamped == 10 && model.log.count == 4)
  }

  @Test func anObserverMayReturnEarly() {
    let model = Watched()
    model.mood = .calm
    #expect(model.log.isEmpty)
    model.mood = .cross
    #expect(model.log == ["mood"])
  }

  @Test func observersSeeTheNamesTheyWrite() {
    let model = Awkward(id: UUID())
    model.registrar = "r"
    #expect(model.value == "r" && model.properties == "r")
    model.oldValue = 5
    #expect(model.table == "5")
    model.newValue = 2
    #expect(model.table == "1 2")
  }
}
