import Foundation
import Roost
import Testing

@Suite struct RelationshipTests {
  let container: ModelContainer
  let context: ModelContext

  init() throws {
    container = try Zoo.container()
    context = ModelContext(container)
  }

  private func other() -> ModelContext { ModelContext(container) }

  @Test func insertingARootInsertsWhatItReaches() throws {
    let keeper = Zoo.Keeper(badge: 1, name: "Kay")
    let lion = Zoo.Animal(name: "Leo")
    lion.notes = [Zoo.Note("hungry"), Zoo.Note("asleep")]
    keeper.animals = [lion]
    context.insert(keeper)
    #expect(lion.modelContext === context)
    #expect(lion.keeper === keeper)
    #expect(lion.notes[0].animal === lion)
    #expect(context.insertedModelsArray.count == 4)
    try context.save()
    #expect(try other().fetchCount(FetchDescriptor<Zoo.Note>()) == 2)
    context.insert(lion)
    #expect(!context.hasChanges)
  }

  @Test func aNewObjectThatRefersToOneOfTheContextIsInserted() throws {
    let kay = Zoo.Keeper(badge: 1, name: "Kay")
    context.insert(kay)
    let lion = Zoo.Animal(name: "Leo")
    lion.keeper = kay
    #expect(lion.modelContext === context)
    #expect(kay.animals == [lion])
    // So does an owner with members of the context, and what it reaches.
    let kim = Zoo.Keeper(badge: 2, name: "Kim")
    let bear = Zoo.Animal(name: "Balu")
    kim.animals = [bear, lion]
    #expect(kim.modelContext === context && bear.modelContext === context)
    #expect(lion.keeper === kim)
    try context.save()
    let other = other()
    #expect(try other.fetchCount(FetchDescriptor<Zoo.Animal>()) == 2)
    #expect(try other.fetchCount(FetchDescriptor<Zoo.Keeper>()) == 2)
    // Not one that has been deleted, nor one that refers to objects of no context.
    context.delete(lion)
    try context.save()
    lion.keeper = kay
    #expect(lion.modelContext == nil)
    let wolf = Zoo.Animal(name: "Rama")
    wolf.keeper = Zoo.Keeper(badge: 3, name: "Kit")
    #expect(wolf.modelContext == nil)
  }

  @Test func inversesFollowInBothDirections() throws {
    let (kay, kim) = (Zoo.Keeper(badge: 1, name: "Kay"), Zoo.Keeper(badge: 2, name: "Kim"))
    let lion = Zoo.Animal(name: "Leo", keeper: kay)
    for model in [kay, kim] { context.insert(model) }
    context.insert(lion)
    #expect(kay.animals == [lion])
    kim.animals.append(lion)
    #expect(lion.keeper === kim)
    #expect(kay.animals.isEmpty)
    lion.keeper = kay
    #expect(kim.animals.isEmpty)
    #expect(kay.animals == [lion])
    lion.keeper = nil
    #expect(kay.animals.isEmpty)
    try context.save()
    let saved = try #require(try other().all(Zoo.Animal.self).first)
    #expect(saved.keeper == nil)
  }

  @Test func theLastWordCounts() throws {
    let kay = Zoo.Keeper(badge: 1, name: "Kay")
    let lion = Zoo.Animal(name: "Leo")
    context.insert(kay)
    context.insert(lion)
    try context.save()
    kay.animals.append(lion)
    lion.keeper = nil
    #expect(kay.animals.isEmpty)
    lion.keeper = kay
    kay.animals = []
    #expect(lion.keeper == nil)
  }

  @Test func inversesFollowInOtherContextsAfterASave() throws {
    let kay = Zoo.Keeper(badge: 1, name: "Kay")
    context.insert(kay)
    try context.save()
    let second = other()
    let kayThere = try #require(try second.all(Zoo.Keeper.self).first)
    #expect(kayThere.animals.isEmpty)
    context.insert(Zoo.Animal(name: "Leo", keeper: kay))
    try context.save()
    _ = try second.all(Zoo.Keeper.self)
    #expect(kayThere.animals.map(\.name) == ["Leo"])
  }

  /// SPEC.md
  @Test func toManyOrderIsKept() throws {
    let lion = Zoo.Animal(name: "Leo")
    lion.notes = ["a", "b", "c"].map { Zoo.Note($0) }
    context.insert(lion)
    try context.save()
    func stored() throws -> [String] {
      try #require(try other().all(Zoo.Animal.self).first).notes.map(\.text)
    }
    #expect(try stored() == ["a", "b", "c"])
    lion.notes.swapAt(0, 2)
    try context.save()
    #expect(try stored() == ["c", "b", "a"])
    lion.notes.insert(Zoo.Note("d"), at: 1)
    try context.save()
    #expect(try stored() == ["c", "d", "b", "a"])
    lion.notes.remove(at: 0)
    lion.notes.append(Zoo.Note("e"))
    try context.save()
    #expect(try stored() == ["d", "b", "a", "e"])
  }

