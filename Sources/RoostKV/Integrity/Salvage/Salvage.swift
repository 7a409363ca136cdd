/// Rebuilds a store from whatever of a damaged file can be read.
///
/// 1. The trees are followed as far as their pages are what the references say.
/// 2. When something is missing, every page that no tree led to is looked at. A leaf that the free map counts as used
///    belongs to the newest checkpoint's state; it fills the gap that its keys lie in. Where the map is lost too, the newest leaf
///    counts for each key, and the report says so.
/// 3. The entries go in key order into a new store, and the journal's transactions are carried out on it.
///
/// The input is only read. Memory grows with the damage, not with the store.
final class Salvage {
  /// A table of the damaged store.
  struct TablePlan {
    var id: UInt32
    var name: [UInt8]
    var isNameKnown: Bool
    /// `nil`: nothing but single leaves is known of it.
    var root: TreeRoot?
    /// Whether the root is known to be that of the newest state.
    var isRootCertain = true
    var losses: [SalvageWalk.Loss] = []
  }

  let source: SalvageSource
  private let header: Header?
  private let progress: ((SalvageProgress) -> Bool)?
  private(set) var report = SalvageReport()

  /// Pages that some tree leads to, readable or not.
  var reached: Bitmap
  /// Pages that hold another state than a readable reference says.
  private var others: Set<UInt64> = []
  private var map: SalvageMap
  /// No page of the state is newer.
  private var generation: UInt32
  private var scan: SalvageScan?
  private var catalog = TablePlan(id: 0, name: [], isNameKnown: true)
  private(set) var tables: [TablePlan] = []
  /// Names that tables have, or had.
  private var olderNames: [UInt32: [UInt8]] = [:]
  private var walked: UInt64 = 0
  private(set) var segments: (segments: [SegmentHeader], isWhole: Bool)

  init(
    _ file: any StorageFile, _ options: SalvageOptions, _ progress: ((SalvageProgress) -> Bool)?
  ) throws(StoreError) {
    let identity = try SalvageIdentity(file, options)
    source = identity.source
    header = identity.headers.first
    self.progress = progress
    reached = Bitmap(count: Int(source.pageCount))
    map = SalvageMap(source, header?.space)
    generation = header?.generation ?? UInt32.max
    segments = SalvageJournal.ring(source)
    report.storeID = identity.storeID.description
    report.pageSize = source.geometry.pageSize
    report.headers = identity.headers.count
    report.pages = source.pageCount
    report.origin = header == nil ? .scan : .header
  }

  func announce(_ phase: SalvageProgress.Phase, _ done: UInt64, of total: UInt64? = nil) throws(StoreError) {
    guard let progress, !progress(SalvageProgress(phase: phase, done: done, total: total)) else { return }
    throw StoreError(
      .cancelled, "the salvage was cancelled", remedy: "nothing was made; start it again", path: source.file.path)
  }

  // MARK: What there is

  /// Finds the tables and what of them can be read.
  func examine() throws(StoreError) {
    if let header {
      catalog.root = header.catalog
      try examine(&catalog)
      try takeRows()
    }
    let isDamaged = !catalog.losses.isEmpty || tables.contains { !$0.losses.isEmpty }
    if header == nil || isDamaged || !segments.isWhole { try look() }
    report.generation = generation == .max ? 0 : generation
    report.damagedPages += map.damagedPages
  }

  /// Follows a tree, marking what it reaches.
  private func examine(_ plan: inout TablePlan) throws(StoreError) {
    guard let root = plan.root else { return }
    var losses: [SalvageWalk.Loss] = []
    try SalvageWalk(source: source).walk(
      root, claim: { Self.claim($0..<$0 &+ 1, &self.reached) },
      leaf: { (leaf) throws(StoreError) in
        self.walked += 1
        if self.walked % 256 == 0 { try self.announce(.walking, self.walked) }
        try self.claimRuns(leaf)
      },
      lost: { (loss) throws(StoreError) in
        losses.append(loss)
        if loss.isOther { self.others.insert(loss.reference.page) }
      })
    plan.losses = losses
  }

  /// What lies in a large value is no page of the store.
  private func claimRuns(_ leaf: LeafPage) throws(StoreError) {
    let count = leaf.count
    for index in 0..<count {
      if let run = try leaf.cell(index, of: count).run, let pages = source.pages(of: run) {
        _ = Self.claim(pages, &reached)
      }
    }
  }

