/// Where the fields of an entity's records are. The same for every record of one shape.
///
/// A record is a header, a bit for each field that is nil, the fields of fixed width, the ends of the
/// fields of varying length, and these fields' bytes.
package final class RecordLayout: Sendable {
  /// What a layout holds of a property.
  package struct Field: Sendable {
    package let type: FieldType
    /// Bytes of a field of fixed width; 0 for others.
    package let width: UInt8
    /// The bit that is set when the field is nil: in the byte at `nullByte`.
    package let nullMask: UInt8
    package let nullByte: UInt32
    /// A fixed field's place in the record; else its number among the fields of varying length.
    package let position: UInt32

    package var isFixed: Bool { width != 0 }
  }

  /// Bytes of the header: format and shape, then the writing commit.
  package static let headerSize = 12

  /// By property index; `nil` for properties that records don't hold.
  package let fields: [Field?]
  /// The same, for writers, to whom every reference count costs. Valid as long as the layout is.
  nonisolated(unsafe) let table: UnsafeBufferPointer<Field?>
  /// The end of the header, the nil bits and the fixed fields: where the ends of varying fields begin.
  package let fixedEnd: Int
  package let variableCount: Int
  /// A record without a header in which every field is nil: what writers begin with.
  let blank: [UInt8]
  /// Whether to-many relationships are fields too.
  package let isSnapshot: Bool

  /// The layout of `properties`' records. Snapshots, which never reach a store, hold to-many relationships too.
  package init(_ properties: [PropertyShape], isSnapshot: Bool = false) {
    self.isSnapshot = isSnapshot
    let types = properties.map { isSnapshot ? $0.snapshotType : $0.fieldType }
    let count = types.count { $0 != nil }
    var position = Self.headerSize + (count + 7) / 8
    var ordinal = 0
    var variables = 0
    let fields: [Field?] = types.map { type in
      guard let type else { return nil }
      defer { ordinal += 1 }
      let place = type.width == nil ? variables : position
      if let width = type.width { position += width } else { variables += 1 }
      return Field(
        type: type, width: UInt8(type.width ?? 0), nullMask: 1 << UInt8(ordinal % 8),
        nullByte: UInt32(clamping: Self.headerSize + ordinal / 8), position: UInt32(clamping: place))
    }
    var blank = [UInt8](repeating: 0, count: position + 2 * variables)
    for case let field? in fields { blank[Int(field.nullByte)] |= field.nullMask }
    self.fields = fields
    let table = UnsafeMutableBufferPointer<Field?>.allocate(capacity: max(fields.count, 1))
    table.initialize(repeating: nil)
    for (index, field) in fields.enumerated() { table[index] = field }
    self.table = UnsafeBufferPointer(table)
    self.blank = blank
    fixedEnd = position
    variableCount = variables
  }

  deinit {
    table.deallocate()
  }
}

/// The first twelve bytes of a record.
package struct RecordHeader: Sendable, Equatable {
  /// The shape of the entity that the record was written in.
  package var shape: UInt32
  /// The number of the commit that wrote the record.
  package var commit: UInt64
  /// The ends of varying fields take four bytes, not two.
  package var isWide = false

  package static let format: UInt8 = 1
  static let wideFlag: UInt8 = 0x80
  package static let maximumShape: UInt32 = 0xFF_FFFF

  package init(shape: UInt32, commit: UInt64) {
    self.shape = shape
    self.commit = commit
  }

  /// `nil` when the bytes are too few or of another format.
  package init?(_ record: UnsafeRawBufferPointer) {
    guard record.count >= RecordLayout.headerSize else { return nil }
    let word = UInt32(littleEndian: record.loadUnaligned(as: UInt32.self))
    let first = UInt8(truncatingIfNeeded: word)
    guard first & ~Self.wideFlag == Self.format else { return nil }
    shape = word >> 8
    commit = UInt64(littleEndian: record.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
    isWide = first & Self.wideFlag != 0
  }

  func store(in bytes: UnsafeMutableRawBufferPointer) {
    let first = isWide ? Self.format | Self.wideFlag : Self.format
    let word = UInt32(first) | shape << 8
    bytes.storeBytes(of: word.littleEndian, as: UInt32.self)
    bytes.storeBytes(of: commit.littleEndian, toByteOffset: 4, as: UInt64.self)
  }
}
