/// What one save did, as the table `history` has it.
package struct HistoryRow: Equatable {
  /// The changes of the objects of one entity.
  package struct Changes: Equatable {
    /// The number of the entity's shape, whose list of properties the changes count in.
    let shape: UInt32
    /// Ascending, and so are the others.
    var inserted: [ClosedRange<UInt64>] = []
    var updated: [Update] = []
    var deleted: [Deletion] = []
  }

  struct Update: Equatable {
    let number: UInt64
    var properties: PropertySet
  }

  struct Deletion: Equatable {
    let number: UInt64
    /// The values that outlive the object.
    var kept: [Value] = []
  }

  struct Value: Equatable {
    let property: Int
    /// The field's bytes; nil for nil.
    let field: [UInt8]?
  }

  /// Seconds since 2001-01-01 00:00 UTC.
  let date: Double
  let author: String?
  var changes: [Changes]
}

// MARK: - Writing

extension HistoryRow {
  static let format: UInt8 = 1

  var bytes: [UInt8] {
    var writer = Writer()
    writer.bytes.append(Self.format)
    withUnsafeBytes(of: date.bitPattern.littleEndian) { writer.bytes += $0 }
    writer.text(author.map { Array($0.utf8) })
    writer.number(UInt64(changes.count))
    for entity in changes { writer.entity(entity) }
    return writer.bytes
  }

  private struct Writer {
    var bytes: [UInt8] = []

    /// Seven bits a byte, least significant first; bit 7 says that another byte follows.
    mutating func number(_ value: UInt64) {
      var rest = value
      while rest > 0x7F {
        bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      bytes.append(UInt8(rest))
    }

    mutating func text(_ text: [UInt8]?) {
      number(text.map { UInt64($0.count) + 1 } ?? 0)
      bytes += text ?? []
    }

    mutating func entity(_ entity: Changes) {
      number(UInt64(entity.shape))
      number(UInt64(entity.inserted.count))
      // Identifiers ascend and begin at 1, so that each is above the one before.
      var last: UInt64 = 0
      for run in entity.inserted {
        number(run.lowerBound &- last)
        number(run.upperBound - run.lowerBound)
        last = run.upperBound
      }
      number(UInt64(entity.updated.count))
      last = 0
      for update in entity.updated {
        number(update.number &- last)
        properties(update.properties)
        last = update.number
      }
      number(UInt64(entity.deleted.count))
      last = 0
      for deletion in entity.deleted {
        number(deletion.number &- last)
        number(UInt64(deletion.kept.count))
        for value in deletion.kept {
          number(UInt64(value.property))
          text(value.field)
        }
        last = deletion.number
      }
    }

    /// A bit for each property, in the form of a number without limit.
    private mutating func properties(_ set: PropertySet) {
      var first = 0
      repeat {
        var byte: UInt8 = 0
        for bit in 0..<7 where set.contains(first + bit) { byte |= 1 << UInt8(bit) }
        first += 7
        bytes.append(first < set.end ? byte | 0x80 : byte)
      } while first < set.end
    }
  }
}

// MARK: - Reading

extension HistoryRow {
  /// Rows of more changes are taken to be damaged: nothing may exhaust the memory.
  private static let maximumChanges: UInt64 = 1 << 26

  /// Nil when the bytes aren't a row of this format.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = Reader(bytes: bytes)
    guard reader.byte() == Self.format, let date = reader.double(), let author = reader.text(),
      let text = Self.string(author), let count = reader.number()
    else { return nil }
    self.date = date
    self.author = text.value
    changes = []
    for _ in 0..<count {
      guard let entity = reader.entity() else { return nil }
      changes.append(entity)
    }
    guard reader.isAtEnd else { return nil }
  }

  private static func string(_ bytes: Optionally<[UInt8]>) -> Optionally<String>? {
    guard let bytes = bytes.value else { return Optionally(value: nil) }
    return String(validating: bytes, as: UTF8.self).map { Optionally(value: $0) }
  }