  static func claim(_ pages: Range<UInt64>, _ bitmap: inout Bitmap) -> Bool {
    guard pages.upperBound <= UInt64(bitmap.count) else { return true }
    let bits = Int(pages.lowerBound)..<Int(pages.upperBound)
    return bitmap.set(bits, to: true) == bits.count
  }

  /// The tables that the readable part of the catalog lists, those not known yet. A row of a catalog page that may be an older
  /// one tells no more than a name.
  private func takeRows() throws(StoreError) {
    var rows: [(name: [UInt8], row: CatalogRow)] = []
    try forEachRow(of: catalog) { (key, value, finding) throws(StoreError) in
      guard let row = CatalogRow(value.inlineValue), row.id > 0, (1...255).contains(key.count) else { return }
      let name = Array(key)
      guard String(validating: name, as: UTF8.self) != nil else { return }
      let isCertain = if case .byScan(let isCertain) = finding { isCertain } else { self.catalog.isRootCertain }
      if isCertain { rows.append((name, row)) } else { self.olderNames[row.id] = name }
    }
    for (name, row) in rows where !tables.contains(where: { $0.id == row.id }) {
      var plan = TablePlan(id: row.id, name: name, isNameKnown: true, root: row.root)
      try examine(&plan)
      tables.append(plan)
    }
  }

  // MARK: What no tree leads to

  private func look() throws(StoreError) {
    let total = source.pageCount
    let scan = try SalvageScan(source, reached: reached) { (done) throws(StoreError) in
      try self.announce(.scanning, done, of: total)
    }
    self.scan = scan
    if header == nil { establishState(scan) }
    if !segments.isWhole {
      for found in scan.segments where !segments.segments.contains(where: { $0.offset == found.offset }) {
        segments.segments.append(found)
      }
    }
    guard header == nil || !catalog.losses.isEmpty else { return }
    if header == nil {
      try findRoot(&catalog, scan)
      // A checkpoint that changes a table changes its row too.
      let written = catalog.root?.reference.generation ?? 0
      if scan.pages.contains(where: { $0.generation > written && self.belongs($0).may }) {
        catalog.isRootCertain = false
      }
    }
    report.isCatalogWhole = catalog.root != nil && catalog.losses.isEmpty && catalog.isRootCertain
    try takeRows()
    if !report.isCatalogWhole { try takeUnlistedTables(scan) }
  }

  /// Without a header: the newest map that can be read bounds the state, unless a newer checkpoint has left pages; else the
  /// newest catalog page does. Newer leaves alone were written ahead by a transaction that never committed.
  private func establishState(_ scan: SalvageScan) {
    let newest = scan.pages.lazy.filter { $0.table == 0 || $0.level > 0 }.map(\.generation).max()
    let space = SalvageMap.newestSpacePage(scan.spacePages, source)
    if let space, space.generation >= newest ?? 0 {
      map = SalvageMap(source, space)
      generation = space.generation
    } else if let newest = newest ?? scan.pages.lazy.map(\.generation).max() {
      generation = newest
    }
  }

  /// Whether a page may belong to the state, and whether that is certain.
  private func belongs(_ found: SalvageScan.Found) -> (may: Bool, isCertain: Bool) {
    guard found.generation <= generation, !others.contains(found.page) else { return (false, false) }
    switch map.use(found.page) {
    case .used: return (true, true)
    case .free: return (false, false)
    case .unknown: return (true, false)
    }
  }

  /// Looks for a table's root among the pages found, and follows it.
  private func findRoot(_ plan: inout TablePlan, _ scan: SalvageScan) throws(StoreError) {
    let pages = scan.pages.filter { $0.table == plan.id && !reached[Int($0.page)] && belongs($0).may }
    guard let root = SalvageScan.root(of: pages, table: plan.id), try isWholeTree(root, pages) else { return }
    plan.root = root
    plan.isRootCertain = map.use(root.reference.page) == .used
    try examine(&plan)
  }

