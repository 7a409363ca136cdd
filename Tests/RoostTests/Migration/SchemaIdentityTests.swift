import Foundation
import TestSupport
import Testing

@testable import Roost

/// What a container learns of a schema that changes under it, and models that are taken for one another.
@Suite struct SchemaIdentityTests {
  private let folder = TemporaryDirectory()
  private var url: URL { URL(fileURLWithPath: folder.file("identity.store")) }

  private func container(
    _ version: any VersionedSchema.Type, _ plan: (any SchemaMigrationPlan.Type)? = nil, allowsSave: Bool = true
  ) throws -> ModelContainer {
    try ModelContainer(
      for: Schema(versionedSchema: version), migrationPlan: plan,
      configurations: ModelConfiguration(url: url, allowsSave: allowsSave))
  }

  @Test func aReaderIsToldOfAMigration() throws {
    try PlainStore(seed: 1).fill(ModelContext(container(Changes.V1.self)))
    let reader = ModelContext(try container(Changes.V1.self, allowsSave: false))
    #expect(try reader.fetchCount(FetchDescriptor<Changes.V1.Item>()) == 12)
    _ = try container(Changes.Added.self, Changes.AddedPlan.self)
    // As long as it has not looked for newer commits it reads what was.
    #expect(try reader.fetchCount(FetchDescriptor<Changes.V1.Item>()) == 12)
    try reader.container.engine.refresh()
    let error = #expect(throws: RoostError.self) { try reader.fetch(FetchDescriptor<Changes.V1.Item>()) }
    #expect(error?.code == .schemaChanged)
  }

  @Test func aWriterIsToldOfAMigration() throws {
    let open = try container(Changes.V1.self)
    let context = ModelContext(open)
    // As another process would.
    try open.engine.write { transaction in
      var stored = try #require(try SchemaStore.load(transaction))
      try SchemaStore.setBuilding(true, index: "index/Item/size", &stored, in: &transaction)
    }
    let unread = #expect(throws: RoostError.self) { try context.fetch(FetchDescriptor<Changes.V1.Tag>()) }
    #expect(unread?.code == .schemaChanged)
    context.insert(Changes.V1.Tag("new"))
    let error = #expect(throws: RoostError.self) { try context.save() }
    #expect(error?.code == .schemaChanged)
  }

  @Test func oneFileHasOneSchemaInAProcess() throws {
    let first = try container(Changes.V1.self)
    let error = #expect(throws: RoostError.self) { try container(Changes.Added.self, Changes.AddedPlan.self) }
    #expect(error?.code == .invalidConfiguration)
    withExtendedLifetime(first) {}
  }

  enum Likely: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Extra.self] }
    @Model final class Extra {
      @Attribute(.unique) var key: Int
      init(_ key: Int) { self.key = key }
    }
  }
  enum OnlySpare: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Changes.V1.Spare.self] }
  }
  enum LikelyPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [OnlySpare.self, Likely.self] }
    static var stages: [MigrationStage] { [] }
  }

  @Test func aModelThatMayHaveBeenRenamedHasToBeExplained() throws {
    try {
      let context = ModelContext(try container(OnlySpare.self))
      for key in 0..<3 { context.insert(Changes.V1.Spare(key)) }
      try context.save()
    }()
    let error = #expect(throws: RoostError.self) { try container(Likely.self, LikelyPlan.self) }
    #expect(error?.code == .possibleRename && error?.rows == 3 && error?.entity == "Extra")
    #expect(try ModelContext(container(OnlySpare.self)).fetchCount(FetchDescriptor<Changes.V1.Spare>()) == 3)
  }
}
