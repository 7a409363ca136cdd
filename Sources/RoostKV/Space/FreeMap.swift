/// Which pages of the file are in use: the free map in memory. SPEC.md section 9.
///
/// Each zone has two bitmaps. `reachable` is what the next checkpoint will write: the pages of the newest
/// committed state. `unavailable` is what must not be allocated now: besides those, pages that the header on the
/// disk or a snapshot still needs, pages of uncommitted runs, and journal segments.
/// Invariant: `reachable` is a subset of `unavailable`.
///
/// Zones are read when first needed. Only used with the writer lock held.
final class FreeMap {
  struct Zone {
    var twin: TwinReference
    var isLoaded: Bool
    var isChanged = false
    var reachable: Bitmap
    var unavailable: Bitmap
  }

  let geometry: FileGeometry
  /// `nil` while the map is new and has nothing to read.
  private let reader: (any MapPageReader)?
  private var zones: [Zone] = []
  private var spacePages: [TwinReference] = []
  private var changedSpacePages = 0
  /// Pages that the file has room for.
  private(set) var fileEnd: UInt64
  /// Pages below `fileEnd` that may be allocated.
  private(set) var availableCount: UInt64 = 0
  /// Map pages that were never written. They are written once, so that the file's length is durable with them.
  private var unwritten: [UInt64] = []
  /// The file has zones whose map has no pages yet: it had grown when its last writer ended. They have to be given some
  /// before the map is saved. [F-3]
  private(set) var needsMapPages = false
  /// Allocation begins its search here; pages below are taken.
  private var lowestFree: UInt64 = 0

  /// The map of a new store, whose first pages hold the map itself.
  init(newStore geometry: FileGeometry) throws(StoreError) {
    self.geometry = geometry
    reader = nil
    let first = geometry.firstPage
    fileEnd = first + 4
    spacePages = [TwinReference(pageA: first, pageB: first + 1)]
    zones = [newZone(TwinReference(pageA: first + 2, pageB: first + 3))]
    unwritten = Array(first..<first + 4)
    try markUsed(0..<fileEnd)
  }

  /// The map that a header names. Reads the space pages, not the zones.
  init(_ header: Header, fileEnd: UInt64, reader: any MapPageReader) throws(StoreError) {
    geometry = header.geometry
    self.reader = reader
    self.fileEnd = fileEnd
    // Twins are all different, so that a hostile chain comes to an end, and within the state's pages. [S-5]
    let pages = geometry.firstPage..<header.pageCount
    var named: Set<UInt64> = []
    func isPlausible(_ twin: TwinReference) -> Bool {
      twin.lies(in: pages) && named.insert(twin.pageA).inserted && named.insert(twin.pageB).inserted
    }
    var next = header.space
    var last = next.live
    while !next.isNone {
      guard isPlausible(next) else { throw Self.impossible(last) }
      spacePages.append(next)
      last = next.live
      let page = try reader.mapPage(next, kind: .space, zone: nil)
      next = try page.withBytes { (bytes) throws(StoreError) in try readSpacePage(bytes, last, isPlausible) }
    }
    guard UInt64(zones.count) * geometry.zonePages >= header.pageCount else { throw Self.impossible(last) }
    while UInt64(zones.count) * geometry.zonePages < fileEnd {
      zones.append(newZone(TwinReference()))
      needsMapPages = true
    }
    for zone in zones.indices {
      let free = zones[zone].twin.isNone ? geometry.zonePages : UInt64(zones[zone].twin.freeCount)
      availableCount += free - min(beyond(zone), free)
    }
  }

  private static func impossible(_ page: UInt64) -> StoreError {
    StoreError(.pageDamaged, "a space page has impossible entries", remedy: damageRemedy, page: page)
  }

  private func readSpacePage(
    _ bytes: UnsafeRawBufferPointer, _ page: UInt64, _ isPlausible: (TwinReference) -> Bool
  ) throws(StoreError) -> TwinReference {
    guard let count: UInt16 = bytes.field(24), count <= geometry.zonesPerSpacePage,
      let next = TwinReference(bytes, at: 64)
    else { throw Self.impossible(page) }
    for index in 0..<Int(count) {
      guard let twin = TwinReference(bytes, at: 96 + index * TwinReference.byteCount), isPlausible(twin),
        twin.freeCount <= geometry.zonePages
      else { throw Self.impossible(page) }
      zones.append(
        Zone(twin: twin, isLoaded: false, reachable: Bitmap(count: 0), unavailable: Bitmap(count: 0)))
    }
    guard next.isNone || count == geometry.zonesPerSpacePage else { throw Self.impossible(page) }
    return next
  }

