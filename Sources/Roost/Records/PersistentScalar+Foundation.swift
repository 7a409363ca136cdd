extension Data: PersistentScalar {
  public static var _$neutral: Data { Data() }
  public static var _$fieldType: FieldType { .data }

  public static func _$read(_ field: RecordField) -> Data? {
    guard let bytes = field.bytes, field.type == .data else { return nil }
    return Data(bytes)
  }

  public func _$write(to writer: inout RecordWriter, at index: Int) {
    withUnsafeBytes { writer.variable($0, at: index) }
  }
}

extension Date: PersistentScalar {
  public static var _$neutral: Date { Date(timeIntervalSinceReferenceDate: 0) }
  public static var _$fieldType: FieldType { .date }

  public static func _$read(_ field: RecordField) -> Date? {
    guard field.type == .date, let bits = field.load(UInt64.self) else { return nil }
    return Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
  }

  public func _$write(to writer: inout RecordWriter, at index: Int) {
    writer.fixed(timeIntervalSinceReferenceDate.bitPattern, width: 8, at: index)
  }
}

extension UUID: PersistentScalar {
  public static var _$neutral: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  public static var _$fieldType: FieldType { .uuid }

  public static func _$read(_ field: RecordField) -> UUID? {
    guard field.type == .uuid, let bytes = field.bytes, bytes.count == 16 else { return nil }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  public func _$write(to writer: inout RecordWriter, at index: Int) {
    withUnsafeBytes(of: uuid) { writer.fixed($0, at: index) }
  }
}

/// Stored as absolute text; an address relative to a base is stored joined with it.
extension URL: PersistentScalar {
  public static var _$neutral: URL { URL(filePath: "/") }
  public static var _$fieldType: FieldType { .url }

  public static func _$read(_ field: RecordField) -> URL? {
    String._$read(field).flatMap { URL(string: $0) }
  }

  public func _$write(to writer: inout RecordWriter, at index: Int) {
    var text = absoluteString
    text.withUTF8 { writer.variable(UnsafeRawBufferPointer($0), at: index) }
  }
}

extension Decimal: PersistentScalar {
  public static var _$neutral: Decimal { 0 }
  public static var _$fieldType: FieldType { .decimal }

  public static func _$read(_ field: RecordField) -> Decimal? {
    switch FieldValue(field) {
    case .decimal(let value): value
    case .integer(let value): Decimal(value)
    case .unsigned(let value): Decimal(value)
    default: nil
    }
  }

  public func _$write(to writer: inout RecordWriter, at index: Int) {
    CodedValue.decimal(self).bytes.withUnsafeBytes { writer.variable($0, at: index) }
  }
}
