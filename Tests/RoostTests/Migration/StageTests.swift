import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Roost

/// Stages that run the program's code, and chains of stages.
enum Chain {
  enum V1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Note.self] }
    @Model final class Note {
      var text: String
      init(_ text: String) { self.text = text }
    }
  }
  enum V2: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Memo.self] }
    @Model(originalName: "Note") final class Memo {
      @Attribute(originalName: "text") var body: String
      var stars = 3
      init(_ body: String) { self.body = body }
    }
  }
  enum V3: VersionedSchema {
    static let versionIdentifier = Schema.Version(3, 0, 0)
    static var models: [any PersistentModel.Type] { [Memo.self] }
    @Model final class Memo {
      var body: String
      var stars = 3
      var words: Int = 0
      init(_ body: String) { self.body = body }
    }
  }
  enum V4: VersionedSchema {
    static let versionIdentifier = Schema.Version(4, 0, 0)
    static var models: [any PersistentModel.Type] { [Page.self] }
    @Model(originalName: "Memo") final class Page {
      #Index<Page>([\.words])
      @Attribute(originalName: "body") var content: String
      @Attribute(originalName: "stars") var rating: Double = 0
      var words: Int = 0
      init(_ content: String) { self.content = content }
    }
  }
  enum Plan: SchemaMigrationPlan {
    nonisolated(unsafe) static var interrupt: () throws -> Void = {}
    static var schemas: [any VersionedSchema.Type] { [V1.self, V2.self, V3.self, V4.self] }
    static var stages: [MigrationStage] {
      [
        .lightweight(fromVersion: V1.self, toVersion: V2.self),
        .custom(
          fromVersion: V2.self, toVersion: V3.self,
          willMigrate: { context in
            for memo in try context.fetch(FetchDescriptor<V2.Memo>()) where memo.body.isEmpty { context.delete(memo) }
            try context.save()
            try interrupt()
          },
          didMigrate: { context in
            for memo in try context.fetch(FetchDescriptor<V3.Memo>()) {
              memo.words = memo.body.split(separator: " ").count
            }
            try context.save()
            try interrupt()
          }),
        .lightweight(fromVersion: V3.self, toVersion: V4.self),
      ]
    }
  }
}

@Suite(.serialized) struct StageTests {
  private let folder = TemporaryDirectory()
  private var url: URL { URL(fileURLWithPath: folder.file("notes.store")) }

  private func fill(_ count: Int = 40) throws {
    let context = ModelContext(
      try ModelContainer(
        for: Schema(versionedSchema: Chain.V1.self), configurations: ModelConfiguration(url: url)))
    for index in 0..<count {
      context.insert(Chain.V1.Note(index % 4 == 0 ? "" : String(repeating: "word ", count: index % 50)))
    }
    try context.save()
  }

  private func open(_ mode: MigrationMode = .automatic, at url: URL? = nil) throws -> ModelContainer {
    try ModelContainer(
      for: Schema(versionedSchema: Chain.V4.self), migrationPlan: Chain.Plan.self,
      configurations: ModelConfiguration(url: url ?? self.url, migration: mode))
  }