  /// Gives two pages, just allocated, to the first zone without map pages, or to the list of zones.
  func placeMapPages(_ pages: Range<UInt64>) throws(StoreError) {
    let twin = TwinReference(pageA: pages.lowerBound, pageB: pages.lowerBound + 1)
    let zone = zones.firstIndex { $0.twin.isNone }
    if let zone { zones[zone].twin = twin } else { spacePages.append(twin) }
    unwritten += [twin.pageA, twin.pageB]
    try setReachable(twin.pageA..<twin.pageB + 1, true)
    markChanged(zone ?? zones.count - 1)
    needsMapPages =
      zones.contains { $0.twin.isNone } || zones.count > spacePages.count * geometry.zonesPerSpacePage
  }

  /// Pages of the zone that lie past the file's end.
  private func beyond(_ zone: Int) -> UInt64 {
    let end = (UInt64(zone) + 1) * geometry.zonePages
    return end > fileEnd ? min(end - fileEnd, geometry.zonePages) : 0
  }

  private func newZone(_ twin: TwinReference) -> Zone {
    let bits = Int(geometry.zonePages)
    return Zone(
      twin: twin, isLoaded: true, isChanged: true, reachable: Bitmap(count: bits), unavailable: Bitmap(count: bits))
  }

  private func load(_ zone: Int) throws(StoreError) {
    guard !zones[zone].isLoaded, let reader else { return }
    let page = try reader.mapPage(zones[zone].twin, kind: .freeMap, zone: UInt32(zone))
    let bits = page.withUnsafeBytes { Bitmap(UnsafeRawBufferPointer(rebasing: $0[64...])) }
    guard bits.zeroCount == Int(zones[zone].twin.freeCount) else {
      throw StoreError(
        .pageDamaged, "a page of the free map has another number of free pages than is said of it",
        remedy: damageRemedy,
        page: zones[zone].twin.live)
    }
    zones[zone].reachable = bits
    zones[zone].unavailable = bits
    zones[zone].isLoaded = true
  }

  // MARK: Marks

  /// Calls `body` for the part of `pages` in each zone.
  private func forEachZone(
    _ pages: Range<UInt64>, _ body: (_ zone: Int, _ bits: Range<Int>) throws(StoreError) -> Void
  ) throws(StoreError) {
    var page = pages.lowerBound
    while page < pages.upperBound {
      let zone = page / geometry.zonePages
      let start = zone * geometry.zonePages
      let end = min(pages.upperBound, start + geometry.zonePages)
      guard zone < zones.count else {
        throw StoreError(
          .pageDamaged, "a page is named that lies outside the file", remedy: damageRemedy, page: page)
      }
      try body(Int(zone), Int(page - start)..<Int(end - start))
      page = end
    }
  }

  /// Makes pages unavailable that the map itself does not mention: journal segments, runs found by recovery.
  func hold(_ pages: Range<UInt64>) throws(StoreError) {
    try forEachZone(pages) { (zone, bits) throws(StoreError) in
      try load(zone)
      availableCount -= min(availableCount, UInt64(zones[zone].unavailable.set(bits, to: true)))
    }
  }

  /// Makes pages available again.
  func release(_ pages: Range<UInt64>) throws(StoreError) {
    try forEachZone(pages) { (zone, bits) throws(StoreError) in
      try load(zone)
      availableCount += UInt64(zones[zone].unavailable.set(bits, to: false))
    }
    lowestFree = min(lowestFree, pages.lowerBound)
  }

  /// The newest state reaches these pages from now on, or no longer.
  func setReachable(_ pages: Range<UInt64>, _ reachable: Bool) throws(StoreError) {
    try forEachZone(pages) { (zone, bits) throws(StoreError) in
      try load(zone)
      if zones[zone].reachable.set(bits, to: reachable) > 0 { markChanged(zone) }
    }
  }

  private func markChanged(_ zone: Int) {
    zones[zone].isChanged = true
    changedSpacePages = max(changedSpacePages, zone / geometry.zonesPerSpacePage + 1)
  }

  /// For pages that were just made, in loaded zones. Returns how many were not in use before.
  @discardableResult
  private func markUsed(_ pages: Range<UInt64>) throws(StoreError) -> Int {
    var changed = 0
    try forEachZone(pages) { (zone, bits) throws(StoreError) in
      zones[zone].reachable.set(bits, to: true)
      changed += zones[zone].unavailable.set(bits, to: true)
      markChanged(zone)
    }
    return changed
  }

  // MARK: Allocation