  /// A value or nil, apart from there being neither.
  private struct Optionally<Value> {
    let value: Value?
  }

  private struct Reader {
    let bytes: UnsafeRawBufferPointer
    var place = 0
    /// Changes read so far.
    var total: UInt64 = 0

    var isAtEnd: Bool { place == bytes.count }

    mutating func byte() -> UInt8? {
      guard place < bytes.count else { return nil }
      defer { place += 1 }
      return bytes[place]
    }

    mutating func take(_ count: UInt64) -> [UInt8]? {
      guard count <= UInt64(bytes.count - place) else { return nil }
      defer { place += Int(count) }
      return Array(bytes[place..<place + Int(count)])
    }

    mutating func double() -> Double? {
      take(8).map { taken in
        Double(bitPattern: taken.reversed().reduce(0) { $0 << 8 | UInt64($1) })
      }
    }

    mutating func number() -> UInt64? {
      var value: UInt64 = 0
      for shift in stride(from: UInt64(0), to: 70, by: 7) {
        guard let byte = byte(), shift < 63 || byte < 2 else { return nil }
        value |= UInt64(byte & 0x7F) << shift
        if byte < 0x80 { return value }
      }
      return nil
    }

    mutating func text() -> Optionally<[UInt8]>? {
      guard let count = number() else { return nil }
      return count == 0 ? Optionally(value: nil) : take(count - 1).map { Optionally(value: $0) }
    }

    /// An identifier above `last`.
    mutating func identifier(after last: UInt64) -> UInt64? {
      guard let gap = number(), gap > 0 else { return nil }
      let (number, overflows) = last.addingReportingOverflow(gap)
      return overflows ? nil : number
    }

    mutating func count(_ changes: UInt64) -> Bool {
      guard changes <= HistoryRow.maximumChanges - total else { return false }
      total += changes
      return true
    }

    mutating func entity() -> Changes? {
      guard let shape = number().flatMap({ UInt32(exactly: $0) }) else { return nil }
      var changes = Changes(shape: shape)
      guard inserted(&changes), updated(&changes), deleted(&changes) else { return nil }
      return changes
    }

    private mutating func inserted(_ changes: inout Changes) -> Bool {
      guard let runs = number() else { return false }
      var last: UInt64 = 0
      for _ in 0..<runs {
        guard let first = identifier(after: last), let more = number(), more < .max, count(more + 1) else {
          return false
        }
        let (end, overflows) = first.addingReportingOverflow(more)
        if overflows { return false }
        changes.inserted.append(first...end)
        last = end
      }
      return true
    }

    private mutating func updated(_ changes: inout Changes) -> Bool {
      guard let updates = number() else { return false }
      var last: UInt64 = 0
      for _ in 0..<updates {
        guard let number = identifier(after: last), let properties = properties(), count(1) else { return false }
        changes.updated.append(Update(number: number, properties: properties))
        last = number
      }
      return true
    }

    private mutating func deleted(_ changes: inout Changes) -> Bool {
      guard let deletions = number() else { return false }
      var last: UInt64 = 0
      for _ in 0..<deletions {
        guard let number = identifier(after: last), let values = self.number(), count(1) else { return false }
        var deletion = Deletion(number: number)
        for _ in 0..<values {
          guard let property = self.number().flatMap({ Int(exactly: $0) }), let field = text() else {
            return false
          }
          deletion.kept.append(Value(property: property, field: field.value))
        }
        changes.deleted.append(deletion)
        last = number
      }
      return true
    }

    private mutating func properties() -> PropertySet? {
      var set = PropertySet()
      var first = 0
      while let byte = byte() {
        for bit in 0..<7 where byte & 1 << UInt8(bit) != 0 { set.insert(first + bit) }
        if byte < 0x80 { return set }
        first += 7
      }
      return nil
    }
  }
}
