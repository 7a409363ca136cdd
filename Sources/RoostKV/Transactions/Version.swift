/// The tables of a state: their names, and the slot of each in `Version.roots`.
final class Directory: Sendable {
  /// Names as UTF-8, in byte order.
  let names: [[UInt8]]
  let ids: [UInt32]
  private let slots: [UInt32: Int]

  static let empty = Directory([])

  init(_ tables: [(name: [UInt8], id: UInt32)]) {
    let sorted = tables.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    names = sorted.map(\.name)
    ids = sorted.map(\.id)
    slots = Dictionary(ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The slot of a table. `hint` is where it was when the caller last looked.
  @inline(__always)
  func slot(of id: UInt32, hint: Int) -> Int? {
    if hint < ids.count, ids[hint] == id { return hint }
    return slots[id]
  }

  func slot(named name: [UInt8]) -> Int? {
    var low = 0, high = names.count
    while low < high {
      let middle = (low + high) / 2
      if names[middle].lexicographicallyPrecedes(name) { low = middle + 1 } else { high = middle }
    }
    return low < names.count && names[low] == name ? low : nil
  }

  var tables: [(name: [UInt8], id: UInt32)] { Array(zip(names, ids)).map { (name: $0, id: $1) } }
}

/// One committed state of the store. Never changes.
final class Version: Sendable {
  /// Grows with each version published in this process; tells which frames a snapshot may reach.
  let sequence: UInt64
  /// Frames with a greater owner were made later, and cannot be reached.
  let lastOwner: UInt64
  let commit: UInt64
  /// The last freeze whose state this version sees: pages of the file that it can reach were written by that generation
  /// or earlier, and freed by a later one.
  let base: UInt32
  let directory: Directory
  let roots: [TreeRoot]

  init(sequence: UInt64, lastOwner: UInt64, commit: UInt64, base: UInt32, directory: Directory, roots: [TreeRoot]) {
    self.sequence = sequence
    self.lastOwner = lastOwner
    self.commit = commit
    self.base = base
    self.directory = directory
    self.roots = roots
  }
}
