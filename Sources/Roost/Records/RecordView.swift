/// A record in place, read through a projection: gives fields without making objects.
///
/// Valid as long as the record's bytes and the projection are; holding a view keeps neither alive.
@usableFromInline
package struct RecordView {
  private let base: UnsafeRawPointer
  private let count: Int
  /// Where the bytes of varying fields begin.
  private let dataStart: Int
  private let isWide: Bool
  /// Where the ends of varying fields begin.
  private let fixedEnd: Int
  private let sources: UnsafePointer<RecordProjection.Source>
  private let sourceCount: Int
  private let defaults: UnsafeRawBufferPointer
  private unowned(unsafe) let projection: RecordProjection
  /// The number of the commit that wrote the record.
  package let commit: UInt64

  /// A view of `record`, which must be of the projection's shape; `nil` when the record is too short for it.
  package init?(_ record: UnsafeRawBufferPointer, _ header: RecordHeader, _ projection: RecordProjection) {
    let width = header.isWide ? 4 : 2
    // Both counts come from a shape's list of properties in memory: far from overflow.
    let start = projection.fixedEnd + projection.variableCount * width
    guard let address = record.baseAddress, record.count >= start else { return nil }
    base = address
    count = record.count
    dataStart = start
    isWide = header.isWide
    fixedEnd = projection.fixedEnd
    sources = projection.sources
    sourceCount = projection.sourceCount
    defaults = projection.defaults
    commit = header.commit
    self.projection = projection
  }

  /// The field that holds the property's value: the stored one, or the default in its place.
  ///
  /// The field's bytes are `nil` when the value is nil, and when the field is damaged (see `isDamaged`).
  @usableFromInline
  package func field(_ index: Int) -> RecordField {
    // A fixed field lies before the record's data, whose start the initializer found within the record.
    if index >= 0, index < sourceCount, sources[index].place == .fixed {
      let source = sources[index]
      let isNil = base.load(fromByteOffset: Int(source.nullByte), as: UInt8.self) & source.nullMask != 0
      if !isNil {
        let bytes = UnsafeRawBufferPointer(start: base + Int(source.position), count: Int(source.width))
        return RecordField(bytes: bytes, type: source.type)
      }
    }
    return otherField(index)
  }

  /// Fields of varying length, and defaults.
  private func otherField(_ index: Int) -> RecordField {
    guard index >= 0, index < sourceCount else { return RecordField(bytes: nil, type: .coded) }
    let source = sources[index]
    guard source.place != .absent, !isNil(source) else { return standIn(for: source) }
    return RecordField(bytes: variable(source), type: source.type)
  }

  /// The default, as long as the projection lives.
  private func standIn(for source: RecordProjection.Source) -> RecordField {
    guard let count = source.defaultCount else { return RecordField(bytes: nil, type: source.defaultType) }
    let bytes = UnsafeRawBufferPointer(rebasing: defaults[source.defaultStart..<source.defaultStart + count])
    return RecordField(bytes: bytes, type: source.defaultType)
  }

  private func isNil(_ source: RecordProjection.Source) -> Bool {
    base.load(fromByteOffset: Int(source.nullByte), as: UInt8.self) & source.nullMask != 0
  }

  /// The bytes of a varying field; `nil` when its ends make no sense.
  private func variable(_ source: RecordProjection.Source) -> UnsafeRawBufferPointer? {
    let ordinal = Int(source.position)
    let start = ordinal == 0 ? 0 : end(ordinal - 1)
    let end = end(ordinal)
    guard start <= end, end <= count - dataStart else { return nil }
    return UnsafeRawBufferPointer(start: base + dataStart + start, count: end - start)
  }

  private func end(_ ordinal: Int) -> Int {
    let directory = base + fixedEnd
    return isWide
      ? Int(UInt32(littleEndian: directory.loadUnaligned(fromByteOffset: ordinal * 4, as: UInt32.self)))
      : Int(UInt16(littleEndian: directory.loadUnaligned(fromByteOffset: ordinal * 2, as: UInt16.self)))
  }

  /// Whether the property's stored field lies outside the record. `field` gives nil for it.
  package func isDamaged(_ index: Int) -> Bool {
    guard index >= 0, index < sourceCount else { return true }
    let source = sources[index]
    return source.place == .variable && !isNil(source) && variable(source) == nil
  }

  /// The property's default, if it has one.
  func defaultField(_ index: Int) -> RecordField? {
    guard index >= 0, index < sourceCount, sources[index].defaultCount != nil else { return nil }
    return standIn(for: sources[index])
  }

  /// The entity that a relationship's identifiers are of; `nil` for attributes.
  func space(_ index: Int) -> IdentifierSpace? {
    index >= 0 && index < projection.spaces.count ? projection.spaces[index] : nil
  }
}

// MARK: - Values

extension RecordView {
  /// The property's value as an object would have it; `nil` when the field can't be read as a `T`.
  package func scalar<T: PersistentScalar>(_ index: Int, as type: T.Type = T.self) -> T? {
    T._$read(field(index))
  }

  /// The number of the record that a to-one relationship refers to.
  package func target(_ index: Int) -> UInt64? {
    let field = field(index)
    return field.type == .identifier ? field.load(UInt64.self) : nil
  }

  /// The numbers of the records that a to-many relationship refers to; `nil` when the record doesn't
  /// list them: the relationship's link table does.
  package func targets(_ index: Int) -> [UInt64]? {
    let field = field(index)
    return field.type == .identifiers ? FieldValue.identifiers(field) : nil
  }

  /// The number of the record that the relationship, to-one when this record was written, refers to.
  func formerTarget(_ index: Int) -> UInt64? {
    projection.holdsTarget(index) ? field(index).load(UInt64.self) : nil
  }

  /// A string property's UTF-8, if all of it is ASCII: then bytes compare as Swift's strings do.
  package func ascii(_ index: Int) -> UnsafeRawBufferPointer? {
    let field = field(index)
    guard field.type == .string, let bytes = field.bytes, bytes.isASCII else { return nil }
    return bytes
  }

  /// The property's value without the program's types.
  package func value(_ index: Int) -> FieldValue {
    FieldValue(field(index))
  }
}
