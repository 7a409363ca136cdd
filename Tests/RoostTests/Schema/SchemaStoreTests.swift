import Foundation
import RoostKV
import Testing

@testable import Roost

@Suite struct SchemaStoreTests {
  private let store: Store

  init() throws { store = try Store.inMemory() }

  @discardableResult
  private func adopt(_ description: SchemaDescription, records: [String: Int] = [:]) throws -> StoredSchema {
    try store.write { transaction in
      let stored = try SchemaStore.load(transaction)
      return try SchemaStore.adopt(description, over: stored, in: &transaction) { records[$0] ?? 0 }
    }
  }

  private func load() throws -> StoredSchema? { try store.read { try SchemaStore.load($0) } }

  private let n = PropertyShape("n", .int64)
  private let s = PropertyShape("s", .string, isOptional: true)

  @Test func aNewStoreHasNone() throws {
    #expect(try load() == nil)
    #expect(try store.read { try SchemaStore.generation($0) } == nil)
  }

  /// SPEC.md [M-1] [M-2]
  @Test func whatIsAdoptedIsLoaded() throws {
    let description = SchemaDescription(Schema(versionedSchema: SchemaVersionOne.self))
    let adopted = try adopt(description)
    let loaded = try #require(try load())
    #expect(loaded.current == adopted.current)
    #expect(loaded.current.label == Schema.Version(1, 2, 3))
    #expect(loaded.current.digest == description.digest)
    #expect(loaded.entities.map(\.shape.identityBytes) == description.entities.map(\.shape.identityBytes))
    #expect(loaded.shapes == adopted.shapes)
    #expect(loaded.generation == 1 && loaded.outdatedCount == 0)
    #expect(try store.read { try SchemaStore.generation($0) } == 1)
  }

  /// SPEC.md [M-7]
  @Test func changedEntitiesGetNewShapes() throws {
    let first = try adopt(description(entity("A", n), entity("B", n)))
    let second = try adopt(
      description(entity("A", n, s), entity("B", n), label: .init(2, 0, 0)), records: ["A": 5, "B": 3])
    #expect(first.entity("B")?.id == second.entity("B")?.id)
    let old = try #require(first.entity("A")).id
    #expect(second.entity("A")?.id != old)
    #expect(second.outdated == [old: 5] && second.generation == 2)
    #expect(second.versions.map(\.label.major) == [1, 2])
    #expect(second.hasSuperseded(digest: first.current.digest))
    #expect(!second.hasSuperseded(digest: second.current.digest))
    #expect(try load()?.outdated == [old: 5])
  }