  /// Takes an extent of free pages, as low in the file as possible; `nil` when there is none of `minimum` pages.
  /// - Parameter floor: no page below it is taken.
  func allocate(minimum: Int, maximum: Int, from floor: UInt64 = 0) throws(StoreError) -> Range<UInt64>? {
    guard availableCount >= UInt64(minimum) else { return nil }
    let start = max(lowestFree, floor)
    var isFirst = floor <= lowestFree
    // Free pages that end the zone before, which a long run may begin with.
    var behind: UInt64?
    for zone in Int(min(start / geometry.zonePages, UInt64(zones.count)))..<zones.count {
      if !zones[zone].isLoaded, zones[zone].twin.freeCount < min(UInt64(minimum), geometry.zonePages / 2) {
        // What it has free is found by a later search, for fewer pages.
        if zones[zone].twin.freeCount > 0 { isFirst = false }
        behind = nil
        continue
      }
      try load(zone)
      let base = UInt64(zone) * geometry.zonePages
      let from = Int(max(start, base) - base)
      let below = Int(geometry.zonePages - beyond(zone))
      if from >= below { continue }
      if isFirst {
        let free = zones[zone].unavailable.firstIndex(of: false, from: from, below: below)
        lowestFree = base + UInt64(free)
        isFirst = free == below
      }
      if let behind, let pages = try extendAcross(behind, zone, below, minimum, maximum) { return pages }
      if let bits = zones[zone].unavailable.extent(from: from, below: below, minimum: minimum, maximum: maximum) {
        availableCount -= UInt64(zones[zone].unavailable.set(bits, to: true))
        return base + UInt64(bits.lowerBound)..<base + UInt64(bits.upperBound)
      }
      if minimum > 1 {
        behind = freeEnd(zone, from, below).map { $0 == from ? behind ?? base + UInt64($0) : base + UInt64($0) }
      }
    }
    return nil
  }

  /// An extent from the end of earlier zones into this one.
  private func extendAcross(
    _ start: UInt64, _ zone: Int, _ below: Int, _ minimum: Int, _ maximum: Int
  ) throws(StoreError) -> Range<UInt64>? {
    let head = zones[zone].unavailable.firstIndex(of: true, from: 0, below: below)
    let end = UInt64(zone) * geometry.zonePages + UInt64(head)
    guard end - start >= UInt64(minimum) else { return nil }
    let pages = start..<min(end, start + UInt64(maximum))
    try hold(pages)
    return pages
  }

  /// Where the free pages begin that end a zone.
  private func freeEnd(_ zone: Int, _ from: Int, _ below: Int) -> Int? {
    guard below == Int(geometry.zonePages) else { return nil }
    var start = below
    while start > from, !zones[zone].unavailable[start - 1] { start -= 1 }
    return start < below ? start : nil
  }

  /// Pages from `floor` on that may be allocated. O(1) for a floor of 0, else O(pages behind it).
  func available(from floor: UInt64) throws(StoreError) -> UInt64 {
    guard floor > 0 else { return availableCount }
    var count: UInt64 = 0
    try forEachZone(min(floor, fileEnd)..<fileEnd) { (zone, bits) throws(StoreError) in
      try load(zone)
      for bit in bits where !zones[zone].unavailable[bit] { count += 1 }
    }
    return count
  }

  /// How many free pages end the file.
  func freeTail() throws(StoreError) -> UInt64 {
    var end = fileEnd
    while end > geometry.firstPage {
      let zone = Int((end - 1) / geometry.zonePages)
      try load(zone)
      if zones[zone].unavailable[Int((end - 1) % geometry.zonePages)] { break }
      end -= 1
    }
    return fileEnd - end
  }

  /// Takes in that the file has been extended to `pages` pages. New zones take pages for their maps from the new
  /// space: from each zone's beginning, or, so that a run may cross zones, from the file's end.
  func extend(to pages: UInt64, mapPagesAtEnd: Bool = false) throws(StoreError) {
    precondition(pages >= fileEnd)
    let oldZones = UInt64(zones.count)
    let oldSpacePages = spacePages.count
    availableCount += min(pages, oldZones * geometry.zonePages) - min(fileEnd, oldZones * geometry.zonePages)
    fileEnd = pages
    var mapPage = pages - min(pages, mapPagesAtEnd ? mapPagesNeeded(for: pages) : 0)
    while UInt64(zones.count) * geometry.zonePages < fileEnd {
      let first = UInt64(zones.count) * geometry.zonePages
      if !mapPagesAtEnd { mapPage = first }
      zones.append(newZone(TwinReference(pageA: mapPage, pageB: mapPage + 1)))
      availableCount += min(fileEnd, first + geometry.zonePages) - first
      mapPage += 2
      if zones.count > spacePages.count * geometry.zonesPerSpacePage {
        spacePages.append(TwinReference(pageA: mapPage, pageB: mapPage + 1))
        mapPage += 2
      }
    }
    for zone in Int(oldZones)..<max(Int(oldZones), zones.count) { try takeMapPages(zones[zone].twin, zone) }
    for twin in spacePages[oldSpacePages...] { try takeMapPages(twin, zones.count - 1) }
  }

