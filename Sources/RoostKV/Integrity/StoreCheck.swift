/// Walks a store and reports what is wrong. Reports, never repairs; never traps on what it finds.
///
/// Two states are looked at: the one the newest header describes, with the free map, against the file's own bytes; and the
/// newest visible version, of which only what isn't part of the other is read. So each page and value is read once; memory is
/// one bit a page. Of what LMDB's and libmdbx's checkers look for there is:
///
/// | they | here |
/// |---|---|
/// | wrong page number, page of another transaction | `stamp` |
/// | page used twice, loop, also listed as free | `doubleUse`, `freeMap` |
/// | page beyond the allocated or the backed end, file too short | `outside`, `length` |
/// | unknown or unexpected type, wrong height, too deep | `level` |
/// | corrupted page, illegal header | `page` |
/// | illegal unused bytes, empty page | `fill`, `page` |
/// | key or value too long, wrong length | `page`, `fill` |
/// | wrong order, duplicates | `order` |
/// | number of records or pages | `count` |
/// | damaged large value | `run` |
/// | wrong record of free pages | `freeMap` |
/// | used pages other than allocated less free | `leak` |
/// | clash of meta pages, meta page not the most recent | `header`, and a notice for a checkpoint that was interrupted |
/// | wrong table record | `catalog` |
///
/// They have no journal (`journal`), and their pages don't say which table they belong to (`owner`). Half-empty pages are no
/// fault here.
final class StoreCheck {
  private let core: StoreCore
  private var report = CheckReport()
  /// Pages seen so far of the header's state: each may be used once.
  private var used: Bitmap

  static func run(_ core: StoreCore) throws(StoreError) -> CheckReport {
    try core.requireOpen()
    try core.acquireForUpkeep()
    defer { core.releaseWriter() }
    // What is checked must not be half taken in.
    if !core.isReadOnly, !core.isInMemory { try core.settleForCheck() }
    let check = StoreCheck(core)
    if !core.isInMemory {
      check.checkHeaders()
      check.checkStoredState()
      check.checkSegments()
      check.checkFreeMap()
    }
    check.checkVersion(core.commits.visible)
    check.report.problems = Array(Set(check.report.problems)).sorted {
      ($0.page ?? 0, $0.message) < ($1.page ?? 0, $1.message)
    }
    return check.report
  }

  private init(_ core: StoreCore) {
    self.core = core
    used = Bitmap(count: Int(min(core.memory.fileLimit, 1 << 40)))
  }

  private func report(
    _ kind: CheckReport.Problem.Kind, _ message: String, table: String? = nil, page: UInt64? = nil
  ) {
    // A hostile file shall not fill the memory with complaints.
    guard report.problems.count < 10_000 else { return }
    report.problems.append(CheckReport.Problem(kind: kind, table: table, page: page, message: message))
  }

  private func report(_ error: StoreError, _ kind: CheckReport.Problem.Kind, table: String? = nil) {
    report(kind, error.message, table: table, page: error.page)
  }

  private func notice(_ kind: CheckReport.Problem.Kind, _ message: String) {
    report.notices.append(CheckReport.Problem(kind: kind, message: message))
  }

  private func claim(_ pages: Range<UInt64>) -> Bool {
    guard pages.upperBound <= UInt64(used.count) else { return true }
    let bits = Int(pages.lowerBound)..<Int(pages.upperBound)
    return used.set(bits, to: true) == bits.count
  }

  private func isUsed(_ pages: Range<UInt64>) -> Bool {
    guard pages.upperBound <= UInt64(used.count) else { return false }
    return used.firstIndex(of: false, from: Int(pages.lowerBound), below: Int(pages.upperBound))
      == Int(pages.upperBound)
  }
}

// MARK: - Headers

extension StoreCheck {
  private func checkHeaders() {
    do throws(StoreError) {
      var generations: [UInt32] = []
      for (index, slot) in try HeaderSlots(core.file).slots.enumerated() {
        guard case .valid(let header) = slot else {
          report(.header, "header slot \(index) is not what was written; the other one is used")
          continue
        }
        generations.append(header.generation)
      }
      if generations.count == 2, generations[0] != generations[1] {
        notice(
          .header,
          "the header slots are of the checkpoints \(generations[0]) and \(generations[1]): the newer one was interrupted"
        )
      }
      let size = try core.file.size(), needed = core.geometry.offset(core.header.pageCount)
      if size < needed { report(.length, "the file has \(size) bytes, and its header says \(needed)") }
    } catch {
      report(error, .header)
    }
  }

