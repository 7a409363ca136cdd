// Bounds: frames alone, read through `TreePage`.

/// The first half of a checkpoint, with the writer lock held: what the new header will describe is fixed, and every
/// changed page gets its place in the file. Nothing is written yet. SPEC.md [C-4]

/// A state whose pages have places and are to be written.
struct FrozenState {
  var header: Header
  /// Frames in the order of their pages.
  var pages: [(frame: PageNumber, page: UInt64, level: Int)]
  var mapPages: [(page: UInt64, bytes: [UInt8])]
  var attempt: UInt16
  /// Where each frame goes, also frames that went there at an earlier freeze.
  var translation: [PageNumber: StoreCore.FramePlace]
  var limbo: [Limbo.Extent]
  /// Frames of the catalog, which nobody but the checkpoint uses.
  var catalogFrames: [PageNumber]
  var tables: [UInt32: StoreCore.FrozenTable]

  /// The reference by which the file names what `reference` names.
  func fileReference(_ reference: Reference) -> Reference? {
    guard let place = translation[reference.page] else { return nil }
    return Reference(
      page: place.page, attempt: place.attempt, generation: place.generation, count: reference.count,
      hasRuns: reference.hasRuns)
  }
}

extension StoreCore {
  /// A state to be frozen.
  struct CommittedState {
    var directory: Directory
    var roots: [TreeRoot]
    var commit: UInt64
    /// Every group below it is covered; `chain` is what the next group must chain to.
    var nextLSN: UInt64
    var chain: UInt64
    /// The journal goes on in the first segment, and the page count leaves out free pages at the end.
    var isClosing = false
  }

  /// Freezes a state.
  /// - Throws: `noSpace`, `sizeLimit` with nothing changed; after any other error the store is poisoned.
  func freeze(_ state: CommittedState) throws(StoreError) -> FrozenState {
    let generation = try nextGeneration()
    var pages: [(frame: PageNumber, page: UInt64, level: Int)] = []
    for root in state.roots { collect(root, &pages) }
    let catalogPages = tableChanges(state) * Int(catalog.height + 2)
    try reservePages(pages.count + catalogPages + freeMap.savePageCount + 4)
    do throws(StoreError) {
      return try freeze(state, pages, generation)
    } catch {
      // Space has been obtained, so this is damage; half of the new map is in memory, and nothing may be built on it.
      commits.poison(error)
      throw error
    }
  }

  private func freeze(
    _ state: CommittedState, _ dirtyPages: [(frame: PageNumber, page: UInt64, level: Int)], _ generation: UInt32
  ) throws(StoreError) -> FrozenState {
    let attempt = spillStamp?.attempt ?? newAttempt()
    var pages = dirtyPages
    var places = translation
    try assignPages(&pages, generation, attempt, &places)
    var frozen = FrozenState(
      header: header, pages: pages, mapPages: [], attempt: attempt, translation: places, limbo: [], catalogFrames: [],
      tables: [:])
    try updateCatalog(state, generation, &frozen)
    try freePages(generation, &frozen)
    let saved = freeMap.save(
      generation: generation, attempt: attempt, seal: MapPageSealer(geometry: geometry, storeSeed: memory.storeSeed))
    frozen.mapPages = saved.pages
    frozen.header.space = saved.root
    frozen.header.generation = generation
    frozen.header.commit = state.commit
    frozen.header.nextLSN = state.nextLSN
    frozen.header.chain = state.chain
    frozen.header.journalPosition = state.isClosing ? ring.segments[0].header.firstGroup : ring.position
    frozen.header.nextTableID = nextTableID
    frozen.header.pageCount = freeMap.fileEnd - (try freeMap.freeTail())
    frozen.header.tag = try tagRow(state)
    translation = frozen.translation
    frozenTables = frozen.tables
    journalPeriods = (journalBytes, journalPeriods.last)
    journalBytes = 0
    pendingHeader = frozen.header
    return frozen
  }

  func nextGeneration() throws(StoreError) -> UInt32 {
    let (next, overflow) = header.generation.addingReportingOverflow(1)
    guard !overflow else {
      throw StoreError(
        .sizeLimit, "the store has had 4,294,967,295 checkpoints, which is all that its format allows",
        remedy: "dump it and load the dump into a new store", path: file.path)
    }
    return next
  }

  /// Another number than the last attempt at this generation had. [P-4]
  func newAttempt() -> UInt16 { UInt16(truncatingIfNeeded: runtime.randomSeed()) }

  // MARK: Pages

