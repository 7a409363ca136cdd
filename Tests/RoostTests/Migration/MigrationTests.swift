import Foundation
@testable import Roost
import TestSupport
import Testing

/// Versions of one model, and what becomes of a store of one that is opened with another.
enum Shelf {
  enum V1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Book.self, Tag.self] }

    @Model final class Book {
      var title: String
      var pages: Int32
      var subtitle: String?
      var tag: Tag?
      init(_ title: String, pages: Int32 = 10, subtitle: String? = nil, tag: Tag? = nil) {
        self.title = title
        self.pages = pages
        self.subtitle = subtitle
        self.tag = tag
      }
    }

    @Model final class Tag {
      var name: String
      init(_ name: String) { self.name = name }
    }
  }

  /// Renamed, widened, indexed; the tag now knows its books.
  enum V2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Book.self, Tag.self] }

    @Model final class Book {
      #Index<Book>([\.pages])
      @Attribute(originalName: "title") var name: String
      var pages: Int
      var subtitle: String?
      var tag: Tag?
      var rating: Double = 2.5
      init(_ name: String, pages: Int = 10) {
        self.name = name
        self.pages = pages
      }
    }

    @Model final class Tag {
      var name: String
      @Relationship(inverse: \Book.tag) var books: [Book] = []
      init(_ name: String) { self.name = name }
    }
  }

  /// The subtitle is required, the name unique, several tags.
  enum V3: VersionedSchema {
    static let versionIdentifier = Schema.Version(3, 0, 0)
    static var models: [any PersistentModel.Type] { [Book.self, Tag.self] }

    @Model final class Book {
      #Index<Book>([\.pages])
      @Attribute(.unique) var name: String
      var pages: Int
      var subtitle: String
      @Relationship(originalName: "tag") var tags: [Tag] = []
      var rating: Double = 2.5
      init(_ name: String, pages: Int = 10, subtitle: String = "") {
        self.name = name
        self.pages = pages
        self.subtitle = subtitle
      }
    }

    @Model final class Tag {
      var name: String
      @Relationship(inverse: \Book.tags) var books: [Book] = []
      init(_ name: String) { self.name = name }
    }
  }

  enum Plan12: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, V2.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: V2.self)] }
  }

  enum Plan123: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, V2.self, V3.self] }
    static var stages: [MigrationStage] {
      [
        .lightweight(fromVersion: V1.self, toVersion: V2.self),
        .lightweight(fromVersion: V2.self, toVersion: V3.self),
      ]
    }
  }

  /// Repairs what keeps V2's books from being V3's.
  enum RepairingPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, V2.self, V3.self] }
    static var stages: [MigrationStage] {
      [
        .lightweight(fromVersion: V1.self, toVersion: V2.self),
        .custom(
          fromVersion: V2.self, toVersion: V3.self,
          willMigrate: { context in
            var names: Set<String> = []
            for book in try context.fetch(FetchDescriptor<V2.Book>()) {
              if !names.insert(book.name).inserted { context.delete(book) }
              if book.subtitle == nil { book.subtitle = "none" }
            }
          }, didMigrate: nil),
      ]
    }
  }
}

@Suite struct MigrationTests {
  private let folder = TemporaryDirectory()
  private var url: URL { URL(fileURLWithPath: folder.file("books.store")) }

  private func open(
    _ version: any VersionedSchema.Type, _ plan: (any SchemaMigrationPlan.Type)? = nil,
    _ mode: MigrationMode = .automatic, allowsSave: Bool = true
  ) throws -> ModelContainer {
    try ModelContainer(
      for: Schema(versionedSchema: version), migrationPlan: plan,
      configurations: ModelConfiguration(url: url, allowsSave: allowsSave, migration: mode))
  }

  /// A store of the first version.
  private func fill(
    _ books: [(String, String?)] = [("Emma", "a novel"), ("Ulysses", nil), ("Ada", "or ardor")]
  ) throws {
    let context = ModelContext(try open(Shelf.V1.self))
    let tag = Shelf.V1.Tag("english")
    for (index, book) in books.enumerated() {
      context.insert(
        Shelf.V1.Book(book.0, pages: Int32(index + 1) * 100, subtitle: book.1, tag: index < 2 ? tag : nil))
    }
    try context.save()
  }