  @Test func manyToManyIsMirrored() throws {
    let (lion, gnu) = (Zoo.Animal(name: "Leo"), Zoo.Animal(name: "Gary"))
    let (meat, grass) = (Zoo.Food("meat"), Zoo.Food("grass"))
    lion.foods = [meat]
    gnu.foods = [grass, meat]
    context.insert(lion)
    context.insert(gnu)
    #expect(Set(meat.eaters.map(\.name)) == ["Leo", "Gary"])
    try context.save()
    let second = other()
    let meatThere = try #require(
      try second.fetch(FetchDescriptor<Zoo.Food>(predicate: #Predicate { $0.name == "meat" })).first)
    #expect(Set(meatThere.eaters.map(\.name)) == ["Leo", "Gary"])
    meatThere.eaters.removeAll { $0.name == "Gary" }
    try second.save()
    _ = try context.all(Zoo.Animal.self)
    #expect(gnu.foods.map(\.name) == ["grass"])
    context.delete(lion)
    try context.save()
    let third = try #require(
      try other().fetch(FetchDescriptor<Zoo.Food>(predicate: #Predicate { $0.name == "meat" })).first)
    #expect(third.eaters.isEmpty)
  }

  @Test func additionsOfTwoContextsAreBothKept() throws {
    let lion = Zoo.Animal(name: "Leo")
    lion.foods = [Zoo.Food("meat")]
    context.insert(lion)
    try context.save()
    let second = other()
    let lionThere = try #require(try second.all(Zoo.Animal.self).first)
    lionThere.foods.append(Zoo.Food("fish"))
    lion.foods.append(Zoo.Food("milk"))
    try second.save()
    try context.save()
    let stored = try #require(try other().all(Zoo.Animal.self).first)
    #expect(Set(stored.foods.map(\.name)) == ["meat", "fish", "milk"])
  }

  @Test func aReferenceToADeletedObjectReadsNil() throws {
    let lion = Zoo.Animal(name: "Leo")
    let photo = Zoo.Photo("portrait", of: lion)
    context.insert(photo)
    try context.save()
    context.delete(lion)
    try context.save()
    let stored = try #require(try other().all(Zoo.Photo.self).first)
    #expect(stored.subject == nil)
    #expect(photo.subject == nil)
  }

  @Test func cascadesReachWhatIsNotLoaded() throws {
    let lion = Zoo.Animal(name: "Leo", keeper: Zoo.Keeper(badge: 1, name: "Kay"))
    lion.notes = [Zoo.Note("a"), Zoo.Note("b")]
    context.insert(lion)
    try context.save()
    let second = other()
    second.delete(try #require(try second.all(Zoo.Animal.self).first))
    #expect(second.deletedModelsArray.count == 3)
    try second.save()
    #expect(try other().fetchCount(FetchDescriptor<Zoo.Note>()) == 0)
    #expect(try #require(try other().all(Zoo.Keeper.self).first).animals.isEmpty)
  }

  @Test func aDeletionIsUndoneByRollbackWithItsCascade() throws {
    let lion = Zoo.Animal(name: "Leo", keeper: Zoo.Keeper(badge: 1, name: "Kay"))
    lion.notes = [Zoo.Note("a"), Zoo.Note("b")]
    context.insert(lion)
    try context.save()
    context.delete(lion)
    #expect(try context.fetchCount(FetchDescriptor<Zoo.Note>()) == 0)
    context.rollback()
    #expect(lion.notes.map(\.text) == ["a", "b"])
    #expect(lion.keeper?.animals == [lion])
    #expect(try context.fetchCount(FetchDescriptor<Zoo.Note>()) == 2)
  }

  @Test func manyAppendsAreQuick() throws {
    let lion = Zoo.Animal(name: "Leo")
    context.insert(lion)
    for index in 0..<5000 { lion.notes.append(Zoo.Note("\(index)")) }
    try context.save()
    let gnu = Zoo.Animal(name: "Gary")
    context.insert(gnu)
    for note in lion.notes { note.animal = gnu }
    #expect(gnu.notes.count == 5000)
    #expect(lion.notes.isEmpty)
    try context.save()
    let stored = try other().fetch(FetchDescriptor<Zoo.Animal>(sortBy: [SortDescriptor(\.name)]))
    #expect(stored.map { $0.notes.count } == [5000, 0])
    #expect(stored[0].notes.map(\.text) == (0..<5000).map(String.init))
  }
}

// MARK: - Delete rules

/// One pair of models for each delete rule.
enum Rules {
  @Model final class NullifyOwner {
    @Relationship(deleteRule: .nullify, inverse: \NullifyMember.owner) var members: [NullifyMember] = []
    init() {}
  }
  @Model final class NullifyMember {
    var owner: NullifyOwner?
    init(_ owner: NullifyOwner?) { self.owner = owner }
  }

  @Model final class CascadeOwner {
    @Relationship(deleteRule: .cascade, inverse: \CascadeMember.owner) var members: [CascadeMember] = []
    init() {}
  }
  @Model final class CascadeMember {
    var owner: CascadeOwner?
    init(_ owner: CascadeOwner?) { self.owner = owner }
  }

  @Model final class DenyOwner {
    @Relationship(deleteRule: .deny, inverse: \DenyMember.owner) var members: [DenyMember] = []
    init() {}
  }
  @Model final class DenyMember {
    var owner: DenyOwner?
    init(_ owner: DenyOwner?) { self.owner = owner }
  }

  @Model final class IdleOwner {
    @Relationship(deleteRule: .noAction, inverse: \IdleMember.owner) var members: [IdleMember] = []
    init() {}
  }
  @Model final class IdleMember {
    var owner: IdleOwner?
    init(_ owner: IdleOwner?) { self.owner = owner }
  }

  /// A member that can't be without its owner.
  @Model final class StrictOwner {
    @Relationship(deleteRule: .nullify, inverse: \StrictMember.owner) var members: [StrictMember] = []
    init() {}
  }
  @Model final class StrictMember {
    var owner: StrictOwner
    init(_ owner: StrictOwner) { self.owner = owner }
  }
}

@Suite struct DeleteRuleTests {
  /// What is left after an owner of two members was deleted.
  private func check<Owner: PersistentModel, Member: PersistentModel>(
    _ make: () -> (Owner, [Member]), owner: (Member) -> Owner?, membersLeft: Int,
    throwing code: RoostError.Code? = nil
  ) throws {
    let schema = Schema([Owner.self, Member.self])
    let container = try ModelContainer(
      for: schema, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    for isBatch in [false, true] {
      let context = ModelContext(container)
      let (model, members) = make()
      context.insert(model)
      for member in members { context.insert(member) }
      try context.save()
      if isBatch { try context.delete(model: Owner.self) } else { context.delete(model) }
      if let code {
        let error = #expect(throws: RoostError.self) { try context.save() }
        #expect(error?.code == code)
        #expect(error?.remedy.isEmpty == false)
        context.rollback()
        #expect(!model.isDeleted)
        for member in members { #expect(owner(member) === model) }
        for member in members { context.delete(member) }
        context.delete(model)
      }
      try context.save()
      #expect(try context.fetchCount(FetchDescriptor<Owner>()) == 0)
      let left = try ModelContext(container).fetch(FetchDescriptor<Member>())
      #expect(left.count == membersLeft)
      for member in left { #expect(owner(member) == nil) }
      try context.delete(model: Member.self)
      try context.save()
    }
  }

  @Test func nullify() throws {
    try check(
      {
        let owner = Rules.NullifyOwner()
        return (owner, [Rules.NullifyMember(owner), Rules.NullifyMember(owner)])
      }, owner: \.owner, membersLeft: 2)
  }

  @Test func cascade() throws {
    try check(
      {
        let owner = Rules.CascadeOwner()
        return (owner, [Rules.CascadeMember(owner), Rules.CascadeMember(owner)])
      }, owner: \.owner, membersLeft: 0)
  }

  @Test func deny() throws {
    try check(
      {
        let owner = Rules.DenyOwner()
        return (owner, [Rules.DenyMember(owner), Rules.DenyMember(owner)])
      }, owner: \.owner, membersLeft: 0, throwing: .deletionDenied)
  }

  @Test func noAction() throws {
    try check(
      {
        let owner = Rules.IdleOwner()
        return (owner, [Rules.IdleMember(owner), Rules.IdleMember(owner)])
      }, owner: \.owner, membersLeft: 2)
  }

  @Test func aRequiredInverseCannotBeNullified() throws {
    try check(
      {
        let owner = Rules.StrictOwner()
        return (owner, [Rules.StrictMember(owner), Rules.StrictMember(owner)])
      }, owner: { $0.owner }, membersLeft: 0, throwing: .invalidRelationship)
  }

  @Test func deletingAMemberLeavesTheOwner() throws {
    let container = try ModelContainer(
      for: Schema([Rules.DenyOwner.self]), configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let owner = Rules.DenyOwner()
    let member = Rules.DenyMember(owner)
    context.insert(member)
    try context.save()
    context.delete(member)
    try context.save()
    #expect(owner.members.isEmpty)
    context.delete(owner)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Rules.DenyOwner>()) == 0)
  }
}
