/// Opening: from a path to a store that is ready. SPEC.md section 12.
extension StoreCore {
  /// Opens the store at `path`, or makes one.
  static func open(_ path: String, _ options: StoreOptions, _ runtime: any Runtime) throws(StoreError) -> StoreCore {
    let file: POSIXFile
    switch options.access {
    case .readOnly: file = try POSIXFile(path: path, mode: .readOnly, copies: options.pageAccess == .copied)
    case .readWrite: file = try openForWriting(path, options, runtime)
    }
    return try open(file, options, runtime)
  }

  private static func openForWriting(
    _ path: String, _ options: StoreOptions, _ runtime: any Runtime
  ) throws(StoreError) -> POSIXFile {
    do throws(StoreError) {
      return try POSIXFile(path: path, mode: .readWrite, copies: options.pageAccess == .copied)
    } catch {
      guard error.code == .notFound, options.createIfMissing else { throw error }
    }
    let bytes = try NewStore(options, runtime).bytes()
    // Somebody else may have made it meanwhile; then that one is opened.
    try POSIXFile.createAtomically(path, bytes, permissions: options.fileMode)
    return try POSIXFile(path: path, mode: .readWrite, copies: options.pageAccess == .copied)
  }

  /// Opens the store that a file holds. Closes the file when that fails.
  static func open(
    _ file: any StorageFile, _ options: StoreOptions, _ runtime: any Runtime
  ) throws(StoreError) -> StoreCore {
    do throws(StoreError) {
      if options.access == .readOnly {
        let core = try openReader(file, options, runtime)
        core.ownsFile = true
        return core
      }
      try file.lockForWriting(timeout: options.lockTimeout, runtime)
      do throws(StoreError) {
        let slots = try HeaderSlots(file)
        let (header, slot) = try slots.newest()
        try header.requireWritable(path: file.path)
        let core = try assemble(file, header, slot, slots.bytes[slot], options, runtime)
        try core.finishOpening()
        core.ownsFile = true
        return core
      } catch {
        file.unlockForWriting()
        throw error
      }
    } catch {
      file.close()
      throw error
    }
  }

  /// From the header's state to the newest committed one, for a writer.
  func finishOpening() throws(StoreError) {
    // A reader of an older state that outlived the last writer: nothing of what it may see is touched.
    if header.generation > 1, try file.isPinnedElsewhere(generations: 0...UInt64(header.generation) - 1) {
      pageFloor = freeMap.fileEnd
    }
    for pages in ring.pages(geometry) { try freeMap.hold(pages) }
    try replayJournal()
    if mustCheckpoint { try checkpointLocked() }
  }

  /// Memory, map and ring for a header's state.
  static func assemble(
    _ file: any StorageFile, _ header: Header, _ slot: Int, _ headerBytes: [UInt8], _ options: StoreOptions,
    _ runtime: any Runtime
  ) throws(StoreError) -> StoreCore {
    let geometry = header.geometry
    if options.requirePageSize, options.pageSize != geometry.pageSize {
      throw StoreError(
        .wrongPageSize, "the store has pages of \(geometry.pageSize) bytes, not of \(options.pageSize)",
        remedy: "open it without requiring a page size", path: file.path)
    }
    let fileBytes = try file.size()
    let memory = try pageMemory(file, geometry, header.storeID, options, fileBytes)
    guard fileBytes >> UInt64(geometry.pageShift) <= memory.firstFrame else {
      throw noAddressSpace(fileBytes, file.path)
    }
    memory.fileLimit = fileBytes >> UInt64(geometry.pageShift)
    let reader = FileMapPageReader(file, geometry, storeSeed: memory.storeSeed)
    // Readers have no use for the free map, whose pages are overwritten under them.
    let freeMap =
      options.access == .readOnly
      ? try FreeMap(newStore: geometry) : try FreeMap(header, fileEnd: memory.fileLimit, reader: reader)
    return StoreCore(
      OpenedParts(
        file: file, runtime: runtime, options: options, header: header, headerBytes: headerBytes, memory: memory,
        isInMemory: false,
        session: runtime.randomSeed(), freeMap: freeMap,
        ring: try JournalRing(header, file: file, fileBytes: fileBytes, storeSeed: memory.storeSeed),
        tables: try CatalogTables(header.catalog, nextTableID: header.nextTableID, memory: memory), headerSlot: slot))
  }

  private static func pageMemory(
    _ file: any StorageFile, _ geometry: FileGeometry, _ storeID: StoreID, _ options: StoreOptions, _ fileBytes: UInt64
  ) throws(StoreError) -> PageMemory {
    // Less a sixteenth for frames, half as much again as the file has.
    let (least, overflow) = (Int(clamping: fileBytes) / 2).multipliedReportingOverflow(by: 3)
    guard !overflow, least <= Int.max / 2 else { throw noAddressSpace(fileBytes, file.path) }
    let room = least + (64 << 20)
    let reservation = try Reservation(
      reserving: max(options.addressSpace, room), atLeast: max(room, 256 << 20))
    let arena = Reservation.roundedUp(min(options.addressSpace / 16, reservation.count / 4))
    return try PageMemory(
      reservation: reservation, fileBytes: reservation.count - arena, pageSize: geometry.pageSize,
      storeSeed: storeID.seed, file: file)
  }