  /// Whether the other pages say nothing against a root: none that certainly belongs to the state is higher or, on the same
  /// level, has keys apart from the root's, which would be a sister.
  private func isWholeTree(_ root: TreeRoot, _ pages: [SalvageScan.Found]) throws(StoreError) -> Bool {
    let level = root.height - 1
    guard let own = try keys(of: root.reference.page) else { return false }
    for page in pages where page.level >= level && page.page != root.reference.page {
      if belongs(page).isCertain { return false }
      guard let other = try keys(of: page.page) else { continue }
      if isBelow(other.last, own.first) || isBelow(own.last, other.first) { return false }
    }
    return true
  }

  /// The first and the last key that a page holds.
  private func keys(of number: UInt64) throws(StoreError) -> (first: [UInt8], last: [UInt8])? {
    guard let page = source.intactPage(number) else { return nil }
    let buffer = KeyBuffer(pageSize: source.geometry.pageSize)
    if PageHeader.kind(page) == .leaf {
      let leaf = LeafPage(page, source.geometry.pageSize)
      return (Array(try leaf.wholeKey(0, buffer)), Array(try leaf.wholeKey(leaf.count - 1, buffer)))
    }
    let branch = BranchPage(page, source.geometry.pageSize)
    // The first child has no key.
    guard branch.count > 1 else { return nil }
    func key(_ index: Int) throws(StoreError) -> [UInt8] {
      Array(
        try buffer.fill { (bytes, capacity) throws(StoreError) in
          try branch.copyKey(index, of: branch.count, to: bytes, capacity: capacity)
        })
    }
    return (try key(1), try key(branch.count - 1))
  }

  /// Tables of which only pages are left. Their names are taken from older lists of tables where there are any.
  private func takeUnlistedTables(_ scan: SalvageScan) throws(StoreError) {
    let listed = Set(tables.map(\.id))
    let ids = Set(
      scan.pages.lazy.filter { !self.reached[Int($0.page)] && self.belongs($0).may }.map(\.table)
    ).subtracting(listed).subtracting([0])
    guard !ids.isEmpty else { return }
    try findOlderNames(scan)
    for id in ids.sorted() {
      var plan = TablePlan(id: id, name: olderNames[id] ?? Array("table \(id)".utf8), isNameKnown: false)
      try findRoot(&plan, scan)
      tables.append(plan)
    }
  }

  private func findOlderNames(_ scan: SalvageScan) throws(StoreError) {
    var names = try SalvageJournal(source, header: header, segments: segments.segments, isWhole: true).names()
    let buffer = KeyBuffer(pageSize: source.geometry.pageSize)
    for found in scan.pages.filter({ $0.table == 0 && $0.level == 0 }).sorted(by: { $0.generation < $1.generation }) {
      guard let page = source.intactPage(found.page) else { continue }
      let leaf = LeafPage(page, source.geometry.pageSize)
      let count = leaf.count
      for index in 0..<count {
        guard let row = CatalogRow(try leaf.cell(index, of: count).inlineValue) else { continue }
        names[row.id] = Array(try leaf.wholeKey(index, buffer))
      }
    }
    olderNames.merge(names) { first, _ in first }
  }

  // MARK: Rows

  /// Leaves of a table that no tree leads to, and that may belong to the state.
  private func orphans(of table: UInt32) throws(StoreError) -> [SalvagePieces.Orphan] {
    guard let scan else { return [] }
    var orphans: [SalvagePieces.Orphan] = []
    for found in scan.pages where found.table == table && found.level == 0 && !reached[Int(found.page)] {
      let belongs = belongs(found)
      guard belongs.may, let keys = try keys(of: found.page) else { continue }
      orphans.append(
        SalvagePieces.Orphan(found: found, isCertain: belongs.isCertain, first: keys.first, last: keys.last))
    }
    return orphans
  }

  /// How an entry was found.
  enum Finding {
    case byTree
    case byScan(isCertain: Bool)
  }

