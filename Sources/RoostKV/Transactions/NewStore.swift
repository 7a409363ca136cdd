/// The bytes of an empty store. SPEC.md [C-10]
struct NewStore {
  let geometry: FileGeometry
  let journalBlock: StoreOptions.JournalBlock
  let storeID: StoreID
  let attempt: UInt16

  init(_ options: StoreOptions, _ runtime: any Runtime) throws(StoreError) {
    geometry = try FileGeometry(pageSize: options.pageSize)
    journalBlock = options.journalBlock
    storeID = StoreID(runtime.randomSeed(), runtime.randomSeed())
    attempt = UInt16(truncatingIfNeeded: runtime.randomSeed())
  }

  /// The header of the empty state, and the map pages it needs.
  func initialState() throws(StoreError) -> (header: Header, freeMap: FreeMap, pages: [(page: UInt64, bytes: [UInt8])])
  {
    let map = try FreeMap(newStore: geometry)
    let saved = map.save(
      generation: 1, attempt: attempt, seal: MapPageSealer(geometry: geometry, storeSeed: storeID.seed))
    let header = Header(
      geometry: geometry, journalBlock: journalBlock, storeID: storeID, generation: 1, commit: 0, nextLSN: 1, chain: 0,
      journalPosition: geometry.headerBytes + SegmentHeader.groupArea, pageCount: map.fileEnd, catalog: .empty,
      nextTableID: 1, space: saved.root, tag: [])
    return (header, map, saved.pages)
  }

  /// The whole file.
  func bytes() throws(StoreError) -> [UInt8] {
    let (header, map, pages) = try initialState()
    var file = [UInt8](repeating: 0, count: Int(geometry.offset(map.fileEnd)))
    file.withUnsafeMutableBytes { file in
      for offset in FileGeometry.slotOffsets { header.encoded().withUnsafeBytes { file.setPart(Int(offset), $0) } }
      let segment = SegmentHeader(
        offset: geometry.headerBytes, length: FileGeometry.firstSegmentBytes, next: geometry.headerBytes, sequence: 1)
      for copy in SegmentHeader.copyOffsets {
        segment.encoded(storeSeed: storeID.seed).withUnsafeBytes {
          file.setPart(Int(geometry.headerBytes + copy), $0)
        }
      }
      for page in pages { page.bytes.withUnsafeBytes { file.setPart(Int(geometry.offset(page.page)), $0) } }
    }
    return file
  }
}
