import Foundation
import Testing

@testable import Roost

@Suite struct ModelCodingTests {
  private func filled() -> Everything {
    let model = Everything(flag: true, int: .min, string: "naïve", mood: .cross, media: .text("m"))
    model.int8 = .min
    model.int16 = .max
    model.int32 = .min
    model.int64 = .max
    model.uint = .max
    model.uint8 = .max
    model.uint16 = .max
    model.uint32 = .max
    model.uint64 = .max
    model.float = 0.1
    model.double = -Double.infinity
    model.data = Data([0, 1, 255])
    model.date = Date(timeIntervalSinceReferenceDate: 0.1)
    model.url = URL(string: "https://example.org/a?b=c")
    model.decimal = Decimal(string: "123456789.000000001") ?? 0
    model.score = 1.5
    model.optionalInt = 0
    model.optionalDate = .distantFuture
    model.optionalLevel = .high
    model.address = Address(street: "s", number: 3)
    model.optionalAddress = Address()
    model.tags = ["b", "", "a"]
    model.counts = ["x": 1, "": -1]
    model.numbers = [3, 1, 2]
    return model
  }

  @Test func everyKindOfValueSurvivesARecord() {
    let model = filled()
    let copy = recoded(model)
    #expect(copy.flag && copy.int == .min && copy.string == "naïve")
    #expect(copy.int8 == .min && copy.int16 == .max && copy.int32 == .min && copy.int64 == .max)
    #expect(copy.uint == .max && copy.uint8 == .max && copy.uint16 == .max)
    #expect(copy.uint32 == .max && copy.uint64 == .max)
    #expect(copy.float == 0.1 && copy.double == -.infinity && copy.score == 1.5)
    #expect(copy.data == model.data && copy.date == model.date && copy.uuid == model.uuid)
    #expect(copy.url == model.url && copy.decimal == model.decimal)
    #expect(copy.optionalInt == 0 && copy.optionalDate == .distantFuture)
    #expect(copy.mood == .cross && copy.optionalLevel == .high && copy.media == .text("m"))
    #expect(copy.address == model.address && copy.optionalAddress == Address())
    #expect(copy.tags == model.tags && copy.counts == model.counts && copy.numbers == model.numbers)
  }

  @Test func nilAndEmptySurviveARecord() {
    let copy = recoded(Everything(flag: false, int: 0, string: "", mood: .calm, media: .none))
    #expect(copy.url == nil && copy.optionalInt == nil && copy.optionalDate == nil)
    #expect(copy.optionalLevel == nil && copy.optionalAddress == nil)
    #expect(copy.tags.isEmpty && copy.counts.isEmpty && copy.numbers.isEmpty && copy.data.isEmpty)
    #expect(copy.media == .none && copy.partner == nil && copy.friends.isEmpty)
  }

  @Test func aTransientPropertyStartsAnew() {
    let model = filled()
    model.cache = 8
    #expect(model.cache == 8)
    #expect(recoded(model).cache == 7)
    #expect(!Everything._$properties.contains { $0.name == "cache" })
  }

  @Test func anEphemeralPropertyIsKnownButNotStored() {
    let model = filled()
    model.volatile.append(8)
    #expect(model.volatile == [7, 8] && recoded(model).volatile == [7])
    #expect(Everything._$properties.last?.name == "volatile")
  }

  @Test func valuesOfAwkwardNamesSurvive() {
    let model = Awkward(id: UUID())
    model.class = "k"
    model.hash = 11
    let copy = recoded(model)
    #expect(copy.id == model.id && copy.class == "k" && copy.hash == 11 && copy.doubled == 22)
    #expect(copy.description == "a description" && copy.constant == 6 && copy.sealed == 5)
    #expect(copy.persistentModelID != model.persistentModelID)
    #expect(Awkward._$properties.map(\.name).contains("class"))
  }

  @Test func aClassWithoutInitializerGetsOne() {
    let model = Bare()
    model.note = "n"
    #expect(recoded(model).name == "bare" && recoded(model).note == "n")
  }

  @Test func anEmptyRecordIsNotedAndNeverTraps() {
    let absent = RecordReader.absent
    let model = Everything(_$record: absent)
    #expect(model.int == 0 && model.string.isEmpty && model.friends.isEmpty && model.partner == nil)
    #expect(model.mood == .calm, "the first case")
    #expect(model.optionalLevel == nil && model.address == Address() && model.tags.isEmpty)
  }

  @Test func aRequiredObjectThatIsGoneIsDeletedAndEmpty() {
    let kennel = Kennel.absent()
    #expect(kennel.isDeleted && kennel.level == .low)
    #expect(kennel.dog.isDeleted && kennel.dog.name.isEmpty && kennel.dog.owner == nil)
    kennel.dog = Dog(name: "new", tag: 1)
    #expect(kennel.dog.name == "new")
  }

  @Test func refreshReplacesTheNamedPropertiesOnly() {
    let model = filled()
    let newer = filled()
    newer.int = 5
    newer.string = "newer"
    newer.tags = ["newer"]
    var mask = PropertyMask()
    for name in ["int", "tags"] {
      guard let index = Everything._$properties.first(where: { $0.name == name })?.index else { continue }
      mask.insert(index)
    }
    withRecord(of: newer) { model._$refresh($0, mask) }
    #expect(model.int == 5 && model.tags == ["newer"] && model.string == "naïve")
  }

  @Test func refreshTellsObservers() {
    let model = Watched()
    let newer = Watched()
    newer.plain = 2
    let changes = ChangeCounter()
    withObservationTracking {
      _ = model.plain
    } onChange: {
      changes.increment()
    }
    withRecord(of: newer) { model._$refresh($0, .all) }
    #expect(changes.count == 1 && model.plain == 2)
    #expect(model.log.isEmpty, "a property's own observers don't run")
  }
}
