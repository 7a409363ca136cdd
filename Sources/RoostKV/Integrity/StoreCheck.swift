/// Walks a store and reports what is wrong. Reports, never repairs; never traps on what it finds.
///
/// Two states are looked at: the one the newest header describes, with the free map, against the file's own bytes; and the
/// newest visible version, whose changed pages are in memory.
struct StoreCheck {
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
    var check = StoreCheck(core)
    if !core.isInMemory {
      check.checkHeaders()
      check.checkStoredState()
      check.checkFreeMap()
    }
    check.checkVersion(core.commits.visible)
    return check.report
  }

  private init(_ core: StoreCore) {
    self.core = core
    used = Bitmap(count: Int(min(core.memory.fileLimit, 1 << 40)))
  }

  private mutating func report(
    _ kind: CheckReport.Problem.Kind, _ message: String, table: String? = nil, page: UInt64? = nil
  ) {
    // A hostile file shall not fill the memory with complaints.
    guard report.problems.count < 10_000 else { return }
    report.problems.append(CheckReport.Problem(kind: kind, table: table, page: page, message: message))
  }

  private mutating func report(_ error: StoreError, _ kind: CheckReport.Problem.Kind, table: String? = nil) {
    report(kind, error.message, table: table, page: error.page)
  }

  // MARK: Headers

  private mutating func checkHeaders() {
    do throws(StoreError) {
      for (index, slot) in try HeaderSlots(core.file).slots.enumerated() {
        if case .valid = slot { continue }
        report(.header, "header slot \(index) is not what was written; the other one is used")
      }
    } catch {
      report(error, .header)
    }
  }

  // MARK: Trees

  /// The catalog and every table as the header has them, read from the file.
  private mutating func checkStoredState() {
    let header = core.header
    core.memory.clearMarks(pages: 0..<core.memory.fileLimit)
    for page in 0..<min(core.geometry.firstPage, UInt64(used.count)) { _ = claim(page..<page + 1) }
    checkTree(header.catalog, nil)
    let tables: CatalogTables
    do throws(StoreError) {
      tables = try CatalogTables(header.catalog, nextTableID: header.nextTableID, memory: core.memory)
    } catch {
      return report(error, .catalog)
    }
    for (slot, root) in tables.roots.enumerated() {
      checkTree(root, String(decoding: tables.directory.names[slot], as: UTF8.self))
    }
  }

  private mutating func checkTree(_ root: TreeRoot, _ table: String?) {
    var doubles: [UInt64] = []
    var runs: [RunDescriptor] = []
    var seen = used
    var tree = TreeCheck(core.memory)
    tree.claimPage = { reference in
      let isFirst = Self.claim(reference.page..<reference.page &+ 1, &seen)
      if !isFirst { doubles.append(reference.page) }
      return isFirst
    }
    tree.claimRun = { run, _ in
      runs.append(run)
      return true
    }
    tree.check(root)
    used = seen
    for problem in tree.problems { report(.page, problem.problem, table: table, page: problem.page) }
    for page in doubles { report(.doubleUse, "the page is used twice", table: table, page: page) }
    report.entriesChecked += tree.entries
    report.pagesChecked += tree.pages.reduce(0, +)
    for run in runs { checkRun(run, table, claiming: true) }
  }

  private mutating func checkRun(_ run: RunDescriptor, _ table: String?, claiming: Bool) {
    do throws(StoreError) {
      try core.memory.verifyWholeRun(run)
    } catch {
      return report(error, .run, table: table)
    }
    report.runsChecked += 1
    let pages = core.memory.pages(of: run)
    report.pagesChecked += UInt64(pages.count)
    if claiming, !claim(pages) { report(.doubleUse, "the run's pages are used twice", table: table, page: run.page) }
  }

  private mutating func claim(_ pages: Range<UInt64>) -> Bool { Self.claim(pages, &used) }

  private static func claim(_ pages: Range<UInt64>, _ used: inout Bitmap) -> Bool {
    guard pages.upperBound <= UInt64(used.count) else { return true }
    let bits = Int(pages.lowerBound)..<Int(pages.upperBound)
    return used.set(bits, to: true) == bits.count
  }

  // MARK: Free map

  /// Every page below the page count is reachable or free, exactly once. [S-1]
  private mutating func checkFreeMap() {
    let before = report
    do throws(StoreError) {
      let reader = FileMapPageReader(core.file, core.geometry, storeSeed: core.memory.storeSeed)
      try compare(FreeMap(core.header, fileEnd: core.memory.fileLimit, reader: reader))
    } catch {
      report(error, .freeMap)
    }
    for pages in core.ring.pages(core.geometry) where !claim(pages) {
      report(.doubleUse, "a journal segment lies on pages in use", page: pages.lowerBound)
    }
    // Beside a writer in another process the map's pages are the writer's: they count only while its header is this one.
    if core.isReadOnly, (try? HeaderSlots(core.file).newest().header.generation) != core.header.generation {
      report = before
    }
  }

  private mutating func compare(_ map: FreeMap) throws(StoreError) {
    for page in map.ownPages where !claim(page..<page + 1) {
      report(.doubleUse, "a page of the free map is used by a tree as well", page: page)
    }
    for page in 0..<min(core.header.pageCount, UInt64(used.count)) {
      let isUsed = used[Int(page)]
      if try map.isReachable(page) == isUsed { continue }
      if isUsed {
        report(.freeMap, "the page is in use, and the free map says it is free", page: page)
      } else {
        report(.leak, "nothing uses the page, and the free map says it is in use", page: page)
      }
    }
  }

  // MARK: Newest version

  private mutating func checkVersion(_ version: Version) {
    for (slot, root) in version.roots.enumerated() {
      let name = String(decoding: version.directory.names[slot], as: UTF8.self)
      var runs: [RunDescriptor] = []
      var tree = TreeCheck(core.memory)
      tree.claimRun = { run, _ in
        runs.append(run)
        return true
      }
      tree.check(root)
      for problem in tree.problems {
        report(.page, problem.problem, table: name, page: core.memory.isFrame(problem.page) ? nil : problem.page)
      }
      for run in runs { checkRun(run, name, claiming: false) }
    }
    report.problems = Array(Set(report.problems)).sorted { ($0.page ?? 0, $0.message) < ($1.page ?? 0, $1.message) }
  }
}

extension StoreCore {
  /// Takes in a checkpoint that is on the disk already, so that `header` is what the file holds. With the writer lock held.
  func settleForCheck() throws(StoreError) {
    if commits.poison == nil { try settleCheckpoint() }
  }
}
