/// What a power loss can find: the bytes that are durable, and what was written since.
///
/// The promise of a disk is that of its sectors: each of 512 bytes holds its old or a newer content
/// as a whole. So each sector keeps the contents it had after each unsynced write, and a crash
/// picks one of them, for each sector on its own; that covers torn writes and any order between
/// them. Changes of the file's length become durable in their order, at any time.
package struct DiskState: Sendable {
  package static let sector = 512

  /// A sector's content after a write that isn't durable yet.
  struct Version: Sendable {
    let write: Int
    /// How many changes of the length, in the file's whole life, came before it.
    let lengthChanges: Int
    var bytes: [UInt8]
  }

  private(set) var durable: ChunkedBytes
  private(set) var versions: [Int: [Version]] = [:]
  private(set) var pendingLengths: [Int] = []
  private var durableLengthChanges = 0
  private var writes = 0

  package init(_ image: DiskImage) {
    durable = ChunkedBytes(image.bytes)
  }

  private var lengthChanges: Int { durableLengthChanges + pendingLengths.count }

  /// How many pieces of writes, each within one sector, a crash may keep or lose.
  package var pendingPieces: Int { versions.values.reduce(0) { $0 + $1.count } }

  /// The sectors that a crash may leave old.
  package var pendingSectors: [Int] { versions.keys.sorted() }

  // MARK: What happens to the file

  /// - Parameters:
  ///   - range: the bytes written.
  ///   - view: the content of whole sectors (or to the file's end) after the write.
  mutating func write(_ range: Range<Int>, view: (Range<Int>) -> [UInt8]) {
    guard !range.isEmpty else { return }
    for sector in Self.sectors(range) {
      let version = Version(
        write: writes, lengthChanges: lengthChanges, bytes: view(Self.bytes(of: sector)))
      versions[sector, default: []].append(version)
    }
    writes += 1
  }

  mutating func resize(to length: Int) {
    pendingLengths.append(length)
  }

  mutating func flush() {
    self = DiskState(durable: crashed(lengthsKept: pendingLengths.count) { _, _ in true }, after: self)
  }

  /// Makes the sectors of a range durable, and the file's length if without it the bytes
  /// couldn't be read.
  mutating func flush(_ range: Range<Int>, view: (Range<Int>) -> [UInt8]) {
    guard !range.isEmpty else { return }
    if range.upperBound > durable.count || pendingLengths.contains(where: { range.upperBound > $0 }) {
      flushLengths()
    }
    for sector in Self.sectors(range) {
      versions[sector] = nil
      durable.write(view(Self.bytes(of: sector))[...], at: sector * Self.sector)
    }
  }

  private mutating func flushLengths() {
    durable = crashed(lengthsKept: pendingLengths.count) { _, _ in false }
    for (sector, list) in versions {
      let left = list.compactMap { version in
        trimmed(version, sector, lengthsKept: pendingLengths.count).map {
          Version(write: version.write, lengthChanges: version.lengthChanges, bytes: $0)
        }
      }
      versions[sector] = left.isEmpty ? nil : left
    }
    durableLengthChanges += pendingLengths.count
    pendingLengths = []
  }

  /// What a system does whose flush failed: a part of the writes has become durable, the others
  /// it takes for done.
  mutating func forget(keeping: (_ write: Int, _ sector: Int) -> Bool) {
    self = DiskState(durable: crashed(lengthsKept: pendingLengths.count, keeping: keeping), after: self)
  }

  private init(durable: ChunkedBytes, after old: DiskState) {
    self.durable = durable
    durableLengthChanges = old.lengthChanges
    writes = old.writes
  }
}

// MARK: - Crashes

extension DiskState {
  /// The disk after a power loss.
  ///
  /// - Parameters:
  ///   - lengthsKept: how many of the pending changes of the length have become durable.
  ///   - keeping: whether a write's piece has reached a sector. Of several pieces kept in one
  ///     sector the last counts.
  package func crash(
    lengthsKept: Int, keeping: (_ write: Int, _ sector: Int) -> Bool
  ) -> DiskImage {
    DiskImage(crashed(lengthsKept: lengthsKept, keeping: keeping).bytes)
  }

  /// The disk after a power loss that let the newest content of some sectors through, and all lengths.
  package func crash(keeping isKept: (_ sector: Int) -> Bool) -> DiskImage {
    crash(lengthsKept: pendingLengths.count) { _, sector in isKept(sector) }
  }

  /// The power loss before which all happened to become durable.
  package var everything: DiskImage {
    crash(lengthsKept: pendingLengths.count) { _, _ in true }
  }

  /// The power loss before which nothing more became durable.
  package var nothing: DiskImage {
    crash(lengthsKept: 0) { _, _ in false }
  }

  private func crashed(
    lengthsKept: Int, keeping: (_ write: Int, _ sector: Int) -> Bool
  ) -> ChunkedBytes {
    var result = durable
    for length in pendingLengths.prefix(lengthsKept) {
      result.resize(to: length)
    }
    for (sector, list) in versions.sorted(by: { $0.key < $1.key }) {
      let kept = list.last { keeping($0.write, sector) && isReachable($0, sector, lengthsKept) }
      if let kept, let bytes = trimmed(kept, sector, lengthsKept: lengthsKept) {
        result.write(bytes[...], at: sector * Self.sector)
      }
    }
    return result
  }

  /// A sector that was cut off, and written after the file grew again, can't hold the new bytes
  /// while the disk knows nothing of the cut.
  private func isReachable(_ version: Version, _ sector: Int, _ lengthsKept: Int) -> Bool {
    let known = version.lengthChanges - durableLengthChanges
    guard known > lengthsKept else { return true }
    return pendingLengths[lengthsKept..<known].allSatisfy { $0 > sector * Self.sector }
  }

  /// A version's bytes with those zeroed that later, durable cuts removed; nil if nothing is left.
  private func trimmed(_ version: Version, _ sector: Int, lengthsKept: Int) -> [UInt8]? {
    let since = max(0, version.lengthChanges - durableLengthChanges)
    guard since < lengthsKept, let cut = pendingLengths[since..<lengthsKept].min() else {
      return version.bytes
    }
    let left = cut - sector * Self.sector
    guard left > 0 else { return nil }
    let kept = version.bytes.prefix(left)
    return kept + [UInt8](repeating: 0, count: version.bytes.count - kept.count)
  }

  private static func sectors(_ range: Range<Int>) -> ClosedRange<Int> {
    range.lowerBound / sector...(range.upperBound - 1) / sector
  }

  private static func bytes(of sector: Int) -> Range<Int> {
    sector * Self.sector..<(sector + 1) * Self.sector
  }
}
