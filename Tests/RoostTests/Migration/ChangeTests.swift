import Foundation
import TestSupport
import Testing

@testable import Roost

/// Every kind of schema change, in every mode, against what plain values say the objects must be.
@Suite struct ChangeTests {
  private let folder = TemporaryDirectory()
  private var url: URL { URL(fileURLWithPath: folder.file("changes.store")) }

  private func open(
    _ change: ChangeCase, _ mode: MigrationMode, allowsSave: Bool = true, at url: URL? = nil
  ) throws -> ModelContainer {
    try ModelContainer(
      for: Schema(versionedSchema: change.version), migrationPlan: change.plan,
      configurations: ModelConfiguration(url: url ?? self.url, allowsSave: allowsSave, migration: mode))
  }

  private func fill(_ plain: PlainStore) throws {
    let container = try ModelContainer(
      for: Schema(versionedSchema: Changes.V1.self), configurations: ModelConfiguration(url: url))
    try plain.fill(ModelContext(container))
  }

  private func stored(_ container: ModelContainer) throws -> StoredSchema {
    try #require(try container.engine.read { try SchemaStore.load($0) })
  }

  @Test(arguments: ChangeCase.allCases, [MigrationMode.lazy, .automatic, .eager])
  func change(_ change: ChangeCase, _ mode: MigrationMode) throws {
    let seed = UInt64.random(in: 1...1000)
    let plain = PlainStore(seed: seed)
    let expected = change.expected(plain)
    try fill(plain)
    let before = try Data(contentsOf: url)
    if change.isLazy {
      #expect(try change.read(ModelContext(open(change, mode, allowsSave: false))) == expected, "seed \(seed)")
    } else {
      let error = #expect(throws: RoostError.self) { try open(change, mode, allowsSave: false) }
      #expect(error?.code == .readOnly)
      if mode == .lazy {
        let error = #expect(throws: RoostError.self) { try open(change, mode) }
        #expect(error?.code == .stageNotLazy)
        #expect(error?.rows == plain.items.count)
      }
    }
    #expect(try Data(contentsOf: url) == before)
    if mode == .lazy && !change.isLazy { return }

    for launch in 0..<2 {
      #expect(
        try change.read(ModelContext(open(change, mode))) == expected, "seed \(seed), launch \(launch)")
    }
    #expect(try stored(open(change, mode)).outdated.isEmpty == (mode != .lazy))
    // Half the records are of the new shape.
    try change.touch(ModelContext(open(change, mode)))
    #expect(try change.read(ModelContext(open(change, mode))) == expected, "seed \(seed), touched")
    let container = try open(change, mode)
    try container.sweep()
    #expect(try change.read(ModelContext(container)) == expected, "seed \(seed), swept")
    let swept = try stored(container)
    #expect(swept.outdated.isEmpty && swept.buildingIndexes.isEmpty)
    #expect(try container.engine.read { try $0.tableNames() }.allSatisfy { !$0.hasPrefix("dropped/") })
    #expect(try container.sweep() == 0)
  }

  /// The bytes at any moment between two commits of a sweep are a store that reads the same.
  @Test(arguments: ChangeCase.allCases)
  func aSweepMayEndAnywhere(_ change: ChangeCase) throws {
    let plain = PlainStore(seed: 7)
    let expected = change.expected(plain)
    try fill(plain)
    let container = try open(change, change.isLazy ? .lazy : .automatic)
    let target = try ModelVersion(Schema(versionedSchema: change.version))
    let route = try MigrationRoute(change.plan, for: target.schema)
    var copies: [URL] = []
    var sweep = Sweep(container.engine, target, route, try stored(container), batch: 3) {
      try container.engine.flush()
      let copy = URL(fileURLWithPath: folder.file("copy \(copies.count).store"))
      try FileManager.default.copyItem(at: url, to: copy)
      copies.append(copy)
    }
    try sweep.run()
    #expect(!change.isLazy || copies.count > 3)
    for copy in copies {
      #expect(try change.read(ModelContext(open(change, .lazy, allowsSave: false, at: copy))) == expected)
      let again = try open(change, .lazy, at: copy)
      #expect(try change.read(ModelContext(again)) == expected)
      try change.touch(ModelContext(again))
      try again.sweep()
      #expect(try change.read(ModelContext(again)) == expected)
      #expect(try stored(again).outdated.isEmpty)
    }
  }

  @Test func whatIsDroppedIsReported() throws {
    let plain = PlainStore(seed: 3)
    try fill(plain)
    let container = try open(.removed, .automatic)
    let report = try #require(container.migrationReport)
    #expect(report.from == Schema.Version(1, 0, 0) && report.to == Schema.Version(2, 0, 0))
    #expect(report.losses.contains(.init(entity: "Item", property: "note", records: 12)))
    #expect(report.losses.contains(.init(entity: "Spare", property: nil, records: 5)))
    #expect(report.losses.count == 2)
    #expect(report.rewritten > 0 && report.outdated == 0)
  }

  @Test func identifiersOutliveARename() throws {
    let plain = PlainStore(seed: 3)
    try fill(plain)
    let identifier = try {
      let container = try ModelContainer(
        for: Schema(versionedSchema: Changes.V1.self), configurations: ModelConfiguration(url: url))
      let first = try ModelContext(container).fetch(FetchDescriptor<Changes.V1.Item>()).first
      return try JSONEncoder().encode(try #require(first).persistentModelID)
    }()
    let context = ModelContext(try open(.renamedModels, .lazy))
    let old = try JSONDecoder().decode(PersistentIdentifier.self, from: identifier)
    let model = try #require(context.model(for: old) as? Changes.RenamedModels.Article)
    #expect(model.name == plain.items[0].name && !model.isDeleted)
    #expect(model.persistentModelID.entityName == "Article")
    let fresh = Changes.RenamedModels.Article()
    context.insert(fresh)
    try context.save()
    #expect(fresh.persistentModelID > model.persistentModelID)
  }

  @Test func recordsThatWaitKeepTheirStageInThePlan() throws {
    try fill(PlainStore(seed: 3))
    _ = try open(.transformed, .lazy)
    func forgetful() throws -> ModelContainer {
      try ModelContainer(
        for: Schema(versionedSchema: Changes.Transformed.self), migrationPlan: Changes.ForgetfulPlan.self,
        configurations: ModelConfiguration(url: url))
    }
    let error = #expect(throws: RoostError.self) { try forgetful() }
    #expect(error?.code == .stageMissing && error?.rows == 12 && error?.entity == "Item")
    try open(.transformed, .lazy).sweep()
    #expect(try ModelContext(forgetful()).fetchCount(FetchDescriptor<Changes.Transformed.Item>()) == 12)
  }
}