  private func expectPages(_ container: ModelContainer, _ count: Int = 40) throws {
    let pages = try ModelContext(container).fetch(FetchDescriptor<Chain.V4.Page>())
    let words = (0..<count).filter { $0 % 4 != 0 && $0 % 50 != 0 }.map { $0 % 50 }
    #expect(pages.map(\.words) == words)
    #expect(pages.allSatisfy { $0.rating == 3 })
    let long = FetchDescriptor<Chain.V4.Page>(predicate: #Predicate { $0.words > 30 })
    #expect(try ModelContext(container).fetchCount(long) == words.count { $0 > 30 })
  }

  @Test(arguments: [MigrationMode.automatic, .eager])
  func aChainWithACustomStageInItsMiddle(_ mode: MigrationMode) throws {
    try fill()
    for _ in 0..<2 { try expectPages(open(mode)) }
  }

  @Test func aCustomStageIsNotLazy() throws {
    try fill()
    let before = try Data(contentsOf: url)
    let error = #expect(throws: RoostError.self) { try open(.lazy) }
    #expect(error?.code == .stageNotLazy)
    #expect(try Data(contentsOf: url) == before)
  }

  /// An error in either closure leaves the file as it was, byte for byte, also when the transaction was larger than
  /// memory takes.
  @Test(arguments: [1, 2], [40, 4000])
  func anErrorLeavesTheFileAsItWas(_ closure: Int, _ count: Int) throws {
    struct Stop: Error {}
    try fill(count)
    let before = try Data(contentsOf: url)
    var calls = 0
    Chain.Plan.interrupt = {
      calls += 1
      if calls == closure { throw Stop() }
    }
    defer { Chain.Plan.interrupt = {} }
    #expect(throws: Stop.self) { try open() }
    #expect(try Data(contentsOf: url) == before)
    Chain.Plan.interrupt = {}
    if count < 100 { try expectPages(open()) }
  }

  /// What a crash inside a closure leaves is a store of the old version.
  @Test func aCrashInAStageLeavesTheOldVersion() throws {
    try fill(3000)
    var copies: [URL] = []
    Chain.Plan.interrupt = {
      let copy = URL(fileURLWithPath: folder.file("crash \(copies.count).store"))
      try FileManager.default.copyItem(at: url, to: copy)
      copies.append(copy)
    }
    defer { Chain.Plan.interrupt = {} }
    _ = try open()
    Chain.Plan.interrupt = {}
    #expect(copies.count == 2)
    for copy in copies {
      try {
        let old = try ModelContainer(
          for: Schema(versionedSchema: Chain.V1.self), configurations: ModelConfiguration(url: copy))
        #expect(try ModelContext(old).fetchCount(FetchDescriptor<Chain.V1.Note>()) == 3000)
      }()
      try expectPages(open(at: copy), 3000)
    }
  }

  @Test func openingWithoutBlocking() async throws {
    try fill()
    let goOn = DispatchSemaphore(value: 0)
    let isInStage = DispatchSemaphore(value: 0)
    let first = Mutex(true)
    Chain.Plan.interrupt = {
      guard
        first.withLock({ isFirst in
          defer { isFirst = false }; return isFirst
        })
      else { return }
      isInStage.signal()
      goOn.wait()
    }
    defer { Chain.Plan.interrupt = {} }
    let configuration = ModelConfiguration(url: url)
    // As many as there are threads for tasks: were they blocked, nothing would let the stage go on.
    async let container = ModelContainer.open(
      for: Schema(versionedSchema: Chain.V4.self), migrationPlan: Chain.Plan.self, configurations: [configuration])
    async let others: Void = withTaskGroup(of: Void.self) { group in
      for _ in 0..<64 { group.addTask { await Task.yield() } }
    }
    await others
    await Task.detached { await Task.yield() }.value
    Thread.detachNewThread {
      isInStage.wait()
      goOn.signal()
    }
    try expectPages(await container)
  }

  // MARK: - Transforms in a chain

  enum Waiting: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Chain.V1.self, Chain.V2.self, Chain.V3.self, Chain.V4.self] }
    static var stages: [MigrationStage] {
      [
        .perRecord(
          fromVersion: Chain.V1.self, toVersion: Chain.V2.self,
          transforms: [
            .pure(from: Chain.V1.Note.self, to: Chain.V2.Memo.self) { old, new in
              new.set(\.body, to: "<" + old[\.text] + ">")
              new.set(\.stars, to: old[\.text].count)
            }
          ]),
        .lightweight(fromVersion: Chain.V2.self, toVersion: Chain.V3.self),
        .perRecord(
          fromVersion: Chain.V3.self, toVersion: Chain.V4.self,
          transforms: [
            .pure(from: Chain.V3.Memo.self, to: Chain.V4.Page.self) { old, new in
              new.set(\.content, to: old[\.body] + "!")
              new.set(\.rating, to: Double(old[\.stars]) / 2)
              new.set(\.words, to: old[\.words] + old[\.stars])
            }
          ]),
      ]
    }
  }

  enum WaitingToTwo: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [Chain.V1.self, Chain.V2.self] }
    static var stages: [MigrationStage] { [Waiting.stages[0]] }
  }

  /// Records that wait for one transform, for two, and for none, in one table.
  @Test(arguments: [MigrationMode.lazy, .automatic, .eager])
  func transformsFollowOneAnother(_ mode: MigrationMode) throws {
    try fill(8)
    let texts = (0..<8).map { $0 % 4 == 0 ? "" : String(repeating: "word ", count: $0) }
    try {
      let context = ModelContext(
        try ModelContainer(
          for: Schema(versionedSchema: Chain.V2.self), migrationPlan: WaitingToTwo.self,
          configurations: ModelConfiguration(url: url, migration: .lazy)))
      let memos = try context.fetch(FetchDescriptor<Chain.V2.Memo>())
      #expect(memos.map(\.body) == texts.map { "<\($0)>" })
      memos[2].stars += 0
      memos[3].stars += 0
      context.delete(memos[7])
      try context.save()
    }()
    for launch in 0..<2 {
      let container = try ModelContainer(
        for: Schema(versionedSchema: Chain.V4.self), migrationPlan: Waiting.self,
        configurations: ModelConfiguration(url: url, migration: mode))
      let context = ModelContext(container)
      let pages = try context.fetch(FetchDescriptor<Chain.V4.Page>())
      #expect(pages.map(\.content) == texts.dropLast().map { "<\($0)>!" }, "launch \(launch)")
      #expect(pages.map(\.rating) == texts.dropLast().map { Double($0.count) / 2 })
      let some = FetchDescriptor<Chain.V4.Page>(
        predicate: #Predicate { $0.words >= 10 }, sortBy: [SortDescriptor(\.words, order: .reverse)])
      #expect(
        try ModelContext(container).fetch(some).map(\.words)
          == texts.dropLast().map(\.count).filter { $0 >= 10 }.sorted(by: >))
      pages[1].rating += 0
      try context.save()
      if launch == 1 { try container.sweep() }
    }
  }
}
