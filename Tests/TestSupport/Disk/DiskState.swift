import RoostKV

/// What a power loss can find: the bytes that are durable, and what was written since.
///
/// The promise of a disk is that of its sectors: each holds its old or a newer content as a whole. A write that is not
/// durable yet is a list of sectors with the content that the system showed after it; a crash keeps any of them. So
/// writes are torn between sectors, and come in any order. Changes of the file's length become durable in their order,
/// at any time. A byte that was never durably written may be anything.
package struct DiskState: Sendable {
  /// The sector of most disks.
  package static let sector = 512

  /// A write that isn't durable yet, as whole sectors.
  struct PendingWrite: Sendable {
    let firstSector: Int
    /// Zero-filled behind the file's end.
    let contents: [UInt8]
    let hashes: [UInt64]
    /// How many of the pending changes of the length came before it.
    var lengthChanges: Int

    var sectors: Range<Int> { firstSector..<firstSector + hashes.count }
  }

  package let sectorSize: Int
  /// Whole sectors, zero-filled behind `durableLength`.
  private(set) var durable: [UInt8]
  private(set) var durableLength: Int
  /// The hash of each durable sector, of its content and place.
  private(set) var hashes: [UInt64]
  private(set) var hashSum: UInt64
  /// Sectors within the durable length that were never durably written.
  private(set) var untouched: Set<Int> = []
  private(set) var pending: [PendingWrite] = []
  package private(set) var pendingLengths: [Int] = []
  /// What the system shows.
  private(set) var view: [UInt8]

  package init(_ image: DiskImage, sectorSize: Int = DiskState.sector) {
    self.sectorSize = sectorSize
    view = image.bytes
    durableLength = view.count
    durable = view
    durable += [UInt8](repeating: 0, count: Self.roundedUp(view.count, sectorSize) - view.count)
    hashes = []
    hashSum = 0
    hashes = (0..<durable.count / sectorSize).map { index in
      durable.withUnsafeBytes { Self.hash($0, index, sectorSize) }
    }
    hashSum = hashes.reduce(0, &+)
  }

  /// How many pieces of writes, each within one sector, a crash may keep or lose.
  package var pendingPieces: Int { pending.reduce(0) { $0 + $1.hashes.count } }

  /// The file's length as the system shows it.
  package var length: Int { view.count }

  static func roundedUp(_ count: Int, _ step: Int) -> Int { (count + step - 1) / step * step }

  /// The hash of a sector's content at its place.
  static func hash(_ bytes: UnsafeRawBufferPointer, _ index: Int, _ sectorSize: Int, at offset: Int? = nil) -> UInt64 {
    let start = offset ?? index * sectorSize
    let sector = UnsafeRawBufferPointer(rebasing: bytes[start..<start + sectorSize])
    return XXH3.hash(sector, seed: UInt64(truncatingIfNeeded: index) &+ 1)
  }

  /// The hash of an image from the sum of its sectors' hashes.
  static func hash(sum: UInt64, length: Int) -> UInt64 {
    var mixed = SplitMix64(seed: sum ^ UInt64(truncatingIfNeeded: length) &* 0x9E37_79B9_7F4A_7C15)
    return mixed.next()
  }

  private func sectors(_ range: Range<Int>) -> Range<Int> {
    range.lowerBound / sectorSize..<(range.upperBound + sectorSize - 1) / sectorSize
  }

  // MARK: What happens to the file

  package mutating func apply(_ operation: DiskOperation) {
    switch operation {
    case .write(let offset, let bytes): write(bytes, at: offset)
    case .persist(let range): persist(range)
    case .resize(let length): resize(to: length)
    case .flush: flush()
    case .forget(let seed, let reverts):
      var random = SplitMix64(seed: seed)
      let fates = pending.map { _ in Fate.holes(random.next()) }
      settle(CrashChoice(fates: fates, lengthsKept: pendingLengths.count))
      if reverts { view = Array(durable.prefix(durableLength)) }
    }
  }

  private mutating func write(_ bytes: [UInt8], at offset: Int) {
    guard !bytes.isEmpty else { return }
    let range = offset..<offset + bytes.count
    if range.upperBound > view.count { resize(to: range.upperBound) }
    view.replaceSubrange(range, with: bytes)
    appendPending(sectors(range))
  }

  private mutating func appendPending(_ sectors: Range<Int>) {
    let start = sectors.lowerBound * sectorSize
    let end = sectors.upperBound * sectorSize
    var contents = Array(view[start..<min(end, view.count)])
    contents += [UInt8](repeating: 0, count: end - start - contents.count)
    let hashes = contents.withUnsafeBytes { contents in
      sectors.map { Self.hash(contents, $0, sectorSize, at: ($0 - sectors.lowerBound) * sectorSize) }
    }
    pending.append(
      PendingWrite(
        firstSector: sectors.lowerBound, contents: contents, hashes: hashes, lengthChanges: pendingLengths.count))
  }

  private mutating func resize(to length: Int) {
    guard length != view.count else { return }
    let old = view.count
    if length < old {
      view.removeLast(old - length)
    } else {
      view += [UInt8](repeating: 0, count: length - old)
    }
    pendingLengths.append(length)
    // What a cut leaves of a sector is written anew, with zeros behind.
    if length < old, length % sectorSize > 0 {
      appendPending(length / sectorSize..<length / sectorSize + 1)
    }
  }

  private mutating func flush() {
    settle(CrashChoice(fates: pending.map { _ in .kept }, lengthsKept: pendingLengths.count))
  }

  /// Makes the sectors of a range durable as the system shows them, and the file's length if without it the bytes
  /// couldn't be read.
  private mutating func persist(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    if range.upperBound > durableLength || pendingLengths.contains(where: { range.upperBound > $0 }) {
      persistLengths()
    }
    for sector in sectors(range) {
      let start = sector * sectorSize
      var content = Array(view[start..<min(start + sectorSize, view.count)])
      content += [UInt8](repeating: 0, count: sectorSize - content.count)
      setDurable(sector, content[...])
      drop(sector)
    }
  }

  /// Takes a sector out of every pending write: what is durable now is newer.
  private mutating func drop(_ sector: Int) {
    guard pending.contains(where: { $0.sectors.contains(sector) }) else { return }
    var left: [PendingWrite] = []
    for write in pending {
      guard write.sectors.contains(sector) else {
        left.append(write)
        continue
      }
      let cut = sector - write.firstSector
      left.append(part(of: write, 0..<cut))
      left.append(part(of: write, cut + 1..<write.hashes.count))
    }
    pending = left.filter { !$0.hashes.isEmpty }
  }

  private func part(of write: PendingWrite, _ range: Range<Int>) -> PendingWrite {
    PendingWrite(
      firstSector: write.firstSector + range.lowerBound,
      contents: Array(write.contents[range.lowerBound * sectorSize..<range.upperBound * sectorSize]),
      hashes: Array(write.hashes[range]), lengthChanges: write.lengthChanges)
  }

  private mutating func persistLengths() {
    let writes = pending
    let kept = pendingLengths
    settle(CrashChoice(fates: pending.map { _ in .lost }, lengthsKept: kept.count))
    for write in writes {
      // A cut that is durable now has taken the sectors behind it.
      let later = kept[min(write.lengthChanges, kept.count)...]
      let end = later.map { Self.roundedUp($0, sectorSize) / sectorSize }.min() ?? Int.max
      let count = min(write.hashes.count, max(0, end - write.firstSector))
      guard count > 0 else { continue }
      var left = part(of: write, 0..<count)
      left.lengthChanges = 0
      pending.append(left)
    }
  }

  /// Makes a choice the durable state. What it leaves out is gone for the disk; the system shows it on.
  private mutating func settle(_ choice: CrashChoice) {
    let resolver = CrashResolver()
    resolver.resolve(self, choice)
    let minimum = pendingLengths.prefix(choice.lengthsKept).reduce(durableLength, min)
    let old = Self.roundedUp(durableLength, sectorSize) / sectorSize
    setDurableLength(resolver.length)
    let firstLost = Self.roundedUp(minimum, sectorSize) / sectorSize
    let end = hashes.count
    if firstLost < end {
      for sector in firstLost..<end {
        if sector < old { setDurable(sector, [UInt8](repeating: 0, count: sectorSize)[...]) }
        untouched.insert(sector)
      }
    }
    for sector in resolver.changed {
      let source = resolver.source(sector)
      setDurable(sector, pending[source.write].contents[source.start..<source.start + sectorSize])
    }
    pending = []
    pendingLengths = []
  }

  private mutating func setDurable(_ sector: Int, _ content: ArraySlice<UInt8>) {
    durable.replaceSubrange(sector * sectorSize..<(sector + 1) * sectorSize, with: content)
    let hash = durable.withUnsafeBytes { Self.hash($0, sector, sectorSize) }
    hashSum = hashSum &- hashes[sector] &+ hash
    hashes[sector] = hash
    untouched.remove(sector)
  }

  private mutating func setDurableLength(_ length: Int) {
    guard length != durableLength else { return }
    durableLength = length
    let bytes = Self.roundedUp(length, sectorSize)
    if bytes < durable.count { durable.removeLast(durable.count - bytes) }
    durable += [UInt8](repeating: 0, count: bytes - durable.count)
    while hashes.count > bytes / sectorSize { hashSum = hashSum &- hashes.removeLast() }
    while hashes.count < bytes / sectorSize {
      let hash = durable.withUnsafeBytes { Self.hash($0, hashes.count, sectorSize) }
      hashes.append(hash)
      hashSum = hashSum &+ hash
    }
    untouched = untouched.filter { $0 < hashes.count }
  }
}

