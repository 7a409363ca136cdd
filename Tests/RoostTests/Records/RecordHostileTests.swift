import Foundation
import TestSupport
import Testing

@testable import Roost

/// Damaged records: nothing traps, and what can't be read is noted.
@Suite struct RecordHostileTests {
  /// Reads everything in every way there is.
  private func readAll(_ record: [UInt8], _ shape: EntityShape) {
    _ = record.withUnsafeBytes { RecordDump(StoredEntityShape(id: 1, shape: shape)).values($0) }
    _ = try? withReader(record, of: shape) { reader in
      for index in -1...shape.properties.count {
        _ = reader.scalar(index, as: Int.self)
        _ = reader.scalar(index, as: UInt8?.self)
        _ = reader.scalar(index, as: Bool.self)
        _ = reader.scalar(index, as: Double.self)
        _ = reader.scalar(index, as: Float.self)
        _ = reader.scalar(index, as: String?.self)
        _ = reader.scalar(index, as: Data.self)
        _ = reader.scalar(index, as: URL.self)
        _ = reader.scalar(index, as: UUID.self)
        _ = reader.scalar(index, as: Date.self)
        _ = reader.scalar(index, as: Decimal.self)
        _ = reader.codable(index, as: [String].self)
        _ = reader.identifier(index)
        _ = reader.identifiers(index)
      }
    }
    _ = try? withView(record, of: shape) { view in
      for (index, property) in shape.properties.enumerated() {
        _ = view.problem(index, property)
        _ = view.ascii(index)
      }
      _ = try? RecordRewriter.rewrite(view, as: EntityDescription(shape), shape: 2, commit: 2)
    }
  }

  @Test(arguments: Seed.first(12))
  func everyTruncationAndFlip(seed: Seed) throws {
    var random = seed.generator
    let (shape, values) = random.shapeAndValues()
    let record = try record(values, shape)
    for length in 0..<record.count { readAll(Array(record[..<length]), shape) }
    for place in record.indices {
      var flipped = record
      flipped[place] ^= random.oneIn(2) ? 0xFF : UInt8(1) << UInt8.random(in: 0...7, using: &random)
      readAll(flipped, shape)
    }
  }

  @Test func wideEndsBeyondTheRecord() throws {
    var record = habitRecord(name: String(repeating: "x", count: 70_000))
    for place in 12 + 26..<12 + 26 + 8 { record[place] = 0xFF }
    readAll(record, habitShape)
    let (name, failure) = try withReader(record, of: habitShape) { $0.scalar(1, as: String.self) }
    #expect(name == "" && failure == RecordFailure(property: 1, reason: .damagedField))
  }

  /// SPEC.md
  @Test func damageIsNotedAndTheRestReads() throws {
    var record = habitRecord()
    let nameStart = record.count - 12
    record[nameStart] = 0xFF
    let (values, failure) = try withReader(record, of: habitShape) { reader in
      (reader.scalar(0, as: Int.self), reader.scalar(1, as: String.self), reader.scalar(4, as: Int.self))
    }
    #expect(values == (3, "", -1))
    #expect(failure == RecordFailure(property: 1, reason: .damagedField))
  }

  @Test func aShortRecordDoesNotOpen() {
    #expect(throws: RecordFailure.self) {
      try withView(Array(habitRecord()[..<30]), of: habitShape) { _ in }
    }
    #expect([UInt8]([2] + [UInt8](repeating: 0, count: 40)).withUnsafeBytes { RecordHeader($0) } == nil)
  }

  @Test func theFirstFailureIsKept() throws {
    let shape = EntityShape("E", [PropertyShape("a", .int64), PropertyShape("b", .string)])
    let (_, failure) = try withReader(try record([.null, .null], shape), of: shape) { reader in
      _ = reader.scalar(1, as: String.self)
      _ = reader.scalar(0, as: Int.self)
    }
    #expect(failure == RecordFailure(property: 1, reason: .unexpectedNil))
  }

  @Test func anAbsentRecordIsNeutral() {
    let reader = RecordReader.absent
    #expect(reader.scalar(0, as: Int.self) == 0)
    #expect(reader.scalar(0, as: String?.self) == nil)
    #expect(reader.codable(0, as: [Int].self) == nil)
    #expect(reader.identifier(0) == nil && reader.identifiers(0) == nil)
    #expect(reader.failure == nil)
  }
}
