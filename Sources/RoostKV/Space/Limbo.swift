/// Pages that the newest header no longer reaches, but some snapshot may.
///
/// A tree page first referenced by header `born` and no longer by header `freed` can be reached from a snapshot whose
/// base lies in `born..<freed`. A run is reachable from any base below `freed`: the journal showed it before a header
/// did.
struct Limbo {
  struct Extent {
    var pages: Range<UInt64>
    var born: UInt32
    var freed: UInt32
    var isRun: Bool

    func isReachable(from base: UInt32) -> Bool {
      isRun ? base < freed : born <= base && base < freed
    }
  }

  private(set) var extents: [Extent] = []

  mutating func add(_ extent: Extent) { extents.append(extent) }

  var pageCount: UInt64 { extents.reduce(0) { $0 + UInt64($1.pages.count) } }

  /// Takes out what no base reaches. `isPinnedElsewhere` is asked about generations of readers in other processes.
  mutating func drain(
    bases: [UInt32], isPinnedElsewhere: (ClosedRange<UInt64>) throws(StoreError) -> Bool
  ) throws(StoreError) -> [Range<UInt64>] {
    guard !extents.isEmpty else { return [] }
    // One question covers the usual case of no foreign reader.
    let newest = extents.reduce(0) { max($0, $1.freed) }
    var anyForeign = false
    if newest > 0 { anyForeign = try isPinnedElsewhere(0...UInt64(newest) - 1) }
    var freed: [Range<UInt64>] = []
    var kept: [Extent] = []
    for extent in extents {
      var isHeld = bases.contains { extent.isReachable(from: $0) }
      if !isHeld, anyForeign {
        let first = extent.isRun ? 0 : UInt64(extent.born)
        if first < extent.freed { isHeld = try isPinnedElsewhere(first...UInt64(extent.freed) - 1) }
      }
      if isHeld { kept.append(extent) } else { freed.append(extent.pages) }
    }
    extents = kept
    return freed
  }
}
