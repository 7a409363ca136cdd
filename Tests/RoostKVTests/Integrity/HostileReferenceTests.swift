import TestSupport
import Testing

@testable import RoostKV

/// References with good checksums around them that lead where they can't: from headers, the free map, the catalog, leaves.
@Suite struct HostileReferenceTests {
  private static let accesses: [StoreOptions.Access] = [.readWrite, .readOnly]
  private static let firstPage: UInt64 = 20

  private static func boundaries(_ bytes: Int, pageCount: UInt64, old: UInt64) -> [UInt64] {
    let most = bytes == 8 ? UInt64.max : 1 << UInt64(8 * bytes) - 1
    let values: Set<UInt64> = [
      0, 1, firstPage - 1, firstPage, pageCount - 1, pageCount, pageCount + 1, old &+ 1, old &- 1, 32, 33, 255, 1 << 31,
      1 << 32, 1 << 32 + 1, 1 << 47, 1 << 48 - 1, 1 << 48, 1 << 63 - 1, 1 << 63, most - 7, most,
    ]
    return values.filter { $0 <= most && $0 != old }.sorted()
  }

  @Test("[H-1] Every field of the header at every boundary is refused or harmless", arguments: accesses)
  func headerFields(_ access: StoreOptions.Access) throws {
    let sample = try StoreSurgery.sample()
    let pageCount = try sample.header().pageCount
    let fields: [(name: String, offset: Int, bytes: Int)] = [
      ("log2 of the page size", 12, 1), ("journal block", 13, 1), ("generation", 32, 8), ("commit", 40, 8),
      ("next LSN", 48, 8), ("chain", 56, 8), ("journal position", 64, 8), ("page count", 72, 8), ("catalog", 80, 8),
      ("catalog contents", 88, 8), ("catalog generation", 96, 4), ("catalog height", 104, 1), ("next table id", 112, 8),
      ("space twin A", 120, 8), ("space twin B", 128, 8), ("space generation", 136, 4), ("space attempt", 140, 2),
      ("tag length", 152, 2),
    ]
    var refused = 0
    for field in fields {
      let old = sample.integer(field.offset, field.bytes)
      for value in Self.boundaries(field.bytes, pageCount: pageCount, old: old) {
        var changed = sample
        changed.setHeader(field.offset, field.bytes, value)
        if changed.exercise(access, "\(field.name) = \(value)") != nil { refused += 1 }
      }
    }
    #expect(refused > 60)
    #expect(sample.exercise(access, "as it was") == nil)
  }

  @Test(
    "[H-1] [S-5] Space twins outside the state's pages, or the same twice, are a damaged header", arguments: accesses)
  func spaceTwins(_ access: StoreOptions.Access) throws {
    let sample = try StoreSurgery.sample()
    let header = try sample.header()
    for offset in [120, 128] {
      let live = offset == 128 ? UInt64(header.space.bIsLive ? 1 << 63 : 0) : 0
      let other = offset == 120 ? header.space.pageB : header.space.pageA
      for page in [0, 1, Self.firstPage - 1, header.pageCount, 1 << 48 - 1, other] as [UInt64] {
        var changed = sample
        changed.setHeader(offset, 8, page | live)
        #expect(changed.exercise(access, "twin \(offset) = \(page)")?.code == .headerDamaged, "\(page)")
      }
    }
  }

  @Test("[H-5] Two slots of one generation that differ, or of two stores, are a damaged header", arguments: accesses)
  func contradictingSlots(_ access: StoreOptions.Access) throws {
    let sample = try StoreSurgery.sample()
    var changed = sample
    changed.setHeader(40, 8, sample.integer(40, 8) + 1, slots: [4096])
    #expect(changed.exercise(access, "commit")?.code == .headerDamaged)
    changed = sample
    changed.setHeader(16, 8, 5, slots: [0])
    changed.setHeader(32, 8, sample.integer(32, 8) + 1, slots: [0])
    #expect(changed.exercise(access, "store id")?.code == .headerDamaged)
  }