  private func fails(_ code: RoostError.Code, _ open: () throws -> ModelContainer) throws {
    let before = try Data(contentsOf: url)
    let error = #expect(throws: RoostError.self) { try open() }
    #expect(error?.code == code, "\(error.map(String.init(describing:)) ?? "")")
    #expect(error?.remedy.isEmpty == false)
    #expect(try Data(contentsOf: url) == before)
  }

  @Test(arguments: [MigrationMode.lazy, .automatic, .eager])
  func lightweightChangesKeepValuesAndRelationships(_ mode: MigrationMode) throws {
    try fill()
    for _ in 0..<2 {
      let context = ModelContext(try open(Shelf.V2.self, Shelf.Plan12.self, mode))
      let books = try context.fetch(FetchDescriptor<Shelf.V2.Book>(sortBy: [SortDescriptor(\.name)]))
      #expect(books.map(\.name) == ["Ada", "Emma", "Ulysses"])
      #expect(books.map(\.pages) == [300, 100, 200])
      #expect(books.map(\.subtitle) == ["or ardor", "a novel", nil])
      #expect(books.map(\.rating) == [2.5, 2.5, 2.5])
      #expect(books.map { $0.tag?.name } == [nil, "english", "english"])
      let tag = try #require(try context.fetch(FetchDescriptor<Shelf.V2.Tag>()).first)
      #expect(tag.books.map(\.name) == ["Emma", "Ulysses"])
      let thick = FetchDescriptor<Shelf.V2.Book>(predicate: #Predicate { $0.pages >= 200 })
      #expect(try context.fetchCount(thick) == 2)
    }
  }

  /// SPEC.md
  @Test func aSweepCompletesIndexesAndIsOverOnce() throws {
    try fill()
    let container = try open(Shelf.V2.self, Shelf.Plan12.self, .lazy)
    // Three books and the tag, whose relationship is new.
    #expect(try container.sweep() == 4)
    #expect(try container.sweep() == 0)
    let stored = try #require(try container.engine.read { try SchemaStore.load($0) })
    #expect(stored.outdated.isEmpty)
    #expect(stored.buildingIndexes.isEmpty)
    let context = ModelContext(container)
    context.insert(Shelf.V2.Book("Later", pages: 5000))
    try context.save()
    let again = ModelContext(try open(Shelf.V2.self, Shelf.Plan12.self, .lazy))
    #expect(
      try again.fetchCount(FetchDescriptor<Shelf.V2.Book>(predicate: #Predicate { $0.pages > 250 })) == 2)
  }

  /// SPEC.md [M-8]
  @Test func savesAndDeletionsCountOutdatedRecordsDown() throws {
    try fill()
    let container = try open(Shelf.V2.self, Shelf.Plan12.self, .lazy)
    let context = ModelContext(container)
    let books = try context.fetch(FetchDescriptor<Shelf.V2.Book>())
    books[0].rating = 5
    context.delete(books[1])
    try context.save()
    let stored = try #require(try container.engine.read { try SchemaStore.load($0) })
    #expect(stored.outdatedCount == 2)
    #expect(try container.sweep() == 2)
  }

  @Test func whatDoesNotFitIsFoundBeforeAnythingIsWritten() throws {
    try fill()
    try fails(.valuesDontFit) { try open(Shelf.V3.self, Shelf.Plan123.self) }
    try fails(.stageNotLazy) { try open(Shelf.V3.self, Shelf.RepairingPlan.self, .lazy) }
    #expect(try ModelContext(open(Shelf.V1.self)).fetchCount(FetchDescriptor<Shelf.V1.Book>()) == 3)
  }

  @Test func duplicatesKeepAUniqueRuleOut() throws {
    try fill([("Emma", "1"), ("Emma", "2")])
    try fails(.valuesDontFit) { try open(Shelf.V3.self, Shelf.Plan123.self) }
  }

  @Test func skippedVersionsAreMadeUpFor() throws {
    try fill([("Emma", "1"), ("Ulysses", nil), ("Emma", "2")])
    for _ in 0..<2 {
      let context = ModelContext(try open(Shelf.V3.self, Shelf.RepairingPlan.self))
      let books = try context.fetch(FetchDescriptor<Shelf.V3.Book>())
      #expect(books.map(\.name) == ["Emma", "Ulysses"])
      #expect(books.map(\.subtitle) == ["1", "none"])
      #expect(books.map { $0.tags.map(\.name) } == [["english"], ["english"]])
      let tag = try #require(try context.fetch(FetchDescriptor<Shelf.V3.Tag>()).first)
      #expect(tag.books == books)
    }
    let context = ModelContext(try open(Shelf.V3.self, Shelf.RepairingPlan.self))
    context.insert(Shelf.V3.Book("Emma", subtitle: "3"))
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Shelf.V3.Book>()).map(\.subtitle) == ["3", "none"])
  }

  @Test func anOlderProgramIsTurnedAway() throws {
    try fill()
    _ = try open(Shelf.V2.self, Shelf.Plan12.self)
    try fails(.backwardMigration) { try open(Shelf.V1.self) }
  }

  @Test func aReadOnlyStoreIsReadThroughALazyChange() throws {
    try fill()
    let before = try Data(contentsOf: url)
    try {
      let context = ModelContext(try open(Shelf.V2.self, Shelf.Plan12.self, allowsSave: false))
      let books = try context.fetch(FetchDescriptor<Shelf.V2.Book>())
      #expect(books.map(\.name) == ["Emma", "Ulysses", "Ada"])
      #expect(books.map(\.rating) == [2.5, 2.5, 2.5])
      #expect(books[0].tag?.name == "english")
    }()
    #expect(try Data(contentsOf: url) == before)
    try fails(.readOnly) { try open(Shelf.V3.self, Shelf.RepairingPlan.self, allowsSave: false) }
  }
}

// MARK: - One change each

/// Pairs of versions that differ in one thing.
enum Pairs {
  enum Base: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Thing.self] }
    @Model final class Thing {
      var name: String
      var size: Int
      init(_ name: String, _ size: Int = 1) {
        self.name = name
        self.size = size
      }
    }
  }

  /// `size` went, and `width` of the same type came.
  enum Ambiguous: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Thing.self] }
    @Model final class Thing {
      var name: String
      var width: Int = 7
      init(_ name: String) { self.name = name }
    }
  }

  /// `width` is said to be new.
  enum Explicit: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Thing.self] }
    @Model final class Thing {
      var name: String
      @Attribute(originalName: "width") var width: Int = 7
      init(_ name: String) { self.name = name }
    }
  }

  enum Dropped: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Thing.self] }
    @Model final class Thing {
      var name: String
      init(_ name: String) { self.name = name }
    }
  }

  /// A new property without a value.
  enum Required: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Thing.self] }
    @Model final class Thing {
      var name: String
      var size: Int
      var age: Int
      init(_ name: String) {
        self.name = name
        size = 0
        age = 0
      }
    }
  }

  /// The base's shape under another label.
  enum Twin: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Thing.self] }
    @Model final class Thing {
      var name: String
      var size: Int
      init(_ name: String) {
        self.name = name
        size = 0
      }
    }
  }

  /// A type that has to be made anew.
  enum Retyped: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Thing.self] }
    @Model final class Thing {
      var name: String
      var size: String = ""
      init(_ name: String) { self.name = name }
    }
  }

  enum AmbiguousPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Base.self, Ambiguous.self] }
    static var stages: [MigrationStage] { [] }
  }
  enum ExplicitPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Base.self, Explicit.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: Base.self, toVersion: Explicit.self)] }
  }
  enum DroppedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Base.self, Dropped.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: Base.self, toVersion: Dropped.self)] }
  }
  enum RetypedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Base.self, Retyped.self] }
    static var stages: [MigrationStage] {
      [
        .perRecord(
          fromVersion: Base.self, toVersion: Retyped.self,
          transforms: [
            .pure(from: Base.Thing.self, to: Retyped.Thing.self) { old, new in
              new.set(\.size, to: "\(old[\.size]) cm")
            }
          ])
      ]
    }
  }
  /// Nothing changes but the values.
  enum TwinPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Base.self, Twin.self] }
    static var stages: [MigrationStage] {
      [
        .custom(
          fromVersion: Base.self, toVersion: Twin.self, willMigrate: nil,
          didMigrate: { context in
            for thing in try context.fetch(FetchDescriptor<Twin.Thing>()) { thing.size *= 2 }
          })
      ]
    }
  }
  enum EqualLabels: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Ambiguous.self, Dropped.self] }
    static var stages: [MigrationStage] { [] }
  }
  enum LeapingStage: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Base.self, Dropped.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: Dropped.self, toVersion: Base.self)] }
  }
  enum NoSchemas: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [] }
    static var stages: [MigrationStage] { [] }
  }
}

