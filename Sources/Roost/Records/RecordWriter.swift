/// Takes an object's values by property index and makes a record of them.
///
/// Values may come in any order; ascending is fastest. A property that was given no value is nil.
public struct RecordWriter {
  private let layout: RecordLayout
  private let fields: [RecordLayout.Field?]
  private var record: [UInt8]
  /// Fields of varying length, one after the other, as they came.
  private var data: [UInt8] = []
  /// Where each lies in `data`; the number of ranges is the layout's variable count.
  private var ranges: [Range<Int>]

  /// What a Codable value's own code threw while it was written, first of all.
  package private(set) var failure: RecordFailure?
  /// The to-many relationships that were written, unless the record holds them itself.
  package private(set) var links: [(index: Int, targets: [PersistentIdentifier])] = []

  /// A writer of one record, in the layout's own shape.
  package init(_ layout: RecordLayout, shape: UInt32, commit: UInt64) {
    self.layout = layout
    fields = layout.fields
    record = layout.blank(shape: shape, commit: commit)
    ranges = Array(repeating: 0..<0, count: layout.variableCount)
  }

  /// The record. Throws what a Codable value threw, and when a field is larger than 4 GiB.
  package consuming func finish() throws(RecordFailure) -> [UInt8] {
    if let failure { throw failure }
    orderData()
    guard data.count > UInt16.max else {
      storeEnds(UInt16.self)
      record.append(contentsOf: data)
      return record
    }
    guard data.count <= UInt32.max else { throw RecordFailure(property: nil, reason: .tooLarge) }
    record.append(contentsOf: repeatElement(0, count: 2 * layout.variableCount))
    record[0] |= RecordHeader.wideFlag
    storeEnds(UInt32.self)
    record.append(contentsOf: data)
    return record
  }

  /// Puts the varying fields into the layout's order, if they came in another.
  private mutating func orderData() {
    var end = 0
    for range in ranges where !range.isEmpty {
      guard range.lowerBound == end else { return reorderData() }
      end = range.upperBound
    }
    if end != data.count { reorderData() }
  }

  private mutating func reorderData() {
    var ordered: [UInt8] = []
    for index in ranges.indices {
      let start = ordered.count
      ordered += data[ranges[index]]
      ranges[index] = start..<ordered.count
    }
    data = ordered
  }

  private mutating func storeEnds<End: FixedWidthInteger & BitwiseCopyable>(_ type: End.Type) {
    let start = layout.fixedEnd
    record.withUnsafeMutableBytes { bytes in
      var end = 0
      for (index, range) in ranges.enumerated() {
        end += range.count
        bytes.storeBytes(
          of: End(truncatingIfNeeded: end).littleEndian, toByteOffset: start + index * MemoryLayout<End>.size,
          as: End.self)
      }
    }
  }
}

// MARK: - Values

extension RecordWriter {
  /// Writes a value of a type with a field form of its own.
  @inlinable
  public mutating func scalar<T: PersistentScalar>(_ value: T, at index: Int) {
    value._$write(to: &self, at: index)
  }

  /// Writes a value through its Codable conformance. `nil` is a field that is nil.
  public mutating func codable<T: Encodable>(_ value: T, at index: Int) {
    do {
      let coded = try CodedEncoder.encode(value)
      if coded == .null { return null(at: index) }
      coded.bytes.withUnsafeBytes { variable($0, at: index) }
    } catch {
      if failure == nil { failure = RecordFailure(property: index, reason: .notEncodable("\(error)")) }
    }
  }

  /// Writes a to-one relationship.
  public mutating func identifier(_ target: PersistentIdentifier?, at index: Int) {
    if let target { fixed(target.number, width: 8, at: index) } else { null(at: index) }
  }

  /// Takes a to-many relationship. It isn't part of a store's records; see `links`.
  public mutating func identifiers(_ targets: [PersistentIdentifier], at index: Int) {
    guard layout.isSnapshot else { return links.append((index, targets)) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(targets.count * 8)
    for target in targets { withUnsafeBytes(of: target.number.littleEndian) { bytes += $0 } }
    bytes.withUnsafeBytes { variable($0, at: index) }
  }

  /// Says that a to-many relationship is as it is in the store.
  public mutating func unchangedIdentifiers(at index: Int) {}

  /// Makes a field nil. Its bytes are zero, so that equal values make equal records.
  public mutating func null(at index: Int) {
    guard let field = field(at: index) else { return }
    record[Int(field.nullByte)] |= field.nullMask
    guard field.isFixed else { return ranges[Int(field.position)] = 0..<0 }
    for place in 0..<Int(field.width) { record[Int(field.position) + place] = 0 }
  }
}

// MARK: - Fields

extension RecordWriter {
  private func field(at index: Int) -> RecordLayout.Field? {
    index >= 0 && index < fields.count ? fields[index] : nil
  }

  /// Writes a field of fixed width: the low `width` bytes of `bits`.
  public mutating func fixed(_ bits: UInt64, width: Int, at index: Int) {
    guard let field = field(at: index), Int(field.width) == width else { return mismatch(at: index) }
    record.withUnsafeMutableBytes { bytes in
      bytes[Int(field.nullByte)] &= ~field.nullMask
      let position = Int(field.position)
      switch width {
      case 8: bytes.storeBytes(of: bits.littleEndian, toByteOffset: position, as: UInt64.self)
      case 4:
        let bits = UInt32(truncatingIfNeeded: bits)
        bytes.storeBytes(of: bits.littleEndian, toByteOffset: position, as: UInt32.self)
      case 2:
        let bits = UInt16(truncatingIfNeeded: bits)
        bytes.storeBytes(of: bits.littleEndian, toByteOffset: position, as: UInt16.self)
      default: bytes[position] = UInt8(truncatingIfNeeded: bits)
      }
    }
  }

  /// Writes a field of fixed width from its bytes.
  mutating func fixed(_ content: UnsafeRawBufferPointer, at index: Int) {
    guard let field = field(at: index), Int(field.width) == content.count else { return mismatch(at: index) }
    record.withUnsafeMutableBytes { bytes in
      bytes[Int(field.nullByte)] &= ~field.nullMask
      UnsafeMutableRawBufferPointer(rebasing: bytes[Int(field.position)...]).copyMemory(from: content)
    }
  }

  /// Writes a field of varying length.
  mutating func variable(_ content: UnsafeRawBufferPointer, at index: Int) {
    guard let field = field(at: index), !field.isFixed else { return mismatch(at: index) }
    record[Int(field.nullByte)] &= ~field.nullMask
    let start = data.count
    data.append(contentsOf: content)
    ranges[Int(field.position)] = start..<data.count
  }

  /// Copies a field, of this layout's type, from another record.
  package mutating func copy(_ field: RecordField, at index: Int) {
    guard let bytes = field.bytes else { return null(at: index) }
    field.type.width == nil ? variable(bytes, at: index) : fixed(bytes, at: index)
  }

  /// A property that records don't hold is passed over; one of another type is a fault of the caller.
  private mutating func mismatch(at index: Int) {
    guard field(at: index) != nil, failure == nil else { return }
    failure = RecordFailure(property: index, reason: .wrongType)
  }
}