  /// Map pages that `extend(to: pages)` will take.
  func mapPagesNeeded(for pages: UInt64) -> UInt64 {
    let count = (pages + geometry.zonePages - 1) / geometry.zonePages
    let perSpace = UInt64(geometry.zonesPerSpacePage)
    let newSpacePages =
      (count + perSpace - 1) / perSpace - min((count + perSpace - 1) / perSpace, UInt64(spacePages.count))
    return 2 * (count - min(count, UInt64(zones.count))) + 2 * newSpacePages
  }

  /// Growth is in steps that leave room for the map pages of a new zone, see `StoreCore.growFile`.
  private func takeMapPages(_ twin: TwinReference, _ zone: Int) throws(StoreError) {
    unwritten += [twin.pageA, twin.pageB]
    let before = availableCount
    let changed = try markUsed(twin.pageA..<twin.pageB + 1)
    availableCount = before - min(before, UInt64(changed))
    markChanged(zone)
  }

  /// Takes in that the file has been cut to `pages` pages, all free behind them.
  func truncate(to pages: UInt64) {
    precondition(pages <= fileEnd)
    // Zones that only the cut-off space made necessary were never saved.
    while let last = zones.last, last.twin.pageA >= pages {
      availableCount -= min(
        availableCount,
        UInt64(last.unavailable.zeroCount) - min(beyond(zones.count - 1), UInt64(last.unavailable.zeroCount)))
      zones.removeLast()
      fileEnd = min(fileEnd, UInt64(zones.count) * geometry.zonePages)
    }
    spacePages.removeAll { $0.pageA >= pages }
    changedSpacePages = min(changedSpacePages, spacePages.count)
    unwritten.removeAll { $0 >= pages }
    guard pages <= fileEnd else { return }
    availableCount -= min(availableCount, fileEnd - pages)
    fileEnd = pages
    lowestFree = min(lowestFree, pages)
  }

  // MARK: Saving

  /// Pages that a save of the map may write at most.
  var savePageCount: Int { zones.count { $0.isChanged } + spacePages.count }

  /// The changed map pages as they have to be written, with their stamp; the map takes them as saved.
  /// Returns the pages and the reference for the header. [S-3]
  func save(generation: UInt32, attempt: UInt16, seal: MapPageSealer) -> (
    pages: [(UInt64, [UInt8])], root: TwinReference
  ) {
    var pages: [(UInt64, [UInt8])] = []
    for zone in zones.indices where zones[zone].isChanged {
      var twin = zones[zone].twin.swapped(generation: generation, attempt: attempt)
      twin.freeCount = UInt32(zones[zone].reachable.zeroCount)
      zones[zone].twin = twin
      zones[zone].isChanged = false
      let page = seal.page(.freeMap, twin, zone: UInt32(zone), count: 0) { bytes in
        zones[zone].reachable.write(to: bytes, at: 64)
      }
      pages.append((twin.live, page))
    }
    // A space page holds the stamp of the next one, so every page before a changed one changes too.
    for index in (0..<changedSpacePages).reversed() {
      let twin = spacePages[index].swapped(generation: generation, attempt: attempt)
      spacePages[index] = twin
      pages.append((twin.live, spacePage(index, twin, seal)))
    }
    changedSpacePages = 0
    let zeros = [UInt8](repeating: 0, count: geometry.pageSize)
    for page in unwritten where !pages.contains(where: { $0.0 == page }) { pages.append((page, zeros)) }
    unwritten = []
    return (pages, spacePages[0])
  }

  private func spacePage(_ index: Int, _ twin: TwinReference, _ seal: MapPageSealer) -> [UInt8] {
    let first = index * geometry.zonesPerSpacePage
    let listed = zones[first..<min(zones.count, first + geometry.zonesPerSpacePage)]
    return seal.page(.space, twin, zone: 0, count: listed.count) { bytes in
      if index + 1 < spacePages.count { spacePages[index + 1].write(to: bytes, at: 64) }
      for (entry, zone) in listed.enumerated() { zone.twin.write(to: bytes, at: 96 + entry * TwinReference.byteCount) }
    }
  }

  /// Whether no page that the newest state reaches can be allocated.
  var isConsistent: Bool {
    zones.allSatisfy { zone in
      zip(zone.reachable.words, zone.unavailable.words).allSatisfy { $0 & ~$1 == 0 }
    }
  }

  /// The pages of the map itself, for the integrity check.
  var ownPages: [UInt64] {
    (spacePages + zones.map(\.twin)).filter { !$0.isNone }.flatMap { [$0.pageA, $0.pageB] }
  }

  /// Whether the newest state reaches `page`, as the map has it.
  func isReachable(_ page: UInt64) throws(StoreError) -> Bool {
    let zone = Int(page / geometry.zonePages)
    guard zone < zones.count else { return false }
    try load(zone)
    return zones[zone].reachable[Int(page % geometry.zonePages)]
  }
}

let damageRemedy = "restore the file from a backup, or save what is readable with `roost salvage`"