  /// The header repeats the row that says which schema the store has. [H-3]
  private func checkTag(_ tables: [(name: [UInt8], root: TreeRoot)]) {
    var row: [UInt8] = []
    if let schema = tables.first(where: { $0.name == Array("\0schema".utf8) }) {
      do throws(StoreError) {
        row = try "current".withBytes { (key) throws(StoreError) in
          try TreeReader.find(key, in: schema.root, core.memory).map { Array($0.inlineValue) } ?? []
        }
      } catch { return }
    }
    if row.prefix(Header.tagBytes) != core.header.tag.prefix(Header.tagBytes) {
      report(.header, "the header's copy of the schema's row isn't that row")
    }
  }
}

// MARK: - Trees

extension StoreCheck {
  /// The catalog and every table as the header has them, read from the file.
  private func checkStoredState() {
    core.memory.clearMarks(pages: 0..<core.memory.fileLimit)
    _ = claim(0..<min(core.geometry.firstPage, UInt64(used.count)))
    if core.header.catalog.reference.hasRuns {
      report(.catalog, "the catalog is said to have large values", page: core.header.catalog.reference.page)
    }
    var tables: [(name: [UInt8], root: TreeRoot)] = []
    var ids: Set<UInt32> = []
    checkTree(core.header.catalog, nil, isStored: true) { key, value in
      guard let row = CatalogRow(value.inlineValue), row.id > 0, UInt64(row.id) < self.core.header.nextTableID,
        (1...255).contains(key.count), String(validating: key, as: UTF8.self) != nil, ids.insert(row.id).inserted
      else {
        let name = String(decoding: key, as: UTF8.self)
        return self.report(.catalog, "the list of tables has an entry that makes no sense", table: name)
      }
      tables.append((key, row.root))
    }
    for (name, root) in tables { checkTree(root, String(decoding: name, as: UTF8.self), isStored: true) }
    checkTag(tables)
  }

  /// - Parameter isStored: the tree is the header's; else the newest version's, where what was checked before is passed over.
  private func checkTree(
    _ root: TreeRoot, _ table: String?, isStored: Bool, visit: (([UInt8], LeafCell) -> Void)? = nil
  ) {
    var tree = TreeCheck(core.memory)
    if isStored {
      tree.claimPage = { reference in
        if reference.page >= self.core.header.pageCount {
          self.report(.outside, "the page lies behind the state's last one", table: table, page: reference.page)
        }
        return self.claim(reference.page..<reference.page &+ 1)
      }
    } else {
      tree.isChecked = { reference in
        !self.core.isInMemory && !self.core.memory.isFrame(reference.page)
          && self.isUsed(reference.page..<reference.page &+ 1)
      }
    }
    tree.claimRun = { run, _ in
      self.checkRun(run, table, isStored: isStored)
      return true
    }
    if let visit { tree.visit = visit }
    tree.check(root)
    for problem in tree.problems {
      let kind = CheckReport.Problem.Kind(rawValue: problem.kind.rawValue) ?? .page
      report(kind, problem.problem, table: table, page: core.memory.isFrame(problem.page) ? nil : problem.page)
    }
    report.entriesChecked += tree.entries
    report.pagesChecked += tree.pages.reduce(0, +)
  }

  private func checkRun(_ run: RunDescriptor, _ table: String?, isStored: Bool) {
    let pages = core.memory.pages(of: run)
    if !isStored, !core.isInMemory, !pages.isEmpty, isUsed(pages) { return }
    do throws(StoreError) {
      try core.memory.verifyWholeRun(run)
    } catch {
      return report(error, pages.isEmpty ? .outside : .run, table: table)
    }
    report.runsChecked += 1
    report.pagesChecked += UInt64(pages.count)
    guard isStored else { return }
    if pages.upperBound > core.header.pageCount {
      report(.outside, "the run lies behind the state's last page", table: table, page: run.page)
    }
    if !claim(pages) { report(.doubleUse, "the run's pages are used twice", table: table, page: run.page) }
  }

  private func checkVersion(_ version: Version) {
    for (slot, root) in version.roots.enumerated() {
      checkTree(root, String(decoding: version.directory.names[slot], as: UTF8.self), isStored: false)
    }
  }
}

// MARK: - Space

extension StoreCheck {
  private func checkSegments() {
    for pages in core.ring.pages(core.geometry) where !claim(pages) {
      report(.journal, "a journal segment lies on pages in use", page: pages.lowerBound)
    }
    for segment in core.ring.segments {
      let copies = SegmentHeader.copyOffsets.map { copy -> SegmentHeader? in
        guard let bytes = try? core.file.readBytes(SegmentHeader.byteCount, at: segment.header.offset + copy) else {
          return nil
        }
        return bytes.withUnsafeBytes {
          SegmentHeader($0, at: segment.header.offset, storeSeed: core.memory.storeSeed)
        }
      }
      if copies[0] != copies[1] {
        notice(.journal, "the copies of the header of the segment at offset \(segment.header.offset) differ")
      }
    }
  }

