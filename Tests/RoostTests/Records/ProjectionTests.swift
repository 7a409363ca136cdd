import Foundation
import TestSupport
import Testing

@testable import Roost

/// Records read as another shape than the one they were written in: every change that asks nothing of them.
@Suite struct ProjectionTests {
  private let record = habitRecord(note: "early")

  private func read<T: PersistentScalar>(
    _ property: PropertyShape, originalName: String? = nil, default field: [UInt8]? = nil, as type: T.Type
  ) throws -> (T, RecordFailure?) {
    let entity = EntityDescription(EntityShape("Habit", [property]), originalNames: [originalName])
    let settled = FrozenDefaults(field.map { [property.name: $0] } ?? [:])
    return try withReader(record, of: habitShape, as: entity, settled: settled) { $0.scalar(0, as: type) }
  }

  /// SPEC.md
  @Test func addedProperties() throws {
    #expect(
      try read(PropertyShape("color", .string), default: Array("red".utf8), as: String.self) == ("red", nil))
    #expect(try read(PropertyShape("color", .string, isOptional: true), as: String?.self) == (nil, nil))
    let missing = try read(PropertyShape("color", .string), as: String.self)
    #expect(missing == ("", RecordFailure(property: 0, reason: .unexpectedNil)))
  }

  @Test func removedAndReorderedProperties() throws {
    #expect(try read(PropertyShape("streak", .int64), as: Int.self) == (-1, nil))
    #expect(try read(PropertyShape("name", .string), as: String.self) == ("Stretch legs", nil))
  }

  @Test func renamedProperties() throws {
    #expect(
      try read(PropertyShape("title", .string), originalName: "name", as: String.self) == (
        "Stretch legs", nil
      ))
  }

  @Test func aNameIsNotTakenFromAPropertyThatStillHasIt() throws {
    let entity = EntityDescription(
      EntityShape(
        "Habit",
        [PropertyShape("note", .string, isOptional: true), PropertyShape("name", .string, isOptional: true)]),
      originalNames: ["name", nil])
    let (values, _) = try withReader(record, of: habitShape, as: entity) {
      ($0.scalar(0, as: String?.self), $0.scalar(1, as: String?.self))
    }
    #expect(values == ("early", "Stretch legs"))
  }

  @Test func becomingOptionalAndBack() throws {
    #expect(try read(PropertyShape("count", .int64, isOptional: true), as: Int?.self) == (3, nil))
    let entity = EntityDescription(EntityShape("Habit", [PropertyShape("note", .string)]))
    let settled = FrozenDefaults(["note": Array("none".utf8)])
    let (set, _) = try withReader(record, of: habitShape, as: entity, settled: settled) {
      $0.scalar(0, as: String.self)
    }
    let (unset, failure) = try withReader(habitRecord(), of: habitShape, as: entity, settled: settled) {
      $0.scalar(0, as: String.self)
    }
    #expect(set == "early" && unset == "none" && failure == nil)
  }

  @Test func anOptionalKeepsItsStoredNil() throws {
    let entity = EntityDescription(EntityShape("Habit", [PropertyShape("note", .string, isOptional: true)]))
    let (note, _) = try withReader(
      habitRecord(), of: habitShape, as: entity, settled: FrozenDefaults(["note": Array("new".utf8)])
    ) { $0.scalar(0, as: String?.self) }
    #expect(note == nil)
  }

  /// SPEC.md
  @Test func wideningIntegers() throws {
    let stored = EntityShape(
      "E", [PropertyShape("n", .int8), PropertyShape("u", .uint32), PropertyShape("f", .float)])
    let bytes = try encoded([.integer(-5), .integer(4_000_000_000), .float(1.5)], stored)
    let entity = EntityDescription(
      EntityShape("E", [PropertyShape("n", .int64), PropertyShape("u", .int64), PropertyShape("f", .double)]))
    let (values, failure) = try withReader(bytes, of: stored, as: entity) {
      ($0.scalar(0, as: Int.self), $0.scalar(1, as: Int64?.self), $0.scalar(2, as: Double.self))
    }
    #expect(values == (-5, 4_000_000_000, 1.5) && failure == nil)
  }

  @Test func narrowingThatFailsIsNoted() throws {
    let stored = EntityShape("E", [PropertyShape("n", .int64)])
    let bytes = try encoded([.integer(300)], stored)
    let entity = EntityDescription(EntityShape("E", [PropertyShape("n", .int8)]))
    let (value, failure) = try withReader(bytes, of: stored, as: entity) { $0.scalar(0, as: Int8.self) }
    #expect(value == 0 && failure == RecordFailure(property: 0, reason: .notConvertible))
    try withView(bytes, of: stored, as: entity) { view in
      #expect(view.problem(0, entity.shape.properties[0]) == .notConvertible)
    }
  }

  @Test func toOneBecomingToMany() throws {
    let stored = EntityShape("E", [PropertyShape("a", toMany: false, .init(destination: "T"))])
    let entity = EntityDescription(
      EntityShape("E", [PropertyShape("a", toMany: true, .init(destination: "T"))]))
    let record = try encoded([.identifier(5)], stored)
    // The context finds the members: whoever changes them has to write them into links first.
    let (targets, _) = try withReader(record, of: stored, as: entity) { $0.identifiers(0) }
    #expect(targets == nil)
    try withView(record, of: stored, as: entity) { #expect($0.formerTarget(0) == 5) }
    let (none, _) = try withReader(try encoded([.null], stored), of: stored, as: entity) { $0.identifiers(0) }
    #expect(none == nil)
  }

  @Test func anEnumGetsACase() throws {
    enum Mood: String, Codable { case calm, cross, new }
    let stored = EntityShape("E", [PropertyShape("m", .string)])
    let (mood, failure) = try withReader(try encoded([.string("cross")], stored), of: stored) {
      Mood(rawValue: $0.scalar(0))
    }
    #expect(mood == .cross && failure == nil)
  }

  @Test func propertiesFollowTheirLineage() throws {
    // First a, renamed to b, dropped; then a new one named a.
    var old = EntityShape("E", [PropertyShape("a", .int64), PropertyShape("k", .int64)])
    old.properties[0].lineage = 1
    old.properties[1].lineage = 2
    var now = EntityShape("E", [PropertyShape("a", .int64), PropertyShape("z", .int64)])
    now.properties[0].lineage = 3
    now.properties[0].frozenDefault = [9, 0, 0, 0, 0, 0, 0, 0]
    now.properties[1].lineage = 2
    let bytes = try encoded([.integer(1), .integer(2)], old)
    let (values, failure) = try withReader(
      bytes, of: old, as: EntityDescription(now), settled: FrozenDefaults(now)
    ) {
      ($0.scalar(0, as: Int.self), $0.scalar(1, as: Int.self))
    }
    #expect(values == (9, 2) && failure == nil)
  }

  @Test func identity() {
    let entity = EntityDescription(habitShape)
    func isIdentity(_ shape: EntityShape) -> Bool {
      RecordProjection(
        from: StoredEntityShape(id: 1, shape: shape), to: entity, defaults: FrozenDefaults(), space: space
      ).isIdentity
    }
    #expect(isIdentity(habitShape))
    var more = habitShape
    more.properties.append(PropertyShape("x", .bool))
    #expect(!isIdentity(more))
    var other = habitShape
    other.properties.swapAt(0, 1)
    #expect(!isIdentity(other))
  }

  @Test(arguments: Seed.first(30))
  func rewritingEqualsReading(seed: Seed) throws {
    var random = seed.generator
    let (stored, values) = random.shapeAndValues()
    let bytes = try encoded(values, stored)
    // Some properties go, the others come in another order, and one is new.
    var properties = stored.properties.shuffled(using: &random).filter { _ in !random.oneIn(4) }
    properties.append(PropertyShape("new", .string))
    let entity = EntityDescription(EntityShape("Random", properties))
    let settled = FrozenDefaults(["new": Array("x".utf8)])
    try withView(bytes, of: stored, as: entity, settled: settled) { view in
      let rewritten = try RecordRewriter.rewrite(view, as: entity, shape: 2, commit: 5)
      try withView(rewritten, of: entity.shape) { copy in
        for index in properties.indices { #expect(copy.value(index) == view.value(index)) }
        #expect(copy.value(properties.count - 1) == .string("x"))
        #expect(copy.commit == 5)
      }
    }
  }
}

/// `record` of the fixtures, where a property of that name is in scope.
private func encoded(_ values: [FieldValue], _ shape: EntityShape) throws -> [UInt8] {
  try record(values, shape)
}
