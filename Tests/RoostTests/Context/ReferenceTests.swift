import Foundation
import Roost
import TestSupport
import Testing

/// References when rows fall together, vanish, or are changed by two contexts at once.
@Suite struct ReferenceTests {
  private let town = TownStore()
  private let container: ModelContainer
  private let context: ModelContext

  init() throws {
    container = try town.container()
    context = ModelContext(container)
  }

  private func other() -> ModelContext { ModelContext(container) }

  private func person(_ serial: Int, in context: ModelContext) throws -> Town.Person? {
    try context.fetch(FetchDescriptor<Town.Person>(predicate: #Predicate { $0.serial == serial })).first
  }

  private func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
    // A copy, for the store is open.
    let copy = town.folder.file("copy.store")
    try? FileManager.default.removeItem(atPath: copy)
    try FileManager.default.copyItem(atPath: town.path, toPath: copy)
    #expect(try IndependentReader.check(copy) ?? "sound" == "sound", sourceLocation: sourceLocation)
  }

  // MARK: Upserts

  @Test func membersOfAnUpsertGoToTheRowThatStays() throws {
    let first = Town.Person(code: 1, serial: 1)
    first.pets = [Town.Pet(code: nil, serial: 2)]
    context.insert(first)
    try context.save()
    let identifier = first.persistentModelID
    let second = Town.Person(code: 1, serial: 3)
    second.pets = [Town.Pet(code: nil, serial: 4)]
    second.papers = [Town.Paper(code: nil, serial: 5)]
    second.clubs = [Town.Club(code: nil, serial: 6)]
    second.friend = second
    context.insert(second)
    try context.save()
    for there in [context, other()] {
      let person = try #require(try person(3, in: there))
      #expect(person.persistentModelID == identifier)
      #expect(Set(person.pets.map(\.serial)) == [2, 4])
      #expect(person.pets.allSatisfy { $0.owner === person })
      #expect(person.papers.map(\.holder) == [person])
      #expect(person.clubs.first?.people == [person])
      #expect(person.friend === person)
    }
    #expect(first.serial == 3)
    #expect(second.isDeleted)
    try expectSound()
  }

  @Test func theOrderOfChangesDoesNotMatter() throws {
    let stored = Town.Person(code: 1, serial: 1)
    context.insert(stored)
    try context.save()
    // The new object first, then the row it will find.
    let new = Town.Person(code: 1, serial: 2)
    context.insert(new)
    stored.seen = [Town.Pet(code: nil, serial: 3)]
    new.clubs = [Town.Club(code: nil, serial: 4)]
    try context.save()
    let there = try #require(try person(2, in: other()))
    #expect(there.seen.map(\.serial) == [3])
    #expect(there.clubs.map(\.serial) == [4])
    try expectSound()
  }

  @Test func partnersOfAnUpsertLetGo() throws {
    let (first, desk) = (Town.Person(code: 1, serial: 1), Town.Desk(code: 1, serial: 2))
    first.desk = desk
    context.insert(first)
    try context.save()
    let second = Town.Person(code: 1, serial: 3)
    second.desk = Town.Desk(code: 2, serial: 4)
    context.insert(second)
    try context.save()
    #expect(desk.user == nil)
    let there = try #require(try person(3, in: other()))
    #expect(there.desk?.serial == 4)
    #expect(there.desk?.user === there)
    try expectSound()
  }

  @Model final class Seat {
    #Unique<Seat>([\.row, \.number])
    var row: Row?
    var number: Int
    var guest: String
    init(_ row: Row, _ number: Int, _ guest: String) {
      self.row = row
      self.number = number
      self.guest = guest
    }
  }

  @Model final class Row {
    @Attribute(.unique) var name: String
    @Relationship(inverse: \Seat.row) var seats: [Seat] = []
    init(_ name: String) { self.name = name }
  }

  @Test func rulesOverReferencesSeeTheRowsThatStay() throws {
    let context = ModelContext(
      try ModelContainer(for: Seat.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    context.insert(Seat(Row("A"), 1, "Ann"))
    try context.save()
    context.insert(Seat(Row("A"), 1, "Bob"))
    context.insert(Seat(Row("A"), 2, "Cid"))
    context.insert(Seat(Row("A"), 2, "Dan"))
    try context.save()
    let there = ModelContext(context.container)
    #expect(Set(try there.all(Seat.self).map(\.guest)) == ["Bob", "Dan"])
    #expect(try there.all(Row.self).map(\.seats.count) == [2])
    #expect(try there.all(Seat.self).allSatisfy { $0.row?.name == "A" })
  }

  // MARK: References to what is gone

  @Test("[R-18] One-way references read nil and are dropped at the next write")
  func danglingReferences() throws {
    let (a, b, pet) = (Town.Person(code: 1, serial: 1), Town.Person(code: 2, serial: 2), Town.Pet(code: 1, serial: 3))
    let kept = Town.Pet(code: 2, serial: 4)
    a.friend = b
    a.seen = [pet, kept]
    context.insert(a)
    try context.save()
    let second = other()
    try second.delete(model: Town.Person.self, where: #Predicate { $0.serial == 2 })
    try second.delete(model: Town.Pet.self, where: #Predicate { $0.serial == 3 })
    try second.save()
    let there = try #require(try person(1, in: other()))
    #expect(there.friend == nil)
    #expect(there.seen.map(\.serial) == [4])
    try expectSound()
    let writer = other()
    let mine = try #require(try person(1, in: writer))
    mine.code = 7
    mine.seen.append(Town.Pet(code: 5, serial: 5))
    try writer.save()
    #expect(mine.friend == nil)
    #expect(try person(1, in: other())?.seen.map(\.serial) == [4, 5])
    try expectSound()
  }

  // MARK: Two contexts

  @Test func aMemberThatAnotherContextAddedLosesItsDeletedOwner() throws {
    let owner = Town.Person(code: 1, serial: 1)
    context.insert(owner)
    try context.save()
    #expect(owner.pets.isEmpty && owner.papers.isEmpty && owner.desk == nil)
    let second = other()
    let ownerThere = try #require(try person(1, in: second))
    let (pet, paper, desk) = (
      Town.Pet(code: 1, serial: 2), Town.Paper(code: 1, serial: 3), Town.Desk(code: 1, serial: 4)
    )
    (pet.owner, paper.holder, desk.user) = (ownerThere, ownerThere, ownerThere)
    for model in [pet, paper, desk] as [any PersistentModel] { second.insert(model) }
    try second.save()
    context.delete(owner)
    try context.save()
    let third = other()
    #expect(try third.all(Town.Pet.self).map { $0.owner == nil } == [true])
    #expect(try third.all(Town.Paper.self).isEmpty)
    #expect(try third.all(Town.Desk.self).map { $0.user == nil } == [true])
    try expectSound()
  }

  @Test func anOwnerThatAnotherContextDeletedIsNotReferredTo() throws {
    let (owner, club) = (Town.Person(code: 1, serial: 1), Town.Club(code: 1, serial: 2))
    context.insert(owner)
    context.insert(club)
    try context.save()
    let second = other()
    try second.delete(model: Town.Person.self)
    try second.save()
    let pet = Town.Pet(code: 1, serial: 3)
    pet.owner = owner
    club.people.append(owner)
    context.insert(pet)
    try context.save()
    #expect(pet.owner == nil)
    #expect(club.people.isEmpty)
    #expect(owner.isDeleted)
    try expectSound()
  }

  @Test func twoContextsSeatTwoPeopleAtOneDesk() throws {
    let people = (1...2).map { Town.Person(code: $0, serial: $0) }
    for person in people { context.insert(person) }
    context.insert(Town.Desk(code: 1, serial: 3))
    try context.save()
    let second = other()
    let (mine, theirs) = (try context.all(Town.Desk.self)[0], try second.all(Town.Desk.self)[0])
    theirs.user = try person(1, in: second)
    try second.save()
    mine.user = people[1]
    try context.save()
    let third = other()
    #expect(try third.all(Town.Desk.self)[0].user?.serial == 2)
    #expect(try person(1, in: third)?.desk == nil)
    try expectSound()
  }

  @Test func whatAnotherContextAddedIsSeenAfterASave() throws {
    let club = Town.Club(code: 1, serial: 1)
    context.insert(club)
    try context.save()
    #expect(club.people.isEmpty)
    let second = other()
    let there = try #require(try second.all(Town.Club.self).first)
    there.people.append(Town.Person(code: 1, serial: 2))
    try second.save()
    club.people.append(Town.Person(code: 2, serial: 3))
    try context.save()
    #expect(Set(club.people.map(\.serial)) == [2, 3])
  }
}