  /// Every page below the page count is reachable or free, exactly once. [S-1]
  private func checkFreeMap() {
    let before = report
    // The segments' pages have no bit in the map. [S-2]
    for pages in core.ring.pages(core.geometry) where pages.upperBound <= UInt64(used.count) {
      used.set(Int(pages.lowerBound)..<Int(pages.upperBound), to: false)
    }
    let zones = readZones()
    for (zone, bits) in zones.enumerated() { compare(bits, zone) }
    for pages in core.ring.pages(core.geometry) { _ = claim(pages) }
    // Beside a writer in another process the map's pages are the writer's: they count only while its header is this one.
    if core.isReadOnly, (try? HeaderSlots(core.file).newest().header.generation) != core.header.generation {
      report = before
    }
  }

  /// The zones' bits, `nil` where they can't be read. Claims the map's own pages.
  private func readZones() -> [Bitmap?] {
    let reader = FileMapPageReader(core.file, core.geometry, storeSeed: core.memory.storeSeed)
    var zones: [Bitmap?] = []
    var next = core.header.space
    var visited: Set<UInt64> = []
    while !next.isNone {
      guard visited.insert(next.live).inserted else {
        report(.freeMap, "the list of free-map pages runs in a circle", page: next.live)
        return zones
      }
      claimTwin(next)
      let page: [UInt8]
      do throws(StoreError) { page = try reader.mapPage(next, kind: .space, zone: nil) } catch {
        report(error, .freeMap)
        return zones
      }
      next = page.withUnsafeBytes { bytes in
        let count = Int(bytes.field(24, as: UInt16.self) ?? 0)
        if count > core.geometry.zonesPerSpacePage {
          report(.freeMap, "a space page lists more than it can", page: next.live)
        }
        for index in 0..<min(count, core.geometry.zonesPerSpacePage) {
          guard let twin = TwinReference(bytes, at: 96 + index * TwinReference.byteCount) else { continue }
          zones.append(readZone(twin, zones.count, reader))
        }
        return TwinReference(bytes, at: 64) ?? TwinReference()
      }
    }
    if UInt64(zones.count) * core.geometry.zonePages < core.header.pageCount {
      report(.freeMap, "the free map ends before the state does")
    }
    return zones
  }

  private func readZone(_ twin: TwinReference, _ zone: Int, _ reader: FileMapPageReader) -> Bitmap? {
    claimTwin(twin)
    do throws(StoreError) {
      let page = try reader.mapPage(twin, kind: .freeMap, zone: UInt32(clamping: zone))
      let bits = page.withUnsafeBytes { Bitmap(UnsafeRawBufferPointer(rebasing: $0[64...])) }
      if bits.zeroCount != Int(twin.freeCount) {
        report(
          .freeMap, "the zone has \(bits.zeroCount) free pages, and the reference to it says \(twin.freeCount)",
          page: twin.live)
      }
      return bits
    } catch {
      report(error, .freeMap)
      return nil
    }
  }

  private func claimTwin(_ twin: TwinReference) {
    for page in [twin.pageA, twin.pageB] {
      guard page >= core.geometry.firstPage, page < core.header.pageCount else {
        report(.outside, "a page of the free map lies outside the state's pages", page: page)
        continue
      }
      if !claim(page..<page + 1) {
        report(.doubleUse, "a page of the free map has another use as well", page: page)
      }
    }
  }

  private func compare(_ bits: Bitmap?, _ zone: Int) {
    let start = UInt64(zone) * core.geometry.zonePages
    let end = min(core.header.pageCount, UInt64(used.count), start + core.geometry.zonePages)
    guard let bits, start < end else { return }
    for word in 0..<Int((end - start + 63) / 64) {
      // A zone begins at a multiple of 64.
      let rest = end - start - UInt64(word) * 64
      let mask: UInt64 = rest >= 64 ? .max : (1 << rest) - 1
      let own = used.words[Int(start) / 64 + word]
      var difference = (own ^ bits.words[word]) & mask
      while difference != 0 {
        let bit = difference.trailingZeroBitCount
        difference &= difference - 1
        let page = start + UInt64(word * 64 + bit)
        if own >> UInt64(bit) & 1 != 0 {
          report(.freeMap, "the page is in use, and the free map says it is free", page: page)
        } else {
          report(.leak, "nothing uses the page, and the free map says it is in use", page: page)
        }
      }
    }
  }
}

extension StoreCore {
  /// Takes in a checkpoint that is on the disk already, so that `header` is what the file holds. With the writer lock held.
  func settleForCheck() throws(StoreError) {
    if commits.poison == nil { try settleCheckpoint() }
  }
}