@Suite struct MigrationPairTests {
  private let folder = TemporaryDirectory()
  private var url: URL { URL(fileURLWithPath: folder.file("things.store")) }

  private func open(
    _ version: any VersionedSchema.Type, _ plan: (any SchemaMigrationPlan.Type)? = nil
  ) throws -> ModelContainer {
    try ModelContainer(
      for: Schema(version.models), migrationPlan: plan, configurations: ModelConfiguration(url: url))
  }

  private func fill() throws {
    if FileManager.default.fileExists(atPath: url.path) { try FileManager.default.removeItem(at: url) }
    // Without a version: what a program has before its author thinks of migrations.
    let context = ModelContext(try open(Pairs.Base.self))
    context.insert(Pairs.Base.Thing("a", 3))
    context.insert(Pairs.Base.Thing("b", 4))
    try context.save()
  }

  private func fails(
    _ code: RoostError.Code, _ version: any VersionedSchema.Type,
    _ plan: (any SchemaMigrationPlan.Type)? = nil,
    property: String? = nil
  ) throws {
    try fill()
    let before = try Data(contentsOf: url)
    let error = #expect(throws: RoostError.self) { try open(version, plan) }
    #expect(error?.code == code, "\(error.map(String.init(describing:)) ?? "")")
    #expect(error?.remedy.isEmpty == false)
    if let property { #expect(error?.property == property) }
    #expect(try Data(contentsOf: url) == before)
    #expect(try ModelContext(open(Pairs.Base.self)).fetchCount(FetchDescriptor<Pairs.Base.Thing>()) == 2)
  }

  @Test func aPossibleRenameHasToBeExplained() throws {
    try fails(.possibleRename, Pairs.Ambiguous.self, Pairs.AmbiguousPlan.self, property: "width")
    try fill()
    let things = try ModelContext(open(Pairs.Explicit.self, Pairs.ExplicitPlan.self))
      .fetch(FetchDescriptor<Pairs.Explicit.Thing>())
    #expect(Set(things.map(\.width)) == [7])
  }

  @Test func lossNeedsAPlan() throws {
    try fails(.dataLoss, Pairs.Dropped.self, property: "size")
    try fill()
    let context = ModelContext(try open(Pairs.Dropped.self, Pairs.DroppedPlan.self))
    #expect(Set(try context.fetch(FetchDescriptor<Pairs.Dropped.Thing>()).map(\.name)) == ["a", "b"])
  }

  @Test func aRequiredPropertyNeedsAValue() throws {
    try fails(.needsCustomStage, Pairs.Required.self, property: "age")
  }

  @Test func anotherTypeNeedsAStage() throws {
    try fails(.needsCustomStage, Pairs.Retyped.self, property: "size")
    let things = try ModelContext(open(Pairs.Retyped.self, Pairs.RetypedPlan.self))
      .fetch(FetchDescriptor<Pairs.Retyped.Thing>())
    #expect(things.map(\.size) == ["3 cm", "4 cm"])
  }

  @Test func equalShapesAreToldApartByLabel() throws {
    try fill()
    for _ in 0..<2 {
      let container = try ModelContainer(
        for: Schema(versionedSchema: Pairs.Twin.self), migrationPlan: Pairs.TwinPlan.self,
        configurations: ModelConfiguration(url: url))
      let things = try ModelContext(container).fetch(FetchDescriptor<Pairs.Twin.Thing>())
      #expect(things.map(\.size) == [6, 8])
    }
  }

  @Test func contradictoryPlansAreRefused() throws {
    try fails(.invalidPlan, Pairs.Dropped.self, Pairs.EqualLabels.self)
    try fails(.invalidPlan, Pairs.Dropped.self, Pairs.LeapingStage.self)
    try fails(.invalidPlan, Pairs.Dropped.self, Pairs.NoSchemas.self)
    try fails(.invalidPlan, Pairs.Base.self, Pairs.DroppedPlan.self)
  }

  @Test func aStoreOfNoneOfThePlansVersionsIsNamed() throws {
    try fails(.unknownSchema, Pairs.Retyped.self, OnlyRetyped.self)
  }

  enum OnlyRetyped: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Pairs.Retyped.self] }
    static var stages: [MigrationStage] { [] }
  }
}
