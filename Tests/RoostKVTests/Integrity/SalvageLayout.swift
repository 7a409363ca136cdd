import RoostKV
import TestSupport

/// Where each row of an intact file lies, read from its bytes by SPEC.md alone, without the engine's code.
struct SalvageLayout {
  struct Row {
    var table: UInt32
    var key: [UInt8]
    var value: [UInt8]
    /// The leaf, and the pages of its value if that is large.
    var pages: Set<Int>
  }

  let bytes: [UInt8]
  let pageSize: Int
  private(set) var rows: [Row] = []
  private(set) var names: [UInt32: String] = [:]
  /// Leaves, branches, the catalog's pages, live pages of the free map, pages of large values.
  private(set) var leaves: Set<Int> = []
  private(set) var branches: Set<Int> = []
  private(set) var catalog: Set<Int> = []
  private(set) var map: Set<Int> = []
  private(set) var runs: Set<Int> = []

  /// Pages that the state needs.
  var needed: Set<Int> { leaves.union(branches).union(catalog).union(map).union(runs) }

  /// The pages of the first journal segment.
  var journal: Range<Int> { 16384 / pageSize..<(16384 + 65536) / pageSize }

  /// The state that the newest header describes, without the journal.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    pageSize = 1 << Int(bytes[12])
    let slot = Self.number(bytes, 32, 8) >= Self.number(bytes, 4096 + 32, 8) ? 0 : 4096
    var tables: [(UInt32, Int, Int)] = []
    for (key, value, pages) in entries(Int(Self.number(bytes, slot + 80, 6)), Int(bytes[slot + 104]) - 1) {
      let id = UInt32(Self.number(value, 0, 4))
      names[id] = String(decoding: key, as: UTF8.self)
      tables.append((id, Int(Self.number(value, 8, 6)), Int(value[4]) - 1))
      catalog.formUnion(pages)
    }
    (catalog, leaves, branches) = (leaves.union(branches), [], [])
    for (id, page, level) in tables {
      for (key, value, pages) in entries(page, level) {
        rows.append(Row(table: id, key: key, value: value, pages: pages))
      }
    }
    addMap(slot + 120)
  }

  private mutating func addMap(_ twin: Int) {
    let space = live(bytes, twin)
    map.insert(space)
    for index in 0..<Int(Self.number(bytes, space * pageSize + 24, 2)) {
      map.insert(live(bytes, space * pageSize + 96 + 32 * index))
    }
  }

  private func live(_ bytes: [UInt8], _ offset: Int) -> Int {
    Int(Self.number(bytes, offset + (bytes[offset + 15] & 0x80 != 0 ? 8 : 0), 6))
  }

  private typealias StoredEntry = (key: [UInt8], value: [UInt8], pages: Set<Int>)

  /// The entries below a page, in order.
  private mutating func entries(_ page: Int, _ level: Int) -> [StoredEntry] {
    guard level >= 0 else { return [] }
    let start = page * pageSize
    let count = Int(Self.number(bytes, start + 24, 2))
    guard level == 0 else {
      branches.insert(page)
      return (0..<count).flatMap { entries(Int(Self.number(bytes, start + 40 + 8 * count + 24 * $0, 6)), level - 1) }
    }
    leaves.insert(page)
    let prefixLength = Int(Self.number(bytes, start + 22, 2))
    let prefix = bytes[start + pageSize - prefixLength..<start + pageSize]
    return (0..<count).map { index in
      var offset = start + Int(Self.number(bytes, start + 40 + 8 * count + 2 * index, 2))
      let length = varint(&offset), valueLength = varint(&offset)
      let head = (0..<8).map { bytes[start + 40 + 8 * index + 7 - $0] }
      let tail = bytes[offset..<offset + max(0, length - 8)]
      offset += tail.count
      var pages: Set = [page]
      let value =
        valueLength < 32767 ? Array(bytes[offset..<offset + valueLength]) : run(at: offset, &pages)
      return (Array(prefix) + head.prefix(length) + tail, value, pages)
    }
  }

  private mutating func run(at offset: Int, _ pages: inout Set<Int>) -> [UInt8] {
    let page = Int(Self.number(bytes, offset, 8)), length = Int(Self.number(bytes, offset + 8, 8))
    let start = (32 + 8 * ((length + 65535) / 65536) + 63) / 64 * 64
    let own = page..<page + (start + length + pageSize - 1) / pageSize
    pages.formUnion(own)
    runs.formUnion(own)
    return Array(bytes[page * pageSize + start..<page * pageSize + start + length])
  }

  private func varint(_ offset: inout Int) -> Int {
    let first = Int(bytes[offset])
    offset += first < 0x80 ? 1 : 2
    return first < 0x80 ? first : (first & 0x7F) << 8 | Int(bytes[offset - 1])
  }

  static func number(_ bytes: [UInt8], _ offset: Int, _ length: Int) -> UInt64 {
    (0..<length).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
  }
}
