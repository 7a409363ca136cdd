import Testing

@testable import Roost

@Suite struct SchemaDifferenceTests {
  typealias Change = SchemaDifference.Change

  private func difference(
    _ old: EntityDescription?, _ new: EntityDescription?, records: Int = 10
  ) -> SchemaDifference {
    SchemaDifference(
      from: old.map { [$0.shape] } ?? [],
      to: SchemaDescription(label: .init(2, 0, 0), new.map { [$0] } ?? []),
      records: { _ in records })
  }

  private func only(_ difference: SchemaDifference) throws -> Change {
    try #require(difference.changes.count == 1 ? difference.changes.first : nil, "\(difference.changes)")
  }

  private let n = PropertyShape("n", .int64)

  @Test func nothing() {
    #expect(difference(entity("E", n), entity("E", n)).isEmpty)
  }

  @Test func entities() throws {
    #expect(try only(difference(nil, entity("E", n))).kind == .entityAdded)
    let gone = try only(difference(entity("E", n), nil))
    #expect(gone.kind == .entityRemoved && gone.losesData && gone.effect == .lazy)
    #expect(try !only(difference(entity("E", n), nil, records: 0)).losesData)
  }

  @Test func addedProperties() throws {
    let optional = try only(
      difference(entity("E", n), entity("E", n, PropertyShape("s", .string, isOptional: true))))
    #expect(optional.kind == .propertyAdded && optional.effect == .lazy)
    let initialized = entity("E", n, PropertyShape("s", .string), initialized: ["s"])
    #expect(try only(difference(entity("E", n), initialized)).effect == .lazy)
    let required = entity("E", n, PropertyShape("s", .string))
    #expect(try only(difference(entity("E", n), required)).effect == .custom)
    #expect(difference(entity("E", n), required, records: 0).effect == .lazy)
  }

  @Test func removedAndRenamed() throws {
    let s = PropertyShape("s", .string)
    let removed = try only(difference(entity("E", n, s), entity("E", n)))
    #expect(removed.kind == .propertyRemoved && removed.losesData && removed.effect == .lazy)
    let t = PropertyShape("t", .string)
    let renamed = try only(difference(entity("E", n, s), entity("E", n, t, originalNames: [nil, "s"])))
    #expect(renamed.kind == .propertyRenamed(from: "s") && renamed.effect == .lazy && !renamed.losesData)
    let unclear = try only(difference(entity("E", n, s), entity("E", n, t, initialized: ["t"])))
    #expect(unclear.kind == .possibleRename(from: "s") && unclear.effect == .unclear)
    let said = difference(
      entity("E", n, s), entity("E", n, t, originalNames: [nil, "t"], initialized: ["t"]))
    #expect(said.effect == .lazy && said.losses.count == 1 && said.changes.count == 2)
    let otherType = PropertyShape("t", .date)
    #expect(difference(entity("E", n, s), entity("E", n, otherType, initialized: ["t"])).effect == .lazy)
  }

  @Test(arguments: [
    (FieldType.int8, FieldType.int64, SchemaDifference.Effect.lazy), (.uint32, .int64, .lazy),
    (.int64, .int32, .scan),
    (.int64, .uint64, .scan), (.int32, .double, .lazy), (.int64, .double, .scan), (.float, .double, .lazy),
    (.double, .float, .scan), (.double, .int64, .scan), (.int64, .decimal, .lazy), (.string, .url, .scan),
    (.url, .string, .lazy), (.string, .int64, .custom), (.coded, .string, .custom), (.bool, .int64, .custom),
  ])
  func types(from: FieldType, to: FieldType, effect: SchemaDifference.Effect) throws {
    let change = try only(
      difference(entity("E", PropertyShape("p", from)), entity("E", PropertyShape("p", to))))
    #expect(change.kind == .typeChanged(from: from, to: to) && change.effect == effect)
  }

  @Test func optionality() throws {
    let optional = PropertyShape("n", .int64, isOptional: true)
    #expect(try only(difference(entity("E", n), entity("E", optional))).kind == .becameOptional)
    let required = try only(difference(entity("E", optional), entity("E", n)))
    #expect(required.kind == .becameRequired && required.effect == .scan)
    #expect(try only(difference(entity("E", optional), entity("E", n, initialized: ["n"]))).effect == .lazy)
  }

  @Test func relationships() throws {
    func one(_ rule: String = "nullify", to: String = "T") -> PropertyShape {
      PropertyShape("r", toMany: false, .init(destination: to, deleteRule: rule))
    }
    let many = PropertyShape("r", toMany: true, .init(destination: "T"), isOptional: false)
    let widened = difference(entity("E", one()), entity("E", many))
    #expect(widened.effect == .scan || widened.effect == .lazy)
    #expect(
      widened.changes.contains { $0.kind == .kindChanged(from: .toOne, to: .toMany) && $0.effect == .lazy })
    #expect(difference(entity("E", many), entity("E", one())).effect == .scan)
    let rule = try only(difference(entity("E", one()), entity("E", one("cascade"))))
    #expect(rule.kind == .rulesChanged && rule.effect == .lazy)
    #expect(try only(difference(entity("E", one()), entity("E", one(to: "U")))).effect == .custom)
  }

  @Test func uniquenessAndIndexes() throws {
    let plain = entity("E", n)
    let unique = try only(difference(plain, entity("E", n, uniques: [["n"]])))
    #expect(unique.kind == .uniqueAdded(["n"]) && unique.effect == .scan)
    #expect(try only(difference(entity("E", n, uniques: [["n"]]), plain)).effect == .lazy)
    #expect(try only(difference(plain, entity("E", n, indexes: [["n"]]))).effect == .lazy)
    #expect(try only(difference(entity("E", n, indexes: [["n"]]), plain)).effect == .lazy)
    let s = PropertyShape("s", .string)
    let new = entity("E", n, s, initialized: ["s"], uniques: [["s"]])
    #expect(difference(plain, new).effect == .custom)
    #expect(difference(plain, new, records: 1).effect == .scan)
    let renamed = entity("E", PropertyShape("m", .int64), originalNames: ["n"], uniques: [["m"]])
    #expect(
      try only(difference(entity("E", n, uniques: [["n"]]), renamed)).kind == .propertyRenamed(from: "n"))
  }

  @Test func parents() throws {
    let child = EntityDescription(EntityShape("E", parent: "P", [n]))
    #expect(try only(difference(entity("E", n), child)).kind == .parentChanged(from: nil, to: "P"))
  }
}
