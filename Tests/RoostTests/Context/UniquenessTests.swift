import Foundation
import Roost
import Testing

@Suite struct UniquenessTests {
  @Model final class Vault {
    @Attribute(.unique) var name: String
    @Attribute(.unique) var key: Int?
    var note = ""
    var owner: Owner?
    init(name: String, key: Int? = nil, note: String = "", owner: Owner? = nil) {
      self.name = name
      self.key = key
      self.note = note
      self.owner = owner
    }
  }

  @Model final class Owner {
    @Relationship(inverse: \Vault.owner) var vaults: [Vault] = []
    init() {}
  }

  @Model final class Seat {
    #Unique<Seat>([\.row, \.number])
    var row: String
    var number: Int
    var guest: String
    init(_ row: String, _ number: Int, _ guest: String) {
      self.row = row
      self.number = number
      self.guest = guest
    }
  }

  let container: ModelContainer
  let context: ModelContext

  init() throws {
    container = try ModelContainer(
      for: Schema([Vault.self, Owner.self, Seat.self]),
      configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    context = ModelContext(container)
  }

  private func stored() throws -> [Vault] {
    try ModelContext(container).fetch(FetchDescriptor<Vault>(sortBy: [SortDescriptor(\.name)]))
  }

  @Test func aSavedRowTakesOverTheNewValues() throws {
    let owner = Owner()
    let first = Vault(name: "a", key: 1, note: "old", owner: owner)
    context.insert(first)
    try context.save()
    let identifier = first.persistentModelID
    let second = Vault(name: "a", key: 2, note: "new")
    context.insert(second)
    try context.save()
    #expect(try stored().map(\.note) == ["new"])
    #expect(first.note == "new")
    #expect(first.key == 2)
    #expect(first.owner === owner)
    #expect(owner.vaults == [first])
    #expect(second.isDeleted)
    #expect(second.modelContext == nil)
    #expect(try stored().first?.persistentModelID == identifier)
    #expect(try context.fetch(FetchDescriptor<Vault>()) == [first])
  }

  @Test func aNewObjectBecomesTheRowThatNobodyHolds() throws {
    var first: Vault? = Vault(name: "a", key: 1, note: "old")
    context.insert(try #require(first))
    try context.save()
    let identifier = try #require(first).persistentModelID
    first = nil
    let second = Vault(name: "a", note: "new")
    context.insert(second)
    try context.save()
    #expect(second.persistentModelID == identifier)
    #expect(!second.isDeleted)
    second.note = "newer"
    try context.save()
    #expect(try stored().map(\.note) == ["newer"])
  }

  @Test func pendingInsertsBecomeOneRow() throws {
    let (first, second) = (Vault(name: "a", note: "1"), Vault(name: "a", note: "2"))
    context.insert(first)
    context.insert(second)
    try context.save()
    #expect(try stored().map(\.note) == ["2"])
    #expect(first.note == "2")
    #expect(second.isDeleted)
  }

  @Test func pendingInsertsAndASavedRowBecomeOneRow() throws {
    let saved = Vault(name: "a", note: "0")
    context.insert(saved)
    try context.save()
    context.insert(Vault(name: "a", note: "1"))
    context.insert(Vault(name: "a", note: "2"))
    try context.save()
    #expect(try stored().map(\.note) == ["2"])
    #expect(saved.note == "2")
  }

  @Test func referencesLeadToTheRowThatStays() throws {
    let saved = Vault(name: "a")
    context.insert(saved)
    try context.save()
    let owner = Owner()
    owner.vaults = [Vault(name: "a", note: "by owner"), Vault(name: "b")]
    context.insert(owner)
    try context.save()
    let there = try #require(try ModelContext(container).fetch(FetchDescriptor<Owner>()).first)
    #expect(Set(there.vaults.map(\.name)) == ["a", "b"])
    #expect(try stored().allSatisfy { $0.owner != nil })
    #expect(saved.owner === owner)
  }

  @Test func twoRowsAreNotMerged() throws {
    context.insert(Vault(name: "a", key: 1))
    context.insert(Vault(name: "b", key: 2))
    try context.save()
    let both = Vault(name: "a", key: 2)
    context.insert(both)
    let error = #expect(throws: RoostError.self) { try context.save() }
    #expect(error?.code == .uniqueCollision)
    #expect(context.hasChanges)
    both.key = 3
    try context.save()
    #expect(try stored().map(\.key) == [3, 2])
  }

  @Test func aChangeIntoAnothersValueThrows() throws {
    let (a, b) = (Vault(name: "a"), Vault(name: "b"))
    context.insert(a)
    context.insert(b)
    try context.save()
    b.name = "a"
    #expect(throws: RoostError.self) { try context.save() }
    a.name = "c"
    try context.save()
    #expect(try stored().map(\.name) == ["a", "c"])
  }

  @Test func valuesMayBeExchanged() throws {
    let (a, b) = (Vault(name: "a", key: 1), Vault(name: "b", key: 2))
    context.insert(a)
    context.insert(b)
    try context.save()
    (a.key, b.key) = (b.key, a.key)
    (a.name, b.name) = (b.name, a.name)
    try context.save()
    #expect(try stored().map(\.key) == [1, 2])
    #expect(try stored().map(\.name) == ["a", "b"])
  }

  @Test func aDeletedValueIsFree() throws {
    let a = Vault(name: "a")
    context.insert(a)
    try context.save()
    context.delete(a)
    let b = Vault(name: "a", note: "again")
    context.insert(b)
    try context.save()
    #expect(try stored().map(\.note) == ["again"])
    #expect(try stored().first?.persistentModelID == b.persistentModelID)
  }

  /// SPEC.md
  @Test func nilAndCompositesCollideOnlyAsAWhole() throws {
    for name in ["a", "b", "c"] { context.insert(Vault(name: name)) }
    context.insert(Seat("A", 1, "x"))
    context.insert(Seat("A", 2, "y"))
    context.insert(Seat("B", 1, "z"))
    try context.save()
    context.insert(Seat("A", 1, "w"))
    try context.save()
    #expect(try stored().count == 3)
    let seats = try ModelContext(container).fetch(FetchDescriptor<Seat>(sortBy: [SortDescriptor(\.guest)]))
    #expect(seats.map(\.guest) == ["w", "y", "z"])
  }

  /// SPEC.md
  @Test func canonicallyEquivalentAndLongStringsCollide() throws {
    context.insert(Vault(name: "caf\u{E9}", note: "1"))
    try context.save()
    context.insert(Vault(name: "cafe\u{301}", note: "2"))
    try context.save()
    #expect(try stored().map(\.note) == ["2"])
    let long = String(repeating: "x", count: 5000)
    context.insert(Vault(name: long + "1"))
    context.insert(Vault(name: long + "2"))
    context.insert(Vault(name: long + "2", note: "3"))
    try context.save()
    #expect(try stored().count == 3)
  }
}
