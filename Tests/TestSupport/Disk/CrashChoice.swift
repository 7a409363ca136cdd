import RoostKV

/// What a power loss has left of the writes that were not durable.
package struct CrashChoice: Sendable {
  /// For each pending write, in their order.
  package var fates: [Fate]
  /// How many of the pending changes of the length have become durable.
  package var lengthsKept: Int
  /// What is in sectors of the file that were never durably written.
  package var fill: Fill = .zeros

  package init(fates: [Fate], lengthsKept: Int, fill: Fill = .zeros) {
    self.fates = fates
    self.lengthsKept = lengthsKept
    self.fill = fill
  }
}

/// What has become of a write. Cuts count sectors from its first.
package enum Fate: Sendable {
  case lost, kept, before(Int), after(Int)
  case holes(UInt64)

  func keeps(_ position: Int) -> Bool {
    switch self {
    case .lost: return false
    case .kept: return true
    case .before(let cut): return position < cut
    case .after(let cut): return position >= cut
    case .holes(let seed):
      var bits = SplitMix64(seed: seed &+ UInt64(position))
      return bits.oneIn(2)
    }
  }
}

package enum Fill: Sendable {
  case zeros
  case garbage(UInt64)
  /// Copies of other sectors of the disk: what a file of before has left there.
  case stale(UInt64)
}

