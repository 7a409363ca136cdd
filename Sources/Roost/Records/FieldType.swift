/// How a field's bytes are to be read. The raw values are part of the file format.
public enum FieldType: UInt8, Sendable, Hashable, CaseIterable {
  case bool = 0x01
  case int8 = 0x02
  case int16 = 0x03
  case int32 = 0x04
  case int64 = 0x05
  case uint8 = 0x06
  case uint16 = 0x07
  case uint32 = 0x08
  case uint64 = 0x09
  case float = 0x0A
  case double = 0x0B
  /// Seconds since 2001-01-01 00:00 UTC, a Double.
  case date = 0x0C
  case uuid = 0x0D
  /// The identifier of another record.
  case identifier = 0x0E

  case string = 0x10
  case data = 0x11
  /// An absolute address, as text.
  case url = 0x12
  /// A decimal number in the form that coded values have.
  case decimal = 0x13
  /// A coded value: what a Codable type wrote.
  case coded = 0x14
  /// Identifiers of other records; only in snapshots, never in a store's records.
  case identifiers = 0x15

  /// Bytes of a field of fixed width; `nil` when fields of the type vary in length.
  @inlinable public var width: Int? {
    switch self {
    case .bool, .int8, .uint8: 1
    case .int16, .uint16: 2
    case .int32, .uint32, .float: 4
    case .int64, .uint64, .double, .date, .identifier: 8
    case .uuid: 16
    case .string, .data, .url, .decimal, .coded, .identifiers: nil
    }
  }

  /// The range of values, for integers.
  package var integerRange: ClosedRange<Int128>? {
    switch self {
    case .int8: Int128(Int8.min)...Int128(Int8.max)
    case .int16: Int128(Int16.min)...Int128(Int16.max)
    case .int32: Int128(Int32.min)...Int128(Int32.max)
    case .int64: Int128(Int64.min)...Int128(Int64.max)
    case .uint8: 0...Int128(UInt8.max)
    case .uint16: 0...Int128(UInt16.max)
    case .uint32: 0...Int128(UInt32.max)
    case .uint64: 0...Int128(UInt64.max)
    default: nil
    }
  }

  /// The name used in messages and dumps.
  package var name: String {
    switch self {
    case .bool: "Bool"
    case .int8: "Int8"
    case .int16: "Int16"
    case .int32: "Int32"
    case .int64: "Int64"
    case .uint8: "UInt8"
    case .uint16: "UInt16"
    case .uint32: "UInt32"
    case .uint64: "UInt64"
    case .float: "Float"
    case .double: "Double"
    case .date: "Date"
    case .uuid: "UUID"
    case .identifier: "to-one"
    case .string: "String"
    case .data: "Data"
    case .url: "URL"
    case .decimal: "Decimal"
    case .coded: "Codable"
    case .identifiers: "to-many"
    }
  }
}
