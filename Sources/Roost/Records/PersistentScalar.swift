/// A type with a field form of its own: what a record holds without a self-describing wrapper.
///
/// The requirements are the contract between the library and its record codec; programs don't call them.
public protocol PersistentScalar {
  /// Zero, empty or nil.
  static var _$neutral: Self { get }

  /// The type of the fields this type writes.
  static var _$fieldType: FieldType { get }

  /// Reads a field, also one of another type if that converts without loss.
  ///
  /// `nil` when the field is nil and the type has none, or when the bytes make no sense as the type.
  static func _$read(_ field: RecordField) -> Self?

  /// Writes the value as the field of the property at `index`.
  func _$write(to writer: inout RecordWriter, at index: Int)
}

/// A field in place: bytes of a record, which are valid as long as the record's, and what they are.
public struct RecordField {
  /// `nil` when the field is nil.
  public let bytes: UnsafeRawBufferPointer?
  public let type: FieldType

  @inlinable
  public init(bytes: UnsafeRawBufferPointer?, type: FieldType) {
    self.bytes = bytes
    self.type = type
  }
}

extension RecordField {
  /// The bytes as a little-endian integer, if they have its width.
  @inlinable
  func load<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type) -> Value? {
    guard let bytes, bytes.count == MemoryLayout<Value>.size else { return nil }
    return Value(littleEndian: bytes.loadUnaligned(as: Value.self))
  }

  /// The integer in a field of any integer type.
  @usableFromInline
  func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    switch FieldValue(self) {
    case .integer(let value): Value(exactly: value)
    case .unsigned(let value): Value(exactly: value)
    case .double(let value): Value(exactly: value)
    case .float(let value): Value(exactly: value)
    default: nil
    }
  }

  /// The number in a field of any number type, if it is one of `Value`'s.
  func floating<Value: BinaryFloatingPoint>(_ type: Value.Type) -> Value? {
    switch FieldValue(self) {
    case .integer(let value): Value(exactly: value)
    case .unsigned(let value): Value(exactly: value)
    case .double(let value): value.isNaN ? .nan : Value(exactly: value)
    case .float(let value): value.isNaN ? .nan : Value(exactly: value)
    default: nil
    }
  }
}

// MARK: - Integers

extension PersistentScalar where Self: FixedWidthInteger & BitwiseCopyable {
  @inlinable public static var _$neutral: Self { 0 }

  @inlinable
  public static func _$read(_ field: RecordField) -> Self? {
    field.type == _$fieldType ? field.load(Self.self) : field.integer(Self.self)
  }

  @inlinable
  public func _$write(to writer: inout RecordWriter, at index: Int) {
    writer.fixed(UInt64(truncatingIfNeeded: self), width: MemoryLayout<Self>.size, at: index)
  }
}

extension Int8: PersistentScalar { public static var _$fieldType: FieldType { .int8 } }
extension Int16: PersistentScalar { public static var _$fieldType: FieldType { .int16 } }
extension Int32: PersistentScalar { public static var _$fieldType: FieldType { .int32 } }
extension Int64: PersistentScalar { public static var _$fieldType: FieldType { .int64 } }
extension UInt8: PersistentScalar { public static var _$fieldType: FieldType { .uint8 } }
extension UInt16: PersistentScalar { public static var _$fieldType: FieldType { .uint16 } }
extension UInt32: PersistentScalar { public static var _$fieldType: FieldType { .uint32 } }
extension UInt64: PersistentScalar { public static var _$fieldType: FieldType { .uint64 } }

/// Eight bytes on every machine.
extension Int: PersistentScalar {
  @inlinable public static var _$fieldType: FieldType { .int64 }

  @inlinable
  public static func _$read(_ field: RecordField) -> Int? {
    guard field.type == .int64 else { return field.integer(Int.self) }
    return field.load(Int64.self).flatMap { Int(exactly: $0) }
  }

  @inlinable
  public func _$write(to writer: inout RecordWriter, at index: Int) {
    writer.fixed(UInt64(bitPattern: Int64(self)), width: 8, at: index)
  }
}

/// Eight bytes on every machine.
extension UInt: PersistentScalar {
  @inlinable public static var _$fieldType: FieldType { .uint64 }

  @inlinable
  public static func _$read(_ field: RecordField) -> UInt? {
    guard field.type == .uint64 else { return field.integer(UInt.self) }
    return field.load(UInt64.self).flatMap { UInt(exactly: $0) }
  }

  @inlinable
  public func _$write(to writer: inout RecordWriter, at index: Int) {
    writer.fixed(UInt64(self), width: 8, at: index)
  }
}

// MARK: - Other scalars of the standard library

extension Bool: PersistentScalar {
  @inlinable public static var _$neutral: Bool { false }
  @inlinable public static var _$fieldType: FieldType { .bool }

  @inlinable
  public static func _$read(_ field: RecordField) -> Bool? {
    guard field.type == .bool, let byte = field.load(UInt8.self), byte < 2 else { return nil }
    return byte == 1
  }

  @inlinable
  public func _$write(to writer: inout RecordWriter, at index: Int) {
    writer.fixed(self ? 1 : 0, width: 1, at: index)
  }
}

extension Double: PersistentScalar {
  @inlinable public static var _$neutral: Double { 0 }
  @inlinable public static var _$fieldType: FieldType { .double }

  public static func _$read(_ field: RecordField) -> Double? {
    field.type == .double
      ? field.load(UInt64.self).map { Double(bitPattern: $0) } : field.floating(Double.self)
  }

  @inlinable
  public func _$write(to writer: inout RecordWriter, at index: Int) {
    writer.fixed(bitPattern, width: 8, at: index)
  }
}

extension Float: PersistentScalar {
  @inlinable public static var _$neutral: Float { 0 }
  @inlinable public static var _$fieldType: FieldType { .float }

  public static func _$read(_ field: RecordField) -> Float? {
    field.type == .float ? field.load(UInt32.self).map { Float(bitPattern: $0) } : field.floating(Float.self)
  }

  @inlinable
  public func _$write(to writer: inout RecordWriter, at index: Int) {
    writer.fixed(UInt64(bitPattern), width: 4, at: index)
  }
}

extension String: PersistentScalar {
  @inlinable public static var _$neutral: String { "" }
  @inlinable public static var _$fieldType: FieldType { .string }

  public static func _$read(_ field: RecordField) -> String? {
    guard let bytes = field.bytes, field.type == .string || field.type == .url else { return nil }
    return String(utf8: bytes)
  }

  public func _$write(to writer: inout RecordWriter, at index: Int) {
    var text = self
    text.withUTF8 { writer.variable(UnsafeRawBufferPointer($0), at: index) }
  }
}

/// A field that is nil reads as `nil`.
extension Optional: PersistentScalar where Wrapped: PersistentScalar {
  @inlinable public static var _$neutral: Wrapped? { nil }
  @inlinable public static var _$fieldType: FieldType { Wrapped._$fieldType }

  @inlinable
  public static func _$read(_ field: RecordField) -> Wrapped?? {
    if field.bytes == nil { return .some(nil) }
    guard let value = Wrapped._$read(field) else { return nil }
    return .some(value)
  }

  @inlinable
  public func _$write(to writer: inout RecordWriter, at index: Int) {
    if let self { self._$write(to: &writer, at: index) } else { writer.null(at: index) }
  }
}