/// Works out the disk that a choice leaves: which sectors differ from the durable ones, and the hash of the whole.
/// Keeps its memory from one choice to the next, as many thousands are looked at.
package final class CrashResolver {
  private(set) var length = 0
  /// Sectors that a pending write has reached.
  private(set) var changed: [Int] = []
  /// For each sector, the write it comes from; -1: none.
  private var writes: [Int32] = []
  /// Sectors that no write has reached although the file holds them, with the number of their content in `pool`.
  private var filled: [Int: (content: Int, hash: UInt64)] = [:]
  private var pool: [[UInt8]] = []
  private var state: DiskState?

  package init() {}

  package func resolve(_ state: DiskState, _ choice: CrashChoice) {
    for sector in changed { writes[sector] = -1 }
    changed.removeAll(keepingCapacity: true)
    filled.removeAll(keepingCapacity: true)
    self.state = state
    length = state.durableLength
    var minimum = length
    for kept in state.pendingLengths.prefix(choice.lengthsKept) {
      length = kept
      minimum = min(minimum, kept)
    }
    let count = DiskState.roundedUp(length, state.sectorSize) / state.sectorSize
    while writes.count < count { writes.append(-1) }
    for (index, write) in state.pending.enumerated() {
      if case .lost = choice.fates[index] { continue }
      let end = min(count, Self.reach(write, state, choice.lengthsKept))
      guard write.firstSector < end else { continue }
      for sector in write.firstSector..<min(end, write.sectors.upperBound)
      where choice.fates[index].keeps(sector - write.firstSector) {
        if writes[sector] < 0 { changed.append(sector) }
        writes[sector] = Int32(index)
      }
    }
    fill(state, from: DiskState.roundedUp(minimum, state.sectorSize) / state.sectorSize, to: count, choice.fill)
  }

  /// The first sector that a write can't have reached: one that a cut of the file has taken since, or that a cut, of
  /// which the
  /// disk knows nothing, had taken before.
  private static func reach(_ write: DiskState.PendingWrite, _ state: DiskState, _ lengthsKept: Int) -> Int {
    let since = min(write.lengthChanges, lengthsKept)..<max(write.lengthChanges, lengthsKept)
    guard !since.isEmpty else { return Int.max }
    let cut = state.pendingLengths[since].min() ?? Int.max
    return DiskState.roundedUp(cut, state.sectorSize) / state.sectorSize
  }

  private func fill(_ state: DiskState, from start: Int, to count: Int, _ fill: Fill) {
    let isZero = if case .zeros = fill { true } else { false }
    guard start < count || (!isZero && !state.untouched.isEmpty) else { return }
    makePool(state, fill)
    for sector in stride(from: start, to: count, by: 1) where writes[sector] < 0 { add(sector, state.sectorSize, fill) }
    if isZero { return }
    for sector in state.untouched where sector < count && writes[sector] < 0 && filled[sector] == nil {
      add(sector, state.sectorSize, fill)
    }
  }

  private func add(_ sector: Int, _ size: Int, _ fill: Fill) {
    let index = (sector &* 7) % pool.count
    filled[sector] = (index, pool[index].withUnsafeBytes { DiskState.hash($0, sector, size, at: 0) })
  }

  /// A few contents are enough for all sectors.
  private func makePool(_ state: DiskState, _ fill: Fill) {
    let size = state.sectorSize
    switch fill {
    case .zeros: pool = [[UInt8](repeating: 0, count: size)]
    case .garbage(let seed):
      var random = SplitMix64(seed: seed)
      pool = (0..<4).map { _ in random.bytes(size) }
    case .stale(let seed):
      var random = SplitMix64(seed: seed)
      pool = (0..<8).map { _ in
        if let write = state.pending.randomElement(using: &random), random.oneIn(2) {
          let start = Int.random(in: 0..<write.hashes.count, using: &random) * size
          return Array(write.contents[start..<start + size])
        }
        guard !state.hashes.isEmpty else { return random.bytes(size) }
        let start = Int.random(in: 0..<state.hashes.count, using: &random) * size
        return Array(state.durable[start..<start + size])
      }
    }
  }

  /// Where a changed sector's content is.
  func source(_ sector: Int) -> (write: Int, start: Int) {
    guard let state else { return (0, 0) }
    let write = Int(writes[sector])
    return (write, (sector - state.pending[write].firstSector) * state.sectorSize)
  }

  // MARK: The whole disk

  /// The hash of the image.
  package var hash: UInt64 {
    guard let state else { return 0 }
    var sum = state.hashSum
    let count = DiskState.roundedUp(length, state.sectorSize) / state.sectorSize
    func take(_ sector: Int, _ hash: UInt64) {
      if sector < state.hashes.count { sum = sum &- state.hashes[sector] }
      sum = sum &+ hash
    }
    for sector in changed {
      let write = state.pending[Int(writes[sector])]
      take(sector, write.hashes[sector - write.firstSector])
    }
    for (sector, fill) in filled { take(sector, fill.hash) }
    for sector in stride(from: count, to: state.hashes.count, by: 1) { sum = sum &- state.hashes[sector] }
    return DiskState.hash(sum: sum, length: length)
  }

  /// Calls `body` with each sector's hash and content.
  func forEachSector(_ body: (_ sector: Int, _ hash: UInt64, _ content: UnsafeRawBufferPointer) -> Void) {
    guard let state else { return }
    let size = state.sectorSize
    state.durable.withUnsafeBytes { durable in
      for sector in 0..<DiskState.roundedUp(length, size) / size {
        if writes[sector] >= 0 {
          let write = state.pending[Int(writes[sector])]
          let position = sector - write.firstSector
          write.contents.withUnsafeBytes {
            body(
              sector, write.hashes[position],
              UnsafeRawBufferPointer(rebasing: $0[position * size..<(position + 1) * size]))
          }
        } else if !filled.isEmpty, let fill = filled[sector] {
          pool[fill.content].withUnsafeBytes { body(sector, fill.hash, $0) }
        } else {
          body(
            sector, state.hashes[sector], UnsafeRawBufferPointer(rebasing: durable[sector * size..<(sector + 1) * size])
          )
        }
      }
    }
  }

  func image(_ state: DiskState) -> DiskImage {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length + state.sectorSize)
    forEachSector { _, _, content in bytes.append(contentsOf: content) }
    bytes.removeLast(bytes.count - length)
    return DiskImage(bytes)
  }
}
