/// Takes an object's values by property index and makes a record of them.
///
/// Values may come in any order; ascending is fastest. A property that was given no value is nil.
public struct RecordWriter {
  /// Kept alive for `fields`.
  private let layout: RecordLayout
  private let fields: UnsafeBufferPointer<RecordLayout.Field?>
  private let fixedEnd: Int
  private let variableCount: Int
  /// The record as far as it is written: always whole, with the ends of the first `settled` varying fields.
  private var record: [UInt8]
  /// Where the bytes of varying fields begin.
  private var dataStart: Int
  /// Ends take four bytes.
  private var isWide = false
  /// How many of the varying fields have their ends: all up to the last one written.
  private var settled = 0

  /// Whether the writer wants to-many relationships. Listing the members of a large one takes a while.
  @usableFromInline package var takesMembers = true

  /// What a Codable value's own code threw while it was written, first of all.
  package private(set) var failure: RecordFailure?
  /// The to-many relationships that were written, unless the record holds them itself.
  package private(set) var links: [(index: Int, targets: [PersistentIdentifier])] = []

  /// A writer of one record, in the layout's own shape.
  package init(_ layout: RecordLayout, shape: UInt32, commit: UInt64) {
    self.layout = layout
    fields = layout.table
    fixedEnd = layout.fixedEnd
    variableCount = layout.variableCount
    record = []
    dataStart = layout.blank.count
    // Room for some text, so that most records take one allocation.
    record.reserveCapacity(dataStart + 32 * layout.variableCount)
    record.append(contentsOf: layout.blank)
    let header = RecordHeader(shape: shape, commit: commit)
    record.withUnsafeMutableBytes { header.store(in: $0) }
  }

  /// The record, which ends the writer's use. Throws what a Codable value threw, and when the varying fields
  /// take more than 4 GiB.
  package mutating func finish() throws(RecordFailure) -> [UInt8] {
    if let failure { throw failure }
    settle(variableCount)
    if isWide, dataCount <= UInt16.max { setWide(false) }
    return record
  }

  /// Bytes of the varying fields.
  private var dataCount: Int { record.count - dataStart }
}

// MARK: - Varying fields

extension RecordWriter {
  /// Gives every varying field up to the one numbered `count` an end: those not written are empty.
  private mutating func settle(_ count: Int) {
    let end = dataCount
    while settled < count {
      storeEnd(end, of: settled)
      settled += 1
    }
  }

  private mutating func storeEnd(_ end: Int, of ordinal: Int) {
    let place = fixedEnd + ordinal * (isWide ? 4 : 2)
    record.withUnsafeMutableBytes { bytes in
      if isWide {
        bytes.storeBytes(
          of: UInt32(truncatingIfNeeded: end).littleEndian, toByteOffset: place, as: UInt32.self)
      } else {
        bytes.storeBytes(
          of: UInt16(truncatingIfNeeded: end).littleEndian, toByteOffset: place, as: UInt16.self)
      }
    }
  }

  private func end(of ordinal: Int) -> Int {
    let place = fixedEnd + ordinal * (isWide ? 4 : 2)
    return record.withUnsafeBytes { bytes in
      isWide
        ? Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
        : Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self)))
    }
  }

  /// Makes the ends take four bytes, or two.
  private mutating func setWide(_ wide: Bool) {
    let ends = (0..<settled).map { end(of: $0) }
    let start = fixedEnd + variableCount * (wide ? 4 : 2)
    record.replaceSubrange(
      fixedEnd..<dataStart, with: repeatElement(0, count: start - fixedEnd))
    dataStart = start
    isWide = wide
    record[0] = wide ? RecordHeader.format | RecordHeader.wideFlag : RecordHeader.format
    for (ordinal, end) in ends.enumerated() { storeEnd(end, of: ordinal) }
  }

  /// Puts `content` where the varying field's bytes are, or go.
  private mutating func put(_ content: UnsafeRawBufferPointer, _ ordinal: Int) {
    guard dataCount + content.count <= Int(UInt32.max) else {
      if failure == nil { failure = RecordFailure(property: nil, reason: .tooLarge) }
      return
    }
    if !isWide, dataCount + content.count > UInt16.max { setWide(true) }
    if ordinal >= settled {
      settle(ordinal)
      record.append(contentsOf: content)
      storeEnd(dataCount, of: ordinal)
      settled = ordinal + 1
    } else {
      replace(content, ordinal)
    }
  }

  /// The same for a field that others were written behind.
  private mutating func replace(_ content: UnsafeRawBufferPointer, _ ordinal: Int) {
    let start = ordinal == 0 ? 0 : end(of: ordinal - 1)
    let stop = end(of: ordinal)
    record.replaceSubrange(dataStart + start..<dataStart + stop, with: content)
    let growth = content.count - (stop - start)
    for later in ordinal..<settled { storeEnd(end(of: later) + growth, of: later) }
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
    guard field.isFixed else {
      if Int(field.position) < settled {
        replace(UnsafeRawBufferPointer(start: nil, count: 0), Int(field.position))
      }
      return
    }
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
    put(content, Int(field.position))
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
