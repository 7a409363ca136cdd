/// The records of a group: what one transaction did, as results. SPEC.md section 10.

enum RecordKind: UInt8 {
  case end = 0
  case put = 1
  case putRun = 2
  case delete = 3
  case deleteRange = 4
  case createTable = 5
  case dropTable = 6
  case renameTable = 7
}

/// One record, over the group's bytes.
enum GroupRecord {
  case put(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
  case putRun(key: UnsafeRawBufferPointer, run: RunDescriptor)
  case delete(key: UnsafeRawBufferPointer)
  case deleteRange(KeyRange)
  case createTable(name: UnsafeRawBufferPointer)
  case dropTable
  case renameTable(name: UnsafeRawBufferPointer)
}

/// Collects the records of a transaction, behind room for the group's header.
struct GroupBuilder {
  private(set) var bytes = [UInt8](repeating: 0, count: GroupHeader.byteCount)

  var isEmpty: Bool { bytes.count == GroupHeader.byteCount }
  var count: Int { bytes.count }

  mutating func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, table: UInt32) {
    begin(.put, 0, key.count, table)
    bytes.append(field: UInt32(value.count))
    bytes.append(contentsOf: key)
    bytes.append(contentsOf: value)
  }

  mutating func putRun(_ key: UnsafeRawBufferPointer, _ run: RunDescriptor, table: UInt32) {
    begin(.putRun, 0, key.count, table)
    for field in [run.page, run.length, run.salt, run.hash] { bytes.append(field: field) }
    bytes.append(contentsOf: key)
  }

  mutating func delete(_ key: UnsafeRawBufferPointer, table: UInt32) {
    begin(.delete, 0, key.count, table)
    bytes.append(contentsOf: key)
  }

  mutating func deleteRange(_ range: KeyRange, table: UInt32) {
    let lower = range.lower.key ?? [], upper = range.upper.key ?? []
    var bounds: UInt8 = 0
    if range.lower.key != nil { bounds |= 1 }
    if case .included = range.lower { bounds |= 2 }
    if range.upper.key != nil { bounds |= 4 }
    if case .included = range.upper { bounds |= 8 }
    begin(.deleteRange, bounds, lower.count, table)
    bytes.append(field: UInt32(upper.count))
    bytes.append(contentsOf: lower)
    bytes.append(contentsOf: upper)
  }

  mutating func createTable(_ name: [UInt8], table: UInt32) {
    begin(.createTable, 0, name.count, table)
    bytes.append(contentsOf: name)
  }

  mutating func dropTable(_ table: UInt32) {
    begin(.dropTable, 0, 0, table)
  }

  mutating func renameTable(_ table: UInt32, to name: [UInt8]) {
    begin(.renameTable, 0, name.count, table)
    bytes.append(contentsOf: name)
  }

  /// Undoes what was added since the builder had `count` bytes.
  mutating func truncate(to count: Int) {
    bytes.removeLast(bytes.count - count)
  }

  /// The group's bytes, padded to a multiple of 8, with an empty header.
  consuming func finished() -> [UInt8] {
    while bytes.count % 8 != 0 { bytes.append(0) }
    return bytes
  }

  private mutating func begin(_ kind: RecordKind, _ bounds: UInt8, _ keyLength: Int, _ table: UInt32) {
    bytes.append(kind.rawValue)
    bytes.append(bounds)
    bytes.append(field: UInt16(keyLength))
    bytes.append(field: table)
  }
}

extension KeyRange.Bound {
  var key: [UInt8]? {
    switch self {
    case .unbounded: nil
    case .included(let key), .excluded(let key): key
    }
  }
}

/// Walks the records of a group; ends with `nil`, or with `isDamaged` set. [J-6]
struct GroupRecordReader {
  private var reader: FieldReader
  private(set) var isDamaged = false

  /// `group` is the whole group with its header.
  init(_ group: UnsafeRawBufferPointer) {
    reader = FieldReader(UnsafeRawBufferPointer(rebasing: group.dropFirst(GroupHeader.byteCount)))
  }

  mutating func next() -> (table: UInt32, record: GroupRecord)? {
    guard !reader.isAtEnd, !isDamaged else { return nil }
    guard let kindByte: UInt8 = reader.next(), let kind = RecordKind(rawValue: kindByte) else { return damaged() }
    if kind == .end { return nil }
    guard let bounds: UInt8 = reader.next(), let a: UInt16 = reader.next(), let table: UInt32 = reader.next(),
      let record = body(kind, bounds, Int(a))
    else { return damaged() }
    return (table, record)
  }

  private mutating func damaged() -> (table: UInt32, record: GroupRecord)? {
    isDamaged = true
    return nil
  }

  private mutating func body(_ kind: RecordKind, _ bounds: UInt8, _ a: Int) -> GroupRecord? {
    switch kind {
    case .end: return nil
    case .put:
      guard let v: UInt32 = reader.next(), let key = reader.next(bytes: a),
        let value = reader.next(bytes: Int(v))
      else { return nil }
      return .put(key: key, value: value)
    case .putRun:
      guard let page: UInt64 = reader.next(), let length: UInt64 = reader.next(),
        let salt: UInt64 = reader.next(), let hash: UInt64 = reader.next(), let key = reader.next(bytes: a)
      else { return nil }
      return .putRun(key: key, run: RunDescriptor(page: page, length: length, salt: salt, hash: hash))
    case .delete: return reader.next(bytes: a).map { .delete(key: $0) }
    case .deleteRange: return range(bounds, a).map { .deleteRange($0) }
    case .createTable: return reader.next(bytes: a).map { .createTable(name: $0) }
    case .dropTable: return a == 0 ? .dropTable : nil
    case .renameTable: return reader.next(bytes: a).map { .renameTable(name: $0) }
    }
  }

  private mutating func range(_ bounds: UInt8, _ a: Int) -> KeyRange? {
    guard bounds < 16, let b: UInt32 = reader.next(), let lower = reader.next(bytes: a),
      let upper = reader.next(bytes: Int(b))
    else { return nil }
    func bound(_ present: UInt8, _ key: UnsafeRawBufferPointer) -> KeyRange.Bound {
      guard bounds & present != 0 else { return .unbounded }
      return bounds & present << 1 != 0 ? .included(Array(key)) : .excluded(Array(key))
    }
    return KeyRange(lower: bound(1, lower), upper: bound(4, upper))
  }
}
