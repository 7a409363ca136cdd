import RoostKV

/// Random changes, done to a store and to its reference alike.
package struct RandomOperations {
  package var generator: SplitMix64
  /// Keys are drawn from so many.
  package var keySpace: Int
  package var longestValue: Int
  package var tables: [String]

  package init(_ seed: Seed, keySpace: Int = 200, longestValue: Int = 300, tables: [String] = ["a", "b"]) {
    generator = seed.generator
    self.keySpace = keySpace
    self.longestValue = longestValue
    self.tables = tables
  }

  package mutating func key() -> [UInt8] {
    let number = Int.random(in: 0..<keySpace, using: &generator)
    switch number % 5 {
    case 0: return number == 0 ? [] : Array("k\(number)".utf8)
    case 1: return [UInt8](repeating: 0, count: number % 9) + [UInt8(number & 255)]
    case 2: return Array("a long prefix that many keys share, number \(number)".utf8)
    case 3: return Array("a long prefix that many keys share".utf8) + [UInt8(number & 255), UInt8(number >> 8)]
    default: return [UInt8(number & 255), UInt8(number >> 8), 7]
    }
  }

  package mutating func value() -> [UInt8] {
    let length: Int
    switch Int.random(in: 0..<20, using: &generator) {
    case 0: length = 0
    case 1: length = Int.random(in: 0...longestValue, using: &generator)
    default: length = Int.random(in: 0...min(60, longestValue), using: &generator)
    }
    let first = UInt8.random(in: 0...255, using: &generator)
    return (0..<length).map { first &+ UInt8(truncatingIfNeeded: $0 &* 7) }
  }

  package mutating func range() -> KeyRange {
    func bound() -> KeyRange.Bound {
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: .unbounded
      case 1, 2: .included(key())
      default: .excluded(key())
      }
    }
    return KeyRange(lower: bound(), upper: bound())
  }

  /// One change.
  package mutating func change(_ store: inout WriteTransaction, _ reference: inout ReferenceStore) throws {
    let name = tables.randomElement(using: &generator) ?? "a"
    let table = try store.createTableIfMissing(name)
    if reference.tables[name] == nil { reference.tables[name] = [:] }
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<60:
      let key = key(), value = value()
      try store.put(key, value, in: table)
      reference.tables[name]?[key] = value
    case 60..<80:
      let key = key()
      let wasThere = try store.delete(key, in: table)
      guard wasThere == (reference.tables[name]?.removeValue(forKey: key) != nil) else { throw Mismatch("delete") }
    case 80..<85:
      let key = key(), value = value()
      let put = try store.putIfAbsent(key, value, in: table)
      guard put == (reference.tables[name]?[key] == nil) else { throw Mismatch("putIfAbsent") }
      if put { reference.tables[name]?[key] = value }
    case 85..<88:
      let range = range()
      let doomed = (reference.tables[name] ?? [:]).keys.filter { range.contains($0) }
      guard try store.count(table, in: range) == doomed.count else { throw Mismatch("count of a range") }
      guard try store.deleteRange(range, in: table) == doomed.count else { throw Mismatch("deleteRange") }
      for key in doomed { reference.tables[name]?[key] = nil }
    case 88..<92:
      let entry = try store.popFirst(in: table)
      guard entry?.key == reference.keys(name).first else { throw Mismatch("popFirst") }
      if let key = entry?.key { reference.tables[name]?[key] = nil }
    case 92..<96:
      let key = key(), value = value()
      let old = try store.replace(key, value, in: table)
      guard old == reference.tables[name]?.updateValue(value, forKey: key) else { throw Mismatch("replace") }
    case 96..<98:
      try savepoint(&store, &reference)
    default:
      try store.dropTable(table)
      reference.tables[name] = nil
    }
  }

  /// Some changes that are undone.
  private mutating func savepoint(_ store: inout WriteTransaction, _ reference: inout ReferenceStore) throws {
    let point = try store.savepoint()
    let before = reference
    for _ in 0..<Int.random(in: 1...8, using: &generator) { try change(&store, &reference) }
    if generator.oneIn(2) {
      try store.rollback(to: point)
      reference = before
    }
  }

  /// The store did something else than the reference.
  package struct Mismatch: Error, CustomStringConvertible {
    package let description: String
    init(_ what: String) { description = "\(what) differs from the reference" }
  }
}
