import Foundation
import TestSupport
import Testing

@testable import Roost

/// Links that records of older shapes still hold must be indistinguishable from rows: the same work on a store
/// that was swept at once and on one that never was gives the same objects ([R-24]).
@Suite struct LinkMigrationTests {
  private let folder = TemporaryDirectory()

  private func open(_ change: ChangeCase, _ name: String, _ mode: MigrationMode) throws -> ModelContainer {
    try ModelContainer(
      for: Schema(versionedSchema: change.version), migrationPlan: change.plan,
      configurations: ModelConfiguration(
        url: URL(fileURLWithPath: folder.file("\(name).store")), migration: mode))
  }

  private func fill(_ name: String, _ plain: PlainStore) throws {
    let container = try ModelContainer(
      for: Schema(versionedSchema: Changes.V1.self),
      configurations: ModelConfiguration(url: URL(fileURLWithPath: folder.file("\(name).store"))))
    try plain.fill(ModelContext(container))
  }

  /// The same steps for the same seed, each on a new context; gives what is read after each.
  private func work(_ change: ChangeCase, _ name: String, _ mode: MigrationMode, _ seed: UInt64) throws -> [[String]] {
    var random = SplitMix64(seed: seed)
    var read: [[String]] = []
    let container = try open(change, name, mode)
    for _ in 0..<12 {
      let context = ModelContext(container)
      switch change {
      case .linked: try stepLinked(context, &random)
      default: try stepInverse(context, &random)
      }
      try context.save()
      // What the context has now, and what a new one reads.
      read.append(try change.read(context))
      read.append(try change.read(ModelContext(container)))
    }
    try container.sweep()
    read.append(try change.read(ModelContext(container)))
    return read
  }

  private func stepLinked(_ context: ModelContext, _ random: inout SplitMix64) throws {
    let items = try context.fetch(FetchDescriptor<Changes.Linked.Item>())
    let tags = try context.fetch(FetchDescriptor<Changes.Linked.Tag>())
    guard let item = items.randomElement(using: &random), let tag = tags.randomElement(using: &random) else { return }
    switch Int.random(in: 0..<9, using: &random) {
    case 0: item.tags.append(tag)
    case 1: tag.items.append(item)
    case 2: item.tags.removeAll()
    case 3: tag.items.removeAll { $0 === item }
    case 4: tag.items.reverse()
    case 5: tag.favourites.append(item)
    case 6: item.admirers.removeAll()
    case 7: context.delete(item)
    default:
      if tags.count > 1 { context.delete(tag) }
    }
  }

  private func stepInverse(_ context: ModelContext, _ random: inout SplitMix64) throws {
    let items = try context.fetch(FetchDescriptor<Changes.Inverse.Item>())
    let tags = try context.fetch(FetchDescriptor<Changes.Inverse.Tag>())
    guard let item = items.randomElement(using: &random), let tag = tags.randomElement(using: &random) else { return }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: item.tag = tag
    case 1: item.tag = nil
    case 2: tag.items.append(item)
    case 3: tag.items.removeAll { $0 === item }
    case 4: tag.items.reverse()
    case 5: tag.items = []
    case 6: context.delete(item)
    default:
      if tags.count > 1 { context.delete(tag) }
    }
  }

  @Test(arguments: [ChangeCase.linked, .inverse], 1...12)
  func unbuiltLinksAreAsGoodAsRows(_ change: ChangeCase, _ seed: UInt64) throws {
    let plain = PlainStore(seed: seed)
    for name in ["lazy", "eager"] { try fill(name, plain) }
    let lazy = try work(change, "lazy", .lazy, seed)
    let eager = try work(change, "eager", .eager, seed)
    for (step, (a, b)) in zip(lazy, eager).enumerated() where a != b {
      Issue.record("seed \(seed), step \(step): \(a) and \(b)")
      return
    }
  }

  enum Owners {
    enum V1: VersionedSchema {
      static let versionIdentifier = Schema.Version(1, 0, 0)
      static var models: [any PersistentModel.Type] { [Person.self] }
      @Model final class Person {
        var name: String
        var pets: [Pet] = []
        init(_ name: String) { self.name = name }
      }
      @Model final class Pet {
        var name: String
        init(_ name: String) { self.name = name }
      }
    }
    enum V2: VersionedSchema {
      static let versionIdentifier = Schema.Version(2, 0, 0)
      static var models: [any PersistentModel.Type] { [Person.self] }
      @Model final class Person {
        var name: String
        var pets: [Pet] = []
        init(_ name: String) { self.name = name }
      }
      @Model final class Pet {
        var name: String
        var owner: Person?
        init(_ name: String) { self.name = name }
      }
    }
    enum Plan: SchemaMigrationPlan {
      static var schemas: [any VersionedSchema.Type] { [V1.self, V2.self] }
      static var stages: [MigrationStage] { [] }
    }
  }

  @Test(arguments: [false, true])
  func aNewToOneRelationshipTakesWhatItsInverseKnows(_ isShared: Bool) throws {
    let url = URL(fileURLWithPath: folder.file("pets.store"))
    try {
      let context = ModelContext(
        try ModelContainer(
          for: Schema(versionedSchema: Owners.V1.self), configurations: ModelConfiguration(url: url)))
      let people = ["Ann", "Bob"].map { Owners.V1.Person($0) }
      let pets = ["Rex", "Tom", "Zoe"].map { Owners.V1.Pet($0) }
      for person in people { context.insert(person) }
      for pet in pets { context.insert(pet) }
      people[0].pets = [pets[0], pets[1]]
      if isShared { people[1].pets = [pets[1]] }
      try context.save()
    }()
    let before = try Data(contentsOf: url)
    func open(_ mode: MigrationMode) throws -> ModelContainer {
      try ModelContainer(
        for: Schema(versionedSchema: Owners.V2.self), migrationPlan: Owners.Plan.self,
        configurations: ModelConfiguration(url: url, migration: mode))
    }
    #expect(throws: RoostError.self) { try open(.lazy) }
    guard !isShared else {
      let error = #expect(throws: RoostError.self) { try open(.automatic) }
      #expect(error?.code == .valuesDontFit && error?.property == "owner")
      #expect(try Data(contentsOf: url) == before)
      return
    }
    let pets = try ModelContext(open(.automatic)).fetch(FetchDescriptor<Owners.V2.Pet>())
    #expect(pets.map { $0.owner?.name } == ["Ann", "Ann", nil])
    #expect(pets[0].owner?.pets.map(\.name) == ["Rex", "Tom"])
  }
}