// MARK: - Crashes

extension DiskState {
  /// The disk after a power loss.
  package func crash(_ choice: CrashChoice) -> DiskImage {
    let resolver = CrashResolver()
    resolver.resolve(self, choice)
    return resolver.image(self)
  }

  /// The sectors that a crash may leave old.
  package var pendingSectors: [Int] { Set(pending.flatMap { Array($0.sectors) }).sorted() }

  /// The disk after a power loss that let the newest content of some sectors through, and all lengths.
  package func crash(keeping isKept: (_ sector: Int) -> Bool) -> DiskImage {
    let newest = everything.bytes
    var image = crash(CrashChoice(fates: pending.map { _ in .lost }, lengthsKept: pendingLengths.count))
    for sector in pendingSectors where isKept(sector) {
      let range = (sector * sectorSize..<(sector + 1) * sectorSize).clamped(to: 0..<newest.count)
      image.bytes.replaceSubrange(range, with: newest[range])
    }
    return image
  }

  /// The power loss before which all happened to become durable.
  package var everything: DiskImage {
    crash(CrashChoice(fates: pending.map { _ in .kept }, lengthsKept: pendingLengths.count))
  }

  /// The power loss before which nothing more became durable.
  package var nothing: DiskImage { crash(noneKept) }

  package var noneKept: CrashChoice { CrashChoice(fates: pending.map { _ in .lost }, lengthsKept: 0) }

  /// The state after a power loss: what the choice has left is all there is.
  package func afterPowerLoss(_ choice: CrashChoice) -> DiskState {
    var state = self
    state.settle(choice)
    state.view = Array(state.durable.prefix(state.durableLength))
    return state
  }

  /// The state in which nothing is known but what the system shows: as after the process alone has ended.
  package var asShown: DiskImage { DiskImage(view) }
}