  static func noAddressSpace(_ fileBytes: UInt64, _ path: String) -> StoreError {
    StoreError(
      .addressSpace, "the file's \(fileBytes) bytes don't fit the address space that the process has for them",
      remedy: "raise the process's limit of address space, or open the store anew if it has grown since", path: path)
  }

  /// The part of the address space that is the file's was laid out when the store was opened.
  func requireAddressSpace(pages: UInt64) throws(StoreError) {
    guard pages <= memory.firstFrame else {
      throw Self.noAddressSpace(pages << UInt64(geometry.pageShift), file.path)
    }
  }

  /// A store in memory alone. Large values lie in a file of memory, so that the code for them is the same.
  static func inMemory(_ options: StoreOptions, _ runtime: any Runtime) throws(StoreError) -> StoreCore {
    let new = try NewStore(options, runtime)
    let (header, map, _) = try new.initialState()
    let file = try MemoryFile()
    let memory = try pageMemory(file, new.geometry, new.storeID, options, 0)
    try file.grow(to: new.geometry.offset(map.fileEnd))
    memory.fileLimit = map.fileEnd
    let ring = JournalRing(newAt: new.geometry.headerBytes, file: file, storeSeed: memory.storeSeed)
    let core = StoreCore(
      OpenedParts(
        file: file, runtime: runtime, options: options, header: header, headerBytes: header.encoded(), memory: memory,
        isInMemory: true,
        session: runtime.randomSeed(), freeMap: map, ring: ring, tables: .empty, headerSlot: 0))
    core.ownsFile = true
    return core
  }
}

extension Header {
  func requireWritable(path: String) throws(StoreError) {
    guard writerFeatures == 0 else {
      throw StoreError(
        .unsupported, "the store uses features that this version can't write",
        remedy: "open it read-only, or update the library", path: path)
    }
  }
}

/// The two header slots of a file. SPEC.md section 4.
struct HeaderSlots {
  private let file: any StorageFile
  let slots: [HeaderSlot]
  /// The bytes of both, to tell whether they have changed.
  let bytes: [[UInt8]]

  init(_ file: any StorageFile) throws(StoreError) {
    self.file = file
    var bytes: [[UInt8]] = []
    for offset in FileGeometry.slotOffsets { bytes.append(try file.readBytes(FileGeometry.slotBytes, at: offset)) }
    self.bytes = bytes
    slots = bytes.map { $0.withUnsafeBytes { HeaderSlot($0) } }
  }

  /// The newest valid header, and its slot. [H-1, H-2, H-4, H-5]
  func newest() throws(StoreError) -> (header: Header, slot: Int) {
    let size = try file.size()
    if size == 0 {
      throw StoreError(
        .emptyFile, "the file is empty", remedy: "delete it, and open the path again to make a new store",
        path: file.path)
    }
    var valid: [(header: Header, slot: Int)] = []
    for (index, slot) in slots.enumerated() {
      switch slot {
      case .valid(let header): valid.append((header, index))
      case .newerFormat(let version):
        throw StoreError(
          .newerFormat, "a newer version of the library has written the store (format \(version))",
          remedy: "update the library, or the roost tool", path: file.path)
      case .damaged, .foreign: break
      }
    }
    guard let newest = valid.max(by: { $0.header.generation < $1.header.generation }) else { throw noHeader(size) }
    try checkAgreement(valid)
    let needed = newest.header.geometry.offset(newest.header.pageCount)
    guard size >= needed else {
      throw StoreError(
        .truncated, "the file has \(size) bytes, and its header says \(needed)",
        remedy: damageRemedy, path: file.path)
    }
    return newest
  }

  private func checkAgreement(_ valid: [(header: Header, slot: Int)]) throws(StoreError) {
    guard valid.count == 2 else { return }
    let (a, b) = (valid[0].header, valid[1].header)
    let isSameStore = a.storeID == b.storeID && a.geometry == b.geometry && a.journalBlock == b.journalBlock
    guard isSameStore, a.generation != b.generation || bytes[0] == bytes[1] else {
      throw StoreError(
        .headerDamaged, "the two copies of the header contradict each other", remedy: damageRemedy, path: file.path)
    }
  }

  private func noHeader(_ size: UInt64) -> StoreError {
    let isStore = bytes.contains { $0.starts(with: Header.magic) }
    guard isStore else { return bytes[0].withUnsafeBytes { ForeignFile.error($0, path: file.path) } }
    if size < 65536 {
      return StoreError(
        .truncated, "the file has only \(size) bytes", remedy: damageRemedy, path: file.path)
    }
    return StoreError(
      .headerDamaged, "neither copy of the header is what was written", remedy: damageRemedy, path: file.path)
  }
}
