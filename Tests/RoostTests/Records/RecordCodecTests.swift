import Foundation
import TestSupport
import Testing

@testable import Roost

@Suite struct RecordCodecTests {
  /// The example of the specification.
  /// SPEC.md
  @Test func bytesOfTheExample() {
    let hex = habitRecord().map { String(format: "%02x", $0) }.joined()
    #expect(
      hex == "01010000" + "0700000000000000" + "20" + "0300000000000000" + "01" + "0000408093dcc441"
        + "ffffffffffffffff" + "0c00" + "0c00" + "53747265746368206c656773")
    #expect(habitRecord().count <= 60)
  }

  @Test(arguments: Seed.first(60))
  func valuesSurvive(seed: Seed) throws {
    var random = seed.generator
    let (shape, values) = random.shapeAndValues()
    let record = try record(values, shape)
    try withView(record, of: shape) { view in
      for (index, value) in values.enumerated() {
        #expect(view.value(index) == value, "\(shape.properties[index].type)")
        #expect(!view.isDamaged(index))
      }
      #expect(view.commit == 1)
    }
    let dump = try #require(
      record.withUnsafeBytes { RecordDump(StoredEntityShape(id: 1, shape: shape)).values($0) })
    #expect(dump.map(\.name) == shape.properties.map(\.name))
    #expect(dump.map(\.value) == values)
  }

  @Test(arguments: Seed.first(30))
  func orderOfWritingDoesNotMatter(seed: Seed) throws {
    var random = seed.generator
    let (shape, values) = random.shapeAndValues()
    var writer = RecordWriter(RecordLayout(shape.properties), shape: 1, commit: 1)
    // Every second property is written twice, with something else before.
    var order = Array(values.indices) + values.indices.filter { $0.isMultiple(of: 2) }
    order.shuffle(using: &random)
    for index in order {
      let type = shape.properties[index].type
      let other = FieldValue.random(type, using: &random).fieldBytes(as: type) ?? []
      other.withUnsafeBytes { writer.copy(RecordField(bytes: $0, type: type), at: index) }
      let bytes = values[index].fieldBytes(as: type)
      if let bytes {
        bytes.withUnsafeBytes { writer.copy(RecordField(bytes: $0, type: type), at: index) }
      } else {
        writer.null(at: index)
      }
    }
    #expect(try writer.finish() == record(values, shape))
  }

  @Test func longValuesTakeWideEnds() throws {
    let long = String(repeating: "x", count: 70_000)
    let record = habitRecord(name: long, note: "n")
    #expect(record[0] == 0x81)
    try withView(record, of: habitShape) { view in
      #expect(view.scalar(1, as: String.self) == long)
      #expect(view.scalar(5, as: String?.self) == "n")
    }
    let justFits = String(repeating: "x", count: 65_535)
    #expect(habitRecord(name: justFits)[0] == 0x01)
    try withView(habitRecord(name: justFits), of: habitShape) { #expect($0.scalar(1) == justFits) }
  }

  /// SPEC.md
  @Test func scalarsKeepTheirBits() throws {
    let shape = EntityShape(
      "E", [PropertyShape("d", .double), PropertyShape("f", .float), PropertyShape("t", .date)])
    var writer = RecordWriter(RecordLayout(shape.properties), shape: 1, commit: 1)
    writer.scalar(Double(bitPattern: 0x7FF8_0000_0000_1234), at: 0)
    writer.scalar(-Float.zero, at: 1)
    writer.scalar(Date.distantPast, at: 2)
    try withView(try writer.finish(), of: shape) { view in
      #expect(view.scalar(0, as: Double.self)?.bitPattern == 0x7FF8_0000_0000_1234)
      #expect(view.scalar(1, as: Float.self)?.sign == .minus)
      #expect(view.scalar(2, as: Date.self) == .distantPast)
    }
  }

  @Test func snapshotsHoldToManyRelationships() throws {
    let shape = EntityShape(
      "Owner", [PropertyShape("pets", toMany: true, .init(destination: "Pet")), PropertyShape("n", .int8)])
    let pets = (1...3).map { PersistentIdentifier(number: UInt64($0), in: space("Pet")) }
    var store = RecordWriter(RecordLayout(shape.properties), shape: 1, commit: 1)
    store.identifiers(pets, at: 0)
    #expect(store.links.map(\.index) == [0] && store.links.first?.targets == pets)
    let (stored, _) = try withReader(try store.finish(), of: shape) { $0.identifiers(0) }
    #expect(stored == nil)
    let entity = EntityDescription(shape)
    var snapshot = RecordWriter(entity.snapshotLayout, shape: 1, commit: 1)
    snapshot.identifiers(pets, at: 0)
    let bytes = try snapshot.finish()
    let projection = RecordProjection(
      from: StoredEntityShape(id: 1, shape: shape), to: entity, defaults: FrozenDefaults(), isSnapshot: true,
      space: space)
    bytes.withUnsafeBytes { buffer in
      guard let header = RecordHeader(buffer), let view = RecordView(buffer, header, projection) else {
        Issue.record("the snapshot doesn't open")
        return
      }
      #expect(RecordReader(view, notes: .init()).identifiers(0) == pets)
    }
  }

  @Test func writingTheWrongTypeIsAnError() {
    var writer = RecordWriter(RecordLayout(habitShape.properties), shape: 1, commit: 1)
    writer.scalar("text", at: 0)
    #expect(throws: RecordFailure(property: 0, reason: .wrongType)) { try writer.finish() }
  }

  @Test func whatCodableThrowsIsReported() {
    struct Refusing: Codable {
      func encode(to encoder: any Encoder) throws { throw CocoaError(.coderInvalidValue) }
    }
    let shape = EntityShape("E", [PropertyShape("v", .coded)])
    var writer = RecordWriter(RecordLayout(shape.properties), shape: 1, commit: 1)
    writer.codable(Refusing(), at: 0)
    #expect(throws: RecordFailure.self) { try writer.finish() }
  }
}