  @Test("[S-5] Every twin of the space page at every boundary is refused before anything is written by it")
  func zoneTwins() throws {
    let sample = try StoreSurgery.sample()
    let header = try sample.header()
    let page = header.space.live
    let start = Int(page) * StoreSurgery.pageSize
    let zone = (a: sample.integer(start + 96, 8), b: sample.integer(start + 104, 8) & (1 << 48 - 1))
    func refusal(_ offset: Int, _ bytes: Int, _ value: UInt64) throws -> StoreError? {
      var changed = sample
      try changed.setPage(page, offset, bytes, value)
      // A reader has no use for the map; its check says what is wrong.
      #expect(changed.exercise(.readOnly, "offset \(offset) = \(value)") == nil)
      return changed.exercise(.readWrite, "offset \(offset) = \(value)")
    }
    for value in [0, Self.firstPage - 1, header.pageCount, 1 << 47, 1 << 48 - 1, zone.b, header.space.pageA, page]
      as [UInt64]
    {
      #expect(try refusal(96, 8, value)?.code == .pageDamaged, "zone twin A = \(value)")
    }
    for value in [0, Self.firstPage - 1, header.pageCount, 1 << 48 - 1, zone.a, page] as [UInt64] {
      #expect(try refusal(104, 8, value)?.code == .pageDamaged, "zone twin B = \(value)")
    }
    // No zones, more than fit, one too many; more free pages than a zone has.
    for count in [0, 2, 125, 126, 65535] as [UInt64] { #expect(try refusal(24, 2, count)?.code == .pageDamaged) }
    #expect(try refusal(120, 4, (4096 - 64) * 8 + 1)?.code == .pageDamaged)
    // A next space page: itself, another, none there.
    for next in [page, zone.a, header.pageCount] as [UInt64] { #expect(try refusal(64, 8, next)?.code == .pageDamaged) }
  }

  @Test("[S-5] A chain of space pages that leads back to its beginning comes to an end")
  func circularSpacePages() throws {
    var sample = try StoreSurgery.sample()
    let header = try sample.header()
    let page = header.space.live
    let start = Int(page) * StoreSurgery.pageSize
    // A full page of twins, all alike, whose next one is itself.
    try sample.setPage(page, 24, 2, 125)
    for entry in 1..<125 {
      for part in 0..<4 {
        try sample.setPage(page, 96 + 32 * entry + 8 * part, 8, sample.integer(start + 96 + 8 * part, 8))
      }
    }
    for part in 0..<4 { try sample.setPage(page, 64 + 8 * part, 8, sample.integer(120 + 8 * part, 8)) }
    #expect(sample.exercise(.readWrite, "circle")?.code == .pageDamaged)
  }

  @Test("[P-2] Roots of tables that lie outside the file's pages are a damaged catalog", arguments: accesses)
  func catalogRows(_ access: StoreOptions.Access) throws {
    let sample = try StoreSurgery.sample()
    let header = try sample.header()
    #expect(header.catalog.height == 1)
    let page = header.catalog.reference.page
    let start = Int(page) * StoreSurgery.pageSize
    let cell = Int(sample.integer(start + 40 + 8 * 2, 2))
    // Two varints of a byte each, no tail: the row lies behind them.
    let row = cell + 2
    #expect(sample.integer(start + row, 4) == 1)
    func refusal(_ offset: Int, _ bytes: Int, _ value: UInt64) throws -> StoreError? {
      var changed = sample
      try changed.setPage(page, row + offset, bytes, value)
      return changed.exercise(access, "row offset \(offset) = \(value)")
    }
    let fileEnd = UInt64(sample.image.bytes.count / StoreSurgery.pageSize)
    for root in [0, 1, Self.firstPage - 1, fileEnd, 1 << 40, 1 << 48 - 1] as [UInt64] {
      #expect(try refusal(8, 6, root)?.code == .catalogDamaged, "root \(root)")
    }
    for id in [0, 2, 3, 1 << 32 - 1] as [UInt64] { #expect(try refusal(0, 4, id)?.code == .catalogDamaged, "id \(id)") }
    for height in [0, 33, 255] as [UInt64] { #expect(try refusal(4, 1, height)?.code == .catalogDamaged) }
    // A root that is another page of the file is met when it is used.
    for root in [Self.firstPage, page, header.space.live] { #expect(try refusal(8, 6, root) == nil) }
    #expect(try refusal(4, 1, 2) == nil)
  }

  @Test("[V-1] A value whose run lies outside the file, or is another, is an error of that value alone")
  func runDescriptors() throws {
    let sample = try StoreSurgery.sample()
    let header = try sample.header()
    // Leaves of table 1 whose entry with the key "key 0" has a run: v is the two bytes FF FF.
    var found = 0
    for page in Self.firstPage..<header.pageCount {
      let start = Int(page) * StoreSurgery.pageSize
      guard sample.integer(start + 20, 1) == 1, sample.integer(start + 32, 4) == 1,
        sample.integer(start + 8, 6) == page
      else { continue }
      let count = Int(sample.integer(start + 24, 2))
      for index in 0..<count {
        let cell = Int(sample.integer(start + 40 + 8 * count + 2 * index, 2))
        guard sample.integer(start + cell + 1, 2) == 0xFFFF else { continue }
        found += 1
        let values = [0, 1, Self.firstPage - 1, header.pageCount, 1 << 48, .max] as [UInt64]
        for (offset, value) in values.map({ (0, $0) }) + [(8, 1 << 40 + 1), (8, .max), (8, 0), (16, 1), (24, 1)] {
          var changed = sample
          try changed.setPage(page, cell + 3 + offset, 8, value)
          for access in Self.accesses { #expect(changed.exercise(access, "descriptor \(offset) = \(value)") == nil) }
          let store = try Store.open(SimulatedDisk(SimulatedMedium(changed.image)), StoreSurgery.options())
          var damaged = 0, whole = 0
          for number in 0..<60 {
            do {
              let value = try store.read { try $0.get("key \(number)", in: try $0.table("a")) }
              if value?.first == UInt8(number) { whole += 1 }
            } catch let error as StoreError {
              #expect(error.code == .runDamaged)
              damaged += 1
            }
          }
          #expect(damaged == 1)
          #expect(whole == 59)
        }
      }
    }
    #expect(found == 3)
  }
}