  /// Calls `body` with each entry that can be read, in key order; returns what couldn't.
  @discardableResult
  func forEachRow(
    of plan: TablePlan, _ body: (UnsafeRawBufferPointer, LeafCell, Finding) throws(StoreError) -> Void
  ) throws(StoreError) -> [SalvageReport.Loss] {
    var losses: [SalvageReport.Loss] = []
    let buffer = KeyBuffer(pageSize: source.geometry.pageSize)
    let orphans = plan.root == nil || !plan.losses.isEmpty ? try orphans(of: plan.id) : []
    func emit(_ leaf: LeafPage, _ range: Range<Int>, _ finding: Finding) throws(StoreError) {
      let count = leaf.count
      for index in range.clamped(to: 0..<count) {
        let key = try leaf.wholeKey(index, buffer)
        try body(key, try leaf.cell(index, of: count), finding)
      }
    }
    func fill(_ loss: SalvageWalk.Loss) throws(StoreError) {
      let pieces = try SalvagePieces(orphans, for: loss, source).pieces
      var recovered: UInt64 = 0
      for piece in pieces {
        guard let page = source.intactPage(piece.page), PageHeader.generation(page) == piece.generation else {
          continue
        }
        try emit(LeafPage(page, source.geometry.pageSize), piece.entries, .byScan(isCertain: piece.isCertain))
        recovered += UInt64(piece.entries.count)
      }
      guard !loss.reference.isNone else { return }
      losses.append(
        SalvageReport.Loss(
          page: loss.reference.page, reason: loss.reason, lower: loss.lower, upper: loss.upper,
          entries: loss.reference.count, recovered: recovered))
    }
    guard let root = plan.root else {
      try fill(SalvageWalk.Loss(reference: .none, isOther: false, reason: "", lower: nil, upper: nil))
      return losses
    }
    var entered = Bitmap(count: reached.count)
    try SalvageWalk(source: source).walk(
      root, claim: { Self.claim($0..<$0 &+ 1, &entered) },
      leaf: { (leaf) throws(StoreError) in try emit(leaf, 0..<leaf.count, .byTree) },
      lost: { (loss) throws(StoreError) in try fill(loss) })
    return losses
  }
}

// MARK: - Writing

extension Salvage {
  /// Fills the new store.
  func write(to core: StoreCore) throws(StoreError) -> SalvageReport {
    let output = try SalvageOutput(core)
    var results: [UInt32: SalvageReport.TableResult] = [:]
    var written: UInt64 = 0
    for plan in tables {
      var result = SalvageReport.TableResult(name: "", id: plan.id, isNameKnown: plan.isNameKnown)
      try output.beginTable(plan.id, name: plan.name)
      result.losses = try forEachRow(of: plan) { (key, value, finding) throws(StoreError) in
        written += 1
        if written % 1024 == 0 { try self.announce(.writing, written) }
        guard try output.append(key, value, self.source) else { return }
        switch finding {
        case .byTree: if !plan.isRootCertain { result.uncertain += 1 }
        case .byScan(let isCertain):
          result.scanned += 1
          if !isCertain { result.uncertain += 1 }
        }
      }
      try output.endTable()
      result.lostValues = output.lostValues
      report.damagedPages += result.losses.map(\.page)
      results[plan.id] = result
    }
    try output.commit()
    try applyJournal(to: output)
    try nameSystemTables(output, results)
    for (id, content) in try output.contents() {
      // A table that the journal has made has its name from there.
      var result = results[id] ?? SalvageReport.TableResult(name: "", id: id, isNameKnown: true)
      (result.name, result.entries) = (content.name, content.count)
      report.tables.append(result)
    }
    report.tables.sort { $0.name < $1.name }
    report.damagedPages = Array(Set(report.damagedPages)).sorted()
    try output.commit()
    return report
  }

  private func applyJournal(to output: SalvageOutput) throws(StoreError) {
    let journal = try SalvageJournal(
      source, header: header, segments: segments.segments, isWhole: segments.isWhole)
    report.journal = journal.report
    for group in journal.groups {
      guard let bytes = journal.bytes(group) else {
        report.journal.addMissing(group.header.lsn...group.header.lsn)
        continue
      }
      report.journal.applied += 1
      report.journal.lostRecords += try output.apply(bytes, source)
    }
    try output.commit()
  }

  /// The library's own tables are told by their keys when the list of tables has lost their names.
  private func nameSystemTables(
    _ output: SalvageOutput, _ results: [UInt32: SalvageReport.TableResult]
  ) throws(StoreError) {
    for (id, result) in results where !result.isNameKnown {
      if try output.hasKey("current", in: id), try output.hasKey("version\0\0\0\u{1}", in: id) {
        try output.rename(id, "\0schema")
      } else if try output.hasKey("next number", in: id), try output.hasKey("identifier", in: id) {
        try output.rename(id, "counters")
      }
    }
  }
}
