import TestSupport
import Testing

@testable import RoostKV

/// A write transaction that meets a damaged page is whole or not at all: it can't be committed, and leaves no trace.
@Suite struct DamagedWriteTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.addressSpace = 64 << 20
    return options
  }

  private static func key(_ number: Int) -> [UInt8] {
    Array("a prefix that all of them share ".utf8) + [UInt8(number >> 8), UInt8(number & 255)] + Array("suffix".utf8)
  }

  /// A closed store with a table of two levels, and the numbers of its leaves in key order.
  private func image() throws -> (image: DiskImage, leaves: [UInt64]) {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))
    let store = try Store.open(SimulatedDisk(medium), Self.options())
    try store.write { transaction in
      let table = try transaction.createTable("t")
      for number in 0..<400 {
        try transaction.put(Self.key(number), [UInt8](repeating: UInt8(number & 255), count: 150), in: table)
      }
      _ = try transaction.createTable("other")
    }
    try store.checkpoint()
    let root = try #require(store.core.appended.roots.first { $0.height == 2 })
    let branch = BranchPage(try store.core.memory.page(root.reference, level: 1), 4096)
    let leaves = (0..<branch.count).map { branch.child($0, of: branch.count).page }
    #expect(leaves.count > 10)
    try store.close()
    return (medium.killImage, leaves)
  }

  /// A change of a page, with a checksum that fits.
  private func reseal(_ image: inout DiskImage, _ page: UInt64, _ change: (inout [UInt8]) -> Void) throws {
    let range = Int(page) * 4096..<Int(page + 1) * 4096
    var bytes = Array(image.bytes[range])
    change(&bytes)
    let seed = try #require(image.bytes[16..<32].withUnsafeBytes { StoreID($0) }).seed
    bytes.withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      PageHeader.seal(start, pageSize: 4096, storeSeed: seed, number: page)
    }
    image.bytes.replaceSubrange(range, with: bytes)
  }

  private enum Change: CaseIterable { case put, growingPut, delete, deleteRange, dropTable }

  /// Does a change that needs the damaged leaf; rethrows what it meets.
  private func apply(_ change: Change, _ transaction: inout WriteTransaction, _ table: Table) throws {
    switch change {
    case .put: try transaction.put(Self.key(150), [UInt8](repeating: 9, count: 150), in: table)
    case .growingPut:
      for number in 100..<200 {
        try transaction.put(Self.key(number) + [1], [UInt8](repeating: 9, count: 900), in: table)
      }
    case .delete:
      for number in 100..<200 { try transaction.delete(Self.key(number), in: table) }
    case .deleteRange:
      for number in 100..<200 {
        let range = KeyRange(lower: .included(Self.key(number)), upper: .excluded(Self.key(number) + [0]))
        try transaction.deleteRange(range, in: table)
      }
    case .dropTable: try transaction.dropTable(table)
    }
  }

  /// Changes in two tables around a failing one, then an end; the store must hold the old state or throw.
  private func judge(_ image: DiskImage, _ change: Change, _ what: String) throws -> Bool {
    let medium = SimulatedMedium(image)
    let store = try Store.open(SimulatedDisk(medium), Self.options())
    var transaction = try store.beginWrite()
    let table = try transaction.table("t")
    let other = try transaction.table("other")
    try transaction.put("before", "", in: other)
    try transaction.put(Self.key(0), "changed", in: table)
    var failure: StoreError?
    do { try apply(change, &transaction, table) } catch { failure = error as? StoreError }
    guard let failure else {
      transaction.rollback()
      return false
    }
    #expect(failure.code == .pageDamaged, "\(what): \(failure)")
    // Nothing is done any more, and nothing read: the trees may be half changed.
    let later = #expect(throws: StoreError.self, "\(what)") { try transaction.put("later", "", in: other) }
    #expect(later?.code == .pageDamaged)
    #expect(throws: StoreError.self, "\(what)") { _ = try transaction.get("before", in: other) }
    #expect(throws: StoreError.self, "\(what)") { _ = try transaction.savepoint() }
    do {
      try transaction.commit() as Void
      Issue.record("\(what): a transaction that met damage was committed")
    } catch {
      #expect(error.code == .pageDamaged, "\(what)")
    }
    try expectOldState(store, what)
    // The next writer works.
    try store.write { try $0.put("next", "", in: try $0.table("other")) }
    let again = try Store.open(SimulatedDisk(SimulatedMedium(medium.state.nothing)), Self.options())
    #expect(try again.read { try $0.get("next", in: try $0.table("other")) } == [])
    try expectOldState(again, what)
    return true
  }

  private func expectOldState(_ store: Store, _ what: String) throws {
    try store.read { view in
      #expect(try view.get("before", in: try view.table("other")) == nil, "\(what)")
      #expect(try view.get("later", in: try view.table("other")) == nil, "\(what)")
      let first = try view.get(Self.key(0), in: try view.table("t"))
      #expect(first == [UInt8](repeating: 0, count: 150), "\(what)")
      #expect(try view.count(try view.table("t")) == 400, "\(what)")
    }
  }

  @Test("A page that can't be read ends the transaction that needs it", arguments: [0, 1, 2, 3])
  func unreadable(_ which: Int) throws {
    let change = [Change.put, .growingPut, .delete, .deleteRange][which]
    var (image, leaves) = try image()
    // Leaves around the keys from 100 on.
    for leaf in leaves[4..<9] { image.bytes[Int(leaf) * 4096 + 2000] ^= 1 }
    #expect(try judge(image, change, "\(change)"))
  }

  @Test("A page whose entries contradict each other stops a change midway, which isn't committed")
  func contradictory() throws {
    let (sound, leaves) = try image()
    var failures = 0
    for leaf in leaves[4..<9] {
      for damage in 0..<4 {
        var image = sound
        // Entries of all kinds in one page have one head, so what the first and the last have in common is longer than some.
        try reseal(&image, leaf) { page in
          let count = Int(page[24]) | Int(page[25]) << 8
          let head = Array(page[40..<48]), zeros = [UInt8](repeating: 0, count: 8)
          let cells = (0..<count).map { index in
            Int(page[40 + 8 * count + 2 * index]) | Int(page[41 + 8 * count + 2 * index]) << 8
          }
          // Keys that say that they end with the page's prefix: shorter than what others of the page have in common.
          let isShort: (Int) -> Bool =
            switch damage {
            case 0: { $0 % 3 == 1 }
            case 1: { $0 % 2 == 1 }
            case 2: { $0 == count / 4 || $0 == count / 2 || $0 == count * 3 / 4 }
            default: { _ in false }
            }
          for index in 0..<count {
            page.replaceSubrange(40 + 8 * index..<48 + 8 * index, with: isShort(index) ? zeros : head)
            if isShort(index) { page[cells[index]] = 0 }
          }
        }
        for change in Change.allCases where try judge(image, change, "leaf \(leaf), \(damage), \(change)") {
          failures += 1
        }
      }
    }
    #expect(failures > 0, "no damage was met")
  }

  @Test("Going back to a savepoint from before the damage was met makes the transaction whole again")
  func savepoint() throws {
    var (image, leaves) = try image()
    for leaf in leaves[4..<9] { image.bytes[Int(leaf) * 4096 + 2000] ^= 1 }
    let store = try Store.open(SimulatedDisk(SimulatedMedium(image)), Self.options())
    var transaction = try store.beginWrite()
    let table = try transaction.table("t")
    try transaction.put(Self.key(0), "changed", in: table)
    let point = try transaction.savepoint()
    try transaction.put(Self.key(1), "undone", in: table)
    #expect(throws: StoreError.self) { try transaction.delete(Self.key(150), in: table) }
    #expect(throws: StoreError.self) { _ = try transaction.get(Self.key(0), in: table) }
    try transaction.rollback(to: point)
    #expect(try transaction.get(Self.key(0), in: table) == Array("changed".utf8))
    #expect(try transaction.get(Self.key(1), in: table) == [UInt8](repeating: 1, count: 150))
    try transaction.commit() as Void
    #expect(try store.read { try $0.get(Self.key(0), in: try $0.table("t")) } == Array("changed".utf8))
  }

  @Test("A value in a run whose entry can't be put leaks no pages")
  func runOfAFailedPut() throws {
    let store = try Store.open(
      SimulatedDisk(SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))), Self.options())
    try store.write { _ = try $0.createTable("t") }
    var transaction = try store.beginWrite()
    let table = try transaction.table("t")
    try transaction.put("first", "", in: table)
    // As if every frame were in use: the run is written, then the leaf can't be split.
    let cap = store.core.memory.arena.cap
    store.core.memory.arena.cap = 0
    let error = #expect(throws: StoreError.self) {
      try transaction.put("large", [UInt8](repeating: 1, count: 50_000), in: table)
    }
    #expect(error?.code == .sizeLimit)
    store.core.memory.arena.cap = cap
    #expect(try transaction.get("large", in: table) == nil)
    try transaction.commit() as Void
    try store.checkpoint()
    try requireSound(store, "")
  }
}