  /// SPEC.md [M-8]
  @Test func outdatedRecordsAreCountedDown() throws {
    let first = try adopt(description(entity("A", n)))
    try adopt(description(entity("A", n, s)), records: ["A": 5])
    let third = try adopt(description(entity("A", s)), records: ["A": 9])
    let ids = try [#require(first.entity("A")).id, #require(third.shapes(of: "A").dropFirst().first).id]
    #expect(third.outdated == [ids[0]: 5, ids[1]: 4])
    let isSweeping = try store.write { transaction in
      var schema = try #require(try SchemaStore.load(transaction))
      try SchemaStore.noteGone([ids[0]: 5, ids[1]: 3, third.current.shapes[0]: 2], &schema, in: &transaction)
      #expect(schema.outdated == [ids[1]: 1])
      try SchemaStore.noteGone([ids[1]: 4], &schema, in: &transaction)
      return !schema.outdated.isEmpty
    }
    #expect(!isSweeping)
    #expect(try load()?.outdated == [:])
  }

  @Test func goingBackCountsAllOthers() throws {
    let first = try adopt(description(entity("A", n)))
    let second = try adopt(description(entity("A", n, s)), records: ["A": 2])
    let third = try adopt(description(entity("A", n)), records: ["A": 5])
    #expect(third.current.digest == first.current.digest)
    // Not the first shape again: its property s is another one should it come back.
    let one = try #require(first.entity("A")).id
    let two = try #require(second.entity("A")).id
    #expect(third.entity("A")?.id != one)
    #expect(third.outdated == [one: 2, two: 3])
  }

  @Test func lineagesFollowRenames() throws {
    let first = try adopt(description(entity("A", n)))
    let second = try adopt(description(entity("A", PropertyShape("m", .int64), originalNames: ["n"])))
    let third = try adopt(description(entity("A", s)))
    let fourth = try adopt(description(entity("A", s, PropertyShape("m", .int64, isOptional: true))))
    func lineage(_ schema: StoredSchema, _ name: String) throws -> UInt32 {
      try #require(schema.entity("A")?.shape.property(name)).lineage
    }
    #expect(try lineage(first, "n") == lineage(second, "m"))
    #expect(try lineage(fourth, "m") != lineage(second, "m"))
    #expect(try lineage(third, "s") == lineage(fourth, "s"))
    #expect(try lineage(first, "n") != 0)
  }

  @Test func defaultsAreFrozenOnce() throws {
    let old = entity("Sample", PropertyShape("name", .string))
    try adopt(description(old))
    let now = SchemaDescription(Schema([Frozen.Sample.self], version: .init(2, 0, 0)))
    let schema = try adopt(now, records: ["Sample": 1])
    let shape = try #require(schema.entity("Sample")).shape
    let stamp = try #require(shape.property("stamp")?.frozenDefault)
    #expect(stamp.count == 16)
    #expect(shape.property("count")?.frozenDefault == [7, 0, 0, 0, 0, 0, 0, 0])
    #expect(shape.property("tags")?.frozenDefault == [0x81, 0x61, 0x61])
    #expect(shape.property("name")?.frozenDefault == nil)
    #expect(shape.property("note")?.frozenDefault == nil)
    // A record of before reads them, and a later version keeps them.
    let record = try record([.string("x")], old.shape)
    try withView(record, of: storedShape(schema, 1), as: now.entities[0], settled: FrozenDefaults(shape)) {
      view in
      #expect(view.scalar(0, as: String.self) == "x")
      #expect(view.scalar(2, as: Int.self) == 7)
    }
    let later = EntityDescription(
      EntityShape("Sample", [PropertyShape("name", .string), PropertyShape("mark", .uuid)]),
      originalNames: [nil, "stamp"])
    let third = try adopt(description(later, label: .init(3, 0, 0)), records: ["Sample": 1])
    #expect(third.entity("Sample")?.shape.property("mark")?.frozenDefault == stamp)
  }

  private func storedShape(_ schema: StoredSchema, _ id: UInt32) throws -> EntityShape {
    try #require(schema.shapes[id]).shape
  }

  @Test func indexesAreMarkedIncomplete() throws {
    try adopt(description(entity("A", n, indexes: [["n"]])))
    try store.write { transaction in
      var schema = try #require(try SchemaStore.load(transaction))
      try SchemaStore.setBuilding(true, index: "index/A/n", &schema, in: &transaction)
    }
    #expect(try load()?.buildingIndexes == ["index/A/n"])
    #expect(try load()?.generation == 2)
    try store.write { transaction in
      var schema = try #require(try SchemaStore.load(transaction))
      try SchemaStore.setBuilding(false, index: "index/A/n", &schema, in: &transaction)
    }
    #expect(try load()?.buildingIndexes == [])
  }

  /// SPEC.md [H-3]
  @Test func theCurrentRowFitsTheHeader() throws {
    try adopt(description(entity("A", n), label: .init(.max, .max, .max)))
    let row = try store.read { try $0.get("current", in: $0.table("\u{0}schema")) }
    #expect(try #require(row).count <= 256)
  }

  /// The example of the specification.
  /// SPEC.md [M-3] [M-4] [M-6]
  @Test func bytesOfTheExample() throws {
    let name = PropertyShape("name", .string)
    let done = PropertyShape("done", .bool)
    let goal = PropertyShape("goal", .int64, typeName: "Int", frozenDefault: [5, 0, 0, 0, 0, 0, 0, 0])
    let owner = PropertyShape("owner", toMany: false, .init(destination: "Person", inverse: "habits"))
    let first = try adopt(description(entity("Habit", name, done, uniques: [["name"]])))
    let second = try adopt(
      description(entity("Habit", name, done, goal, owner, uniques: [["name"]]), label: .init(2, 0, 0)),
      records: ["Habit": 3])
    #expect(first.current.digest == 16_369_653_014_268_075_471)
    #expect(second.current.digest == 16_455_541_851_426_744_097)
    let row = try #require(
      try store.read { try $0.get(Array("shape".utf8) + [0, 0, 0, 1], in: $0.table("\u{0}schema")) })
    #expect(
      row.map { String(format: "%02x", $0) }.joined()
        == "a3646e616d6565486162697467756e69717565738181646e616d656a70726f7065727469657382a5646b696e6469"
        + "617474726962757465646e616d65646e616d6564747970651065737769667466537472696e67676c696e6561676501a5"
        + "646b696e6469617474726962757465646e616d6564646f6e6564747970650165737769667464426f6f6c676c696e6561676502"
    )
    let current = try #require(try store.read { try $0.get("current", in: $0.table("\u{0}schema")) })
    #expect(try CodedValue(current)["state"]?.string == "sweeping")
  }

  @Test func damagedRowsAreErrors() throws {
    try adopt(description(entity("A", n, s), entity("B", n)))
    try adopt(description(entity("A", n), entity("B", n)), records: ["A": 1])
    var rows: [(key: [UInt8], value: [UInt8])] = []
    try store.read { reading in
      try reading.forEach(in: reading.table("\u{0}schema"), .all, reversed: false) { key, value in
        rows.append((Array(key), Array(value)))
        return true
      }
    }
    for (key, value) in rows {
      for place in value.indices {
        for damaged in [
          Array(value[..<place]), value[..<place] + [value[place] ^ 0x21] + value[(place + 1)...],
        ] {
          var transaction = try store.beginWrite()
          try transaction.put(key, damaged, in: transaction.table("\u{0}schema"))
          do {
            _ = try SchemaStore.load(transaction)
          } catch is RoostError {
            // Said, not trapped.
          }
          transaction.rollback()
        }
      }
    }
    _ = try store.write { try $0.delete("current", in: $0.table("\u{0}schema")) }
    #expect(throws: RoostError.self) { try load() }
  }
}

enum Frozen {
  @Model final class Sample {
    var name: String
    var stamp: UUID = UUID()
    var count: Int = 7
    var tags: [String] = ["a"]
    var note: String?
    init(name: String) { self.name = name }
  }
}