  /// The frames of a tree that have no page yet: leaves in key order, so that neighbours lie side by side, then branches.
  private func collect(
    _ root: TreeRoot, _ pages: inout [(frame: PageNumber, page: UInt64, level: Int)]
  ) {
    guard root.height > 0 else { return }
    var branches: [(frame: PageNumber, page: UInt64, level: Int)] = []
    func visit(_ reference: Reference, _ level: Int) {
      let frame = reference.page
      guard memory.isFrame(frame), translation[frame] == nil else { return }
      if level == 0 {
        pages.append((frame, 0, 0))
      } else {
        let page = UnsafeRawPointer(memory.frame(frame))
        for index in 0..<PageHeader.count(page) { visit(TreePage.child(page, index), level - 1) }
        branches.append((frame, 0, level))
      }
    }
    visit(root.reference, Int(root.height) - 1)
    pages += branches
  }

  /// Gives each frame a page. The space has been reserved.
  private func assignPages(
    _ pages: inout [(frame: PageNumber, page: UInt64, level: Int)], _ generation: UInt32,
    _ attempt: UInt16, _ places: inout [PageNumber: FramePlace]
  ) throws(StoreError) {
    var index = 0
    places.reserveCapacity(places.count + pages.count)
    while index < pages.count {
      guard let extent = try freeMap.allocate(minimum: 1, maximum: pages.count - index, from: pageFloor) else {
        throw noSpace()
      }
      try freeMap.setReachable(extent, true)
      for page in extent {
        pages[index].page = page
        places[pages[index].frame] = FramePlace(page: page, attempt: attempt, generation: generation)
        index += 1
      }
    }
  }

  /// What the newest state no longer reaches is free in the new map, and waits until no snapshot reaches it.
  private func freePages(_ generation: UInt32, _ frozen: inout FrozenState) throws(StoreError) {
    for freed in freedPages {
      let pages = freed.page..<freed.page + 1
      try freeMap.setReachable(pages, false)
      if planted(.pagesReusedEarly) { try freeMap.release(pages) }
      frozen.limbo.append(Limbo.Extent(pages: pages, born: freed.generation, freed: generation, isRun: false))
    }
    for pages in freedRuns {
      try freeMap.setReachable(pages, false)
      frozen.limbo.append(Limbo.Extent(pages: pages, born: 0, freed: generation, isRun: true))
    }
    freedPages = []
    freedRuns = []
  }

  // MARK: Catalog

  private func tableChanges(_ state: CommittedState) -> Int {
    var changes = 0
    for (slot, id) in state.directory.ids.enumerated() {
      let table = FrozenTable(name: state.directory.names[slot], root: state.roots[slot])
      if frozenTables[id] != table { changes += 1 }
    }
    return changes + max(0, frozenTables.count - state.directory.ids.count)
  }

  /// Brings the catalog up to date: rows hold the references that the file will have.
  private func updateCatalog(
    _ state: CommittedState, _ generation: UInt32, _ frozen: inout FrozenState
  ) throws(StoreError) {
    let dirty = DirtySet(memory: memory)
    let editor = TreeEditor(dirty)
    var root = catalog
    for (slot, id) in state.directory.ids.enumerated() {
      var tableRoot = state.roots[slot]
      if tableRoot.height == 0 { tableRoot = .empty(table: id) }
      if let reference = frozen.fileReference(tableRoot.reference) { tableRoot.reference = reference }
      frozen.tables[id] = FrozenTable(name: state.directory.names[slot], root: tableRoot)
    }
    // In a fixed order, so that the same history gives the same bytes.
    for (_, old) in frozenTables.filter({ frozen.tables[$0.key]?.name != $0.value.name }).sorted(by: { $0.key < $1.key }
    ) {
      _ = try old.name.withBytes { (name) throws(StoreError) in try editor.remove(name, in: &root) }
    }
    for (id, table) in frozen.tables.filter({ frozenTables[$0.key] != $0.value }).sorted(by: { $0.key < $1.key }) {
      let row = CatalogRow(id: id, root: table.root).encoded()
      _ = try table.name.withBytes { (name) throws(StoreError) in
        try row.withBytes { (row) throws(StoreError) in try editor.put(name, .inline(row), in: &root) }
      }
    }
    var pages: [(frame: PageNumber, page: UInt64, level: Int)] = []
    collect(root, &pages)
    try reservePages(pages.count)
    try assignPages(&pages, generation, frozen.attempt, &frozen.translation)
    let changes = dirty.takeChanges()
    frozen.catalogFrames = changes.allocated
    freedPages += changes.freedPages
    frozen.pages += pages
    if let reference = frozen.fileReference(root.reference) { root.reference = reference }
    if root.height == 0 { root = .empty }
    catalog = root
    frozen.header.catalog = root
  }

  /// The schema table's row `current`, for the header. [H-3]
  private func tagRow(_ state: CommittedState) throws(StoreError) -> [UInt8] {
    guard let slot = state.directory.slot(named: Array("\0schema".utf8)) else { return [] }
    let key = Array("current".utf8)
    return try key.withBytes { (key) throws(StoreError) in
      guard let entry = try TreeReader.find(key, in: state.roots[slot], memory) else { return [] }
      return Array(try bytes(of: entry))
    }
  }
}
