/// A tree page as sections 2, 5 and 6 of SPEC.md describe it, read by them alone: no code of the engine is used here.
struct SpecPage {
  struct Reference: Equatable {
    var page: UInt64
    var attempt: UInt64
    var count: UInt64
    var hasRuns: Bool
    var generation: UInt64
    var zero: UInt64
  }

  enum Value: Equatable {
    case inline([UInt8])
    case run(page: UInt64, length: UInt64, salt: UInt64, hash: UInt64)
  }

  /// What section 5 or 6 forbids.
  struct Violation: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  let bytes: [UInt8]
  let number: UInt64
  let attempt: UInt64
  let generation: UInt64
  let kind: UInt64
  let level: UInt64
  let table: UInt64
  let unused: Int
  var keys: [[UInt8]] = []
  /// Of a leaf, for each key.
  var values: [Value] = []
  /// Of a branch, for each key; the first key is empty and means nothing.
  var children: [Reference] = []

  init(_ bytes: [UInt8]) throws(Violation) {
    self.bytes = bytes
    func integer(_ offset: Int, _ count: Int) -> UInt64 {
      (0..<count).reversed().reduce(0) { $0 << 8 | UInt64(bytes[offset + $1]) }
    }
    let pageSize = bytes.count
    number = integer(8, 6)
    attempt = integer(14, 2)
    generation = integer(16, 4)
    kind = integer(20, 1)
    level = integer(21, 1)
    let prefixLength = Int(integer(22, 2))
    let count = Int(integer(24, 2))
    unused = Int(integer(26, 2))
    let area = Int(integer(28, 4))
    table = integer(32, 4)
    guard integer(36, 4) == 0 else { throw Violation("bytes 36 to 39 aren't zero") }
    guard kind == 1 ? level == 0 : kind == 2 && level > 0 else { throw Violation("kind \(kind) at level \(level)") }
    guard count > 0 else { throw Violation("no entries [T-7]") }
    let slots = 40 + (kind == 1 ? 8 : 32) * count
    let cellsEnd = pageSize - prefixLength
    guard slots + 2 * count <= area, area <= cellsEnd else { throw Violation("parts overlap") }
    guard bytes[(slots + 2 * count)..<area].allSatisfy({ $0 == 0 }) else { throw Violation("the gap isn't zero [P-3]") }
    let prefix = Array(bytes[cellsEnd...])

    var used = 0
    for index in 0..<count {
      var at = Int(integer(slots + 2 * index, 2))
      guard area <= at, at < cellsEnd else { throw Violation("slot \(index) lies outside the cell area") }
      let start = at
      func varint() -> Int {
        let first = Int(bytes[at])
        at += 1
        guard first >= 0x80 else { return first }
        at += 1
        return (first & 0x7F) << 8 | Int(bytes[at - 1])
      }
      let keyLength = varint()
      let valueLength = kind == 1 ? varint() : 0
      let tail = Array(bytes[at..<at + max(0, keyLength - 8)])
      at += tail.count
      // [T-1] The head is the key's first 8 bytes, big-endian, filled with zeros.
      let head = integer(40 + 8 * index, 8)
      let headBytes = (0..<8).map { UInt8(truncatingIfNeeded: head >> UInt64(56 - 8 * $0)) }
      guard headBytes.dropFirst(keyLength).allSatisfy({ $0 == 0 }) else {
        throw Violation("head \(index) isn't filled with zeros [T-1]")
      }
      let isFirstChild = kind == 2 && index == 0
      if isFirstChild, keyLength != 0 { throw Violation("the first child has a key [T-3]") }
      keys.append(isFirstChild ? [] : prefix + headBytes.prefix(keyLength) + tail)
      if kind == 2 {
        let base = 40 + 8 * count + 24 * index
        children.append(
          Reference(
            page: integer(base, 6), attempt: integer(base + 6, 2), count: integer(base + 8, 8) & ~(1 << 63),
            hasRuns: integer(base + 8, 8) >> 63 == 1, generation: integer(base + 16, 4), zero: integer(base + 20, 4)))
      } else if valueLength == 32_767 {
        values.append(
          .run(
            page: integer(at, 8), length: integer(at + 8, 8), salt: integer(at + 16, 8), hash: integer(at + 24, 8)))
        at += 32
      } else {
        values.append(.inline(Array(bytes[at..<at + valueLength])))
        at += valueLength
      }
      guard at <= cellsEnd else { throw Violation("cell \(index) leads out of its area") }
      used += at - start
    }
    guard used + unused == cellsEnd - area else {
      throw Violation("\(used) bytes used and \(unused) unused make \(cellsEnd - area)")
    }
  }
}
