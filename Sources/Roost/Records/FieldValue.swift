/// The content of a field, for readers that don't know the program's types.
package enum FieldValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// An integer above `Int64.max`.
  case unsigned(UInt64)
  case float(Float)
  case double(Double)
  /// Seconds since 2001-01-01 00:00 UTC.
  case date(Double)
  case uuid(UUID)
  case identifier(UInt64)
  case string(String)
  case data(Data)
  case url(String)
  case decimal(Decimal)
  case coded(CodedValue)
  case identifiers([UInt64])
  /// The bytes make no sense as the field's type.
  case damaged([UInt8])

  package init(_ field: RecordField) {
    guard let bytes = field.bytes else {
      self = .null
      return
    }
    self = Self.read(field) ?? .damaged(Array(bytes))
  }

  private static func read(_ field: RecordField) -> FieldValue? {
    switch field.type {
    case .bool: Bool._$read(field).map { .bool($0) }
    case .int8: field.load(Int8.self).map { .integer(Int64($0)) }
    case .int16: field.load(Int16.self).map { .integer(Int64($0)) }
    case .int32: field.load(Int32.self).map { .integer(Int64($0)) }
    case .int64: field.load(Int64.self).map { .integer($0) }
    case .uint8: field.load(UInt8.self).map { .integer(Int64($0)) }
    case .uint16: field.load(UInt16.self).map { .integer(Int64($0)) }
    case .uint32: field.load(UInt32.self).map { .integer(Int64($0)) }
    case .uint64:
      field.load(UInt64.self).map { unsigned in
        Int64(exactly: unsigned).map { .integer($0) } ?? .unsigned(unsigned)
      }
    case .float: field.load(UInt32.self).map { .float(Float(bitPattern: $0)) }
    case .double: field.load(UInt64.self).map { .double(Double(bitPattern: $0)) }
    case .date: field.load(UInt64.self).map { .date(Double(bitPattern: $0)) }
    case .uuid: UUID._$read(field).map { .uuid($0) }
    case .identifier: field.load(UInt64.self).map { .identifier($0) }
    case .string: String._$read(field).map { .string($0) }
    case .url: String._$read(field).map { .url($0) }
    case .data: Data._$read(field).map { .data($0) }
    case .decimal, .coded: coded(field)
    case .identifiers: identifiers(field).map { .identifiers($0) }
    }
  }

  private static func coded(_ field: RecordField) -> FieldValue? {
    guard let bytes = field.bytes, let value = try? CodedValue(bytes) else { return nil }
    if field.type == .coded { return .coded(value) }
    if case .decimal(let number) = value { return .decimal(number) }
    return nil
  }

  static func identifiers(_ field: RecordField) -> [UInt64]? {
    guard let bytes = field.bytes, bytes.count.isMultiple(of: 8) else { return nil }
    return stride(from: 0, to: bytes.count, by: 8).map {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt64.self))
    }
  }
}
