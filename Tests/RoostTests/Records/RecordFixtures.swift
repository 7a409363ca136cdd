import Foundation
import RoostKV
import TestSupport

@testable import Roost

/// The entity of the specification's example: six properties.
let habitShape = EntityShape(
  "Habit",
  [
    PropertyShape("count", .int64),
    PropertyShape("name", .string),
    PropertyShape("done", .bool),
    PropertyShape("created", .date),
    PropertyShape("streak", .int64),
    PropertyShape("note", .string, isOptional: true),
  ])

/// The record of one habit.
func habitRecord(
  count: Int = 3, name: String = "Stretch legs", done: Bool = true, created: Double = 700_000_000.5,
  streak: Int = -1,
  note: String? = nil, shape: UInt32 = 1, commit: UInt64 = 7
) -> [UInt8] {
  var writer = RecordWriter(RecordLayout(habitShape.properties), shape: shape, commit: commit)
  writer.scalar(count, at: 0)
  writer.scalar(name, at: 1)
  writer.scalar(done, at: 2)
  writer.scalar(Date(timeIntervalSinceReferenceDate: created), at: 3)
  writer.scalar(streak, at: 4)
  writer.scalar(note, at: 5)
  return (try? writer.finish()) ?? []
}

func space(_ entity: String) -> IdentifierSpace { IdentifierSpace(storeIdentifier: "s", entityName: entity) }

/// Calls `body` with a view of a record of `stored`, read as `entity`.
func withView<R>(
  _ record: [UInt8], of stored: EntityShape, as entity: EntityDescription? = nil,
  settled: FrozenDefaults = .init(),
  _ body: (RecordView) throws -> R
) throws -> R {
  let projection = RecordProjection(
    from: StoredEntityShape(id: 1, shape: stored), to: entity ?? EntityDescription(stored), defaults: settled,
    space: space)
  return try record.withUnsafeBytes { bytes in
    guard let header = RecordHeader(bytes), let view = RecordView(bytes, header, projection) else {
      throw RecordFailure(property: nil, reason: .damagedRecord)
    }
    return try withExtendedLifetime(projection) { try body(view) }
  }
}

/// Calls `body` with a reader in place of a view; returns what the reader noted too.
func withReader<R>(
  _ record: [UInt8], of stored: EntityShape, as entity: EntityDescription? = nil,
  settled: FrozenDefaults = .init(),
  _ body: (borrowing RecordReader) throws -> R
) throws -> (R, RecordFailure?) {
  try withView(record, of: stored, as: entity, settled: settled) { view in
    let notes = RecordReader.Notes()
    return (try body(RecordReader(view, notes: notes)), notes.failure)
  }
}

/// A record of values in the layout of their shape.
func record(_ values: [FieldValue], _ shape: EntityShape) throws -> [UInt8] {
  var writer = RecordWriter(RecordLayout(shape.properties), shape: 1, commit: 1)
  for (index, value) in values.enumerated() {
    guard let bytes = value.fieldBytes(as: shape.properties[index].type) else { continue }
    bytes.withUnsafeBytes {
      writer.copy(RecordField(bytes: $0, type: shape.properties[index].type), at: index)
    }
  }
  return try writer.finish()
}

/// The types that fields of a store's records have.
let storedTypes = FieldType.allCases.filter { $0 != .identifiers }

extension FieldValue {
  static func random(_ type: FieldType, using random: inout SplitMix64) -> FieldValue {
    switch type {
    case .bool: return .bool(random.oneIn(2))
    case .int8: return .integer(Int64(Int8.random(in: .min ... .max, using: &random)))
    case .int16: return .integer(Int64(Int16.random(in: .min ... .max, using: &random)))
    case .int32: return .integer(Int64(Int32.random(in: .min ... .max, using: &random)))
    case .int64:
      return .integer(
        random.oneIn(3) ? [.min, .max, 0, -1][Int(random.next() % 4)] : Int64(bitPattern: random.next()))
    case .uint8: return .integer(Int64(UInt8.random(in: .min ... .max, using: &random)))
    case .uint16: return .integer(Int64(UInt16.random(in: .min ... .max, using: &random)))
    case .uint32: return .integer(Int64(UInt32.random(in: .min ... .max, using: &random)))
    case .uint64:
      let value = random.oneIn(3) ? UInt64.max : random.next()
      return Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
    case .float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: random.next()) & 0xFF7F_FFFF))
    case .double: return .double(Double(bitPattern: random.next() & 0xFFEF_FFFF_FFFF_FFFF))
    case .date: return .date(Double(Int64(bitPattern: random.next()) >> 20) / 1024)
    case .uuid:
      return .uuid(UUID(uuid: random.bytes(16).withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }))
    case .identifier: return .identifier(random.next())
    case .string: return .string(text(using: &random))
    case .data: return .data(Data(random.bytes(Int.random(in: 0...40, using: &random))))
    case .url: return .url("https://example.org/\(random.next())")
    case .decimal:
      return .decimal(
        Decimal(
          sign: .minus, exponent: Int.random(in: -20...20, using: &random),
          significand: Decimal(random.next())))
    case .coded: return .coded(.array([.integer(Int64(random.next() >> 1)), .string(text(using: &random))]))
    case .identifiers:
      return .identifiers((0..<Int.random(in: 0...4, using: &random)).map { _ in random.next() })
    }
  }

  private static func text(using random: inout SplitMix64) -> String {
    String(
      (0..<Int.random(in: 0...12, using: &random)).map { _ in
        ["a", "é", "日", "\0", "😀"].randomElement(using: &random) ?? "a"
      })
  }
}

extension SplitMix64 {
  /// A shape of up to 40 properties, and a value for each, nil among them.
  mutating func shapeAndValues() -> (EntityShape, [FieldValue]) {
    let count = Int.random(in: 0...(oneIn(3) ? 40 : 6), using: &self)
    var values: [FieldValue] = []
    let properties = (0..<count).map { index in
      let type = storedTypes.randomElement(using: &self) ?? .bool
      values.append(oneIn(5) ? .null : .random(type, using: &self))
      if type == .identifier {
        return PropertyShape("p\(index)", toMany: false, .init(destination: "Other"))
      }
      return PropertyShape("p\(index)", type, isOptional: true)
    }
    return (EntityShape("Random", properties), values)
  }
}
