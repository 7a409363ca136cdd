/// Leaves found by scanning, put in the place of a part of a tree that can't be read.
///
/// The newest leaf says what the state holds between its first and its last key; an older one counts only where no newer one
/// does.
struct SalvagePieces {
  /// A leaf that no readable branch leads to.
  struct Orphan {
    var found: SalvageScan.Found
    /// The free map says that it belongs to the state.
    var isCertain: Bool
    var first: [UInt8]
    var last: [UInt8]
  }

  /// Consecutive entries of a leaf.
  struct Piece {
    var page: UInt64
    var generation: UInt32
    var isCertain: Bool
    var entries: Range<Int>
    var first: [UInt8]
  }

  /// In ascending order of keys.
  private(set) var pieces: [Piece] = []
  /// Keys that newer leaves answer for: disjoint, ascending.
  private var covered: [(first: [UInt8], last: [UInt8])] = []

  init(_ orphans: [Orphan], for loss: SalvageWalk.Loss, _ source: SalvageSource) throws(StoreError) {
    let fitting = orphans.filter { orphan in
      (loss.upper.map { isBelow(orphan.first, $0) } ?? true) && (loss.lower.map { !isBelow(orphan.last, $0) } ?? true)
        && (loss.reference.isNone || orphan.found.generation <= loss.reference.generation)
    }
    // What is certain comes before what only looks newer.
    let sorted = fitting.sorted {
      ($0.isCertain ? 1 : 0, $0.found.generation, $0.found.page) > (
        $1.isCertain ? 1 : 0, $1.found.generation, $1.found.page
      )
    }
    for orphan in sorted { try add(orphan, loss, source) }
    pieces.sort { isBelow($0.first, $1.first) }
  }

  private mutating func add(
    _ orphan: Orphan, _ loss: SalvageWalk.Loss, _ source: SalvageSource
  ) throws(StoreError) {
    guard let page = source.intactPage(orphan.found.page) else { return }
    let leaf = LeafPage(page, source.geometry.pageSize)
    let count = leaf.count
    let start = try loss.lower.map { (key) throws(StoreError) in try Self.index(of: key, in: leaf) } ?? 0
    let end = try loss.upper.map { (key) throws(StoreError) in try Self.index(of: key, in: leaf) } ?? count
    guard start < end, end <= count else { return }
    let buffer = KeyBuffer(pageSize: source.geometry.pageSize)
    let first = Array(try leaf.wholeKey(start, buffer)), last = Array(try leaf.wholeKey(end - 1, buffer))
    let overlap = overlapping(first, last)
    if overlap.isEmpty {
      add(orphan, start..<end, first)
    } else {
      var piece: (start: Int, first: [UInt8])?
      for index in start..<end {
        let key = Array(try leaf.wholeKey(index, buffer))
        let isCovered = covered[overlap].contains { !isBelow(key, $0.first) && !isBelow($0.last, key) }
        if isCovered {
          if let open = piece { add(orphan, open.start..<index, open.first) }
          piece = nil
        } else if piece == nil {
          piece = (index, key)
        }
      }
      if let open = piece { add(orphan, open.start..<end, open.first) }
    }
    cover(first, last, overlap)
  }

  private mutating func add(_ orphan: Orphan, _ entries: Range<Int>, _ first: [UInt8]) {
    pieces.append(
      Piece(
        page: orphan.found.page, generation: orphan.found.generation, isCertain: orphan.isCertain, entries: entries,
        first: first))
  }

  /// Intervals of `covered` that have a key in common with `first...last`, or, when empty, where they would be.
  private func overlapping(_ first: [UInt8], _ last: [UInt8]) -> Range<Int> {
    var low = 0, high = covered.count
    while low < high {
      let middle = (low + high) / 2
      if isBelow(covered[middle].last, first) { low = middle + 1 } else { high = middle }
    }
    var end = low
    while end < covered.count, !isBelow(last, covered[end].first) { end += 1 }
    return low..<end
  }

  private mutating func cover(_ first: [UInt8], _ last: [UInt8], _ overlap: Range<Int>) {
    var first = first, last = last
    if let low = covered[overlap].first?.first, isBelow(low, first) { first = low }
    if let high = covered[overlap].last?.last, isBelow(last, high) { last = high }
    covered.replaceSubrange(overlap, with: [(first, last)])
  }

  private static func index(of key: [UInt8], in leaf: LeafPage) throws(StoreError) -> Int {
    try key.withBytes { (key) throws(StoreError) in try leaf.search(key).index }
  }
}
