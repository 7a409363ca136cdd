import TestSupport
import Testing

@testable import RoostKV

/// A store's file that a test changes in places, each time with checksums that fit. Pages of 4,096 bytes.
struct StoreSurgery {
  static let pageSize = 4096
  var image: DiskImage

  static func options(_ access: StoreOptions.Access = .readWrite) -> StoreOptions {
    var options = StoreOptions(access: access)
    options.pageSize = pageSize
    options.addressSpace = 64 << 20
    return options
  }

  /// A closed store with two tables, values in runs among theirs.
  static func sample() throws -> StoreSurgery {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(options())))
    let store = try Store.open(SimulatedDisk(medium), options())
    try store.write { transaction in
      for name in ["a", "b"] {
        let table = try transaction.createTable(name)
        for number in 0..<60 {
          let length = number % 20 == 0 ? 6000 : 100
          try transaction.put("key \(number)", [UInt8](repeating: UInt8(number), count: length), in: table)
        }
      }
    }
    try store.close()
    return StoreSurgery(image: medium.killImage)
  }

  /// An empty store.
  static func empty() throws -> StoreSurgery { StoreSurgery(image: DiskImage(try Store.emptyFile(options()))) }

  func header() throws -> Header {
    guard case .valid(let header) = image.bytes[..<512].withUnsafeBytes({ HeaderSlot($0) }) else {
      throw StoreError(.headerDamaged, "the sample has no header", remedy: "look at the test")
    }
    return header
  }

  func seed() throws -> UInt64 { try header().storeID.seed }

  func integer(_ offset: Int, _ bytes: Int) -> UInt64 {
    (0..<bytes).reversed().reduce(0) { $0 << 8 | UInt64(image.bytes[offset + $1]) }
  }

  mutating func set(_ offset: Int, _ bytes: Int, _ value: UInt64) {
    for byte in 0..<bytes { image.bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt64(8 * byte)) }
  }

  /// Changes a field of both header slots.
  mutating func setHeader(_ offset: Int, _ bytes: Int, _ value: UInt64, slots: [Int] = [0, 4096]) {
    for slot in slots {
      set(slot + offset, bytes, value)
      let checksum = image.bytes[slot..<slot + 504].withUnsafeBytes { XXH3.hash($0) }
      set(slot + 504, 8, checksum)
    }
  }

  /// Changes a field of a page.
  mutating func setPage(_ page: UInt64, _ offset: Int, _ bytes: Int, _ value: UInt64) throws {
    let start = Int(page) * Self.pageSize
    set(start + offset, bytes, value)
    let checksum = image.bytes[start + 8..<start + Self.pageSize].withUnsafeBytes {
      XXH3.hash($0, seed: (try? seed()).map { $0 &+ page } ?? 0)
    }
    set(start, 8, checksum)
  }

  /// Changes a field of both copies of the first segment's header.
  mutating func setSegment(_ offset: Int, _ value: UInt64) throws {
    let segment = Int(try header().geometry.headerBytes)
    for copy in [segment, segment + 4096] {
      set(copy + offset, 8, value)
      let seed = try seed() &+ UInt64(segment)
      set(copy + 56, 8, image.bytes[copy..<copy + 56].withUnsafeBytes { XXH3.hash($0, seed: seed) })
    }
  }

  /// Puts groups of these records into the journal, the first one at the header's position.
  mutating func append(groups: [[UInt8]]) throws {
    let header = try header()
    var offset = header.journalPosition, chain = header.chain
    for (index, records) in groups.enumerated() {
      var group = [UInt8](repeating: 0, count: 64) + records
      while group.count % 8 != 0 { group.append(0) }
      let lsn = header.nextLSN + UInt64(index)
      chain = GroupHeader.seal(
        &group, lsn: lsn, chain: chain, durableLSN: lsn - 1, session: 1, commit: header.commit + 1 + UInt64(index),
        offset: offset, storeSeed: header.storeID.seed)
      image.bytes.replaceSubrange(Int(offset)..<Int(offset) + group.count, with: group)
      offset += UInt64(group.count)
    }
  }

  /// Opens, reads everything, checks, and if it may, writes and closes; returns the first error that opening gave.
  ///
  /// Nothing of it may trap. Errors are told by their kind; `ioError` and the like would mean that damage was met too late.
  func exercise(_ access: StoreOptions.Access, _ what: String) -> StoreError? {
    let allowed: Set<StoreError.Code> = [
      .headerDamaged, .pageDamaged, .catalogDamaged, .journalDamaged, .runDamaged, .truncated, .newerFormat, .sizeLimit,
      .noSpace, .addressSpace, .tableNotFound, .notAStore,
    ]
    func attempt(_ body: () throws -> Void) {
      do { try body() } catch {
        #expect((error as? StoreError).map { allowed.contains($0.code) } == true, "\(what), \(access): \(error)")
      }
    }
    let store: Store
    do throws(StoreError) {
      store = try Store.open(
        SimulatedDisk(SimulatedMedium(image), writable: access == .readWrite), Self.options(access))
    } catch {
      #expect(allowed.contains(error.code), "\(what), \(access): \(error)")
      return error
    }
    attempt { _ = try store.read { try ReferenceStore($0) } }
    attempt { _ = try store.check() }
    guard access == .readWrite else { return nil }
    attempt {
      try store.write { transaction in
        let table = try transaction.createTableIfMissing("a")
        for number in 0..<70 { try transaction.put("key \(number)", [UInt8](repeating: 1, count: 7000), in: table) }
      }
    }
    attempt { try store.write { transaction in try transaction.dropTable(try transaction.table("b")) } }
    attempt { try store.checkpoint() }
    attempt { _ = try store.check() }
    attempt { try store.close() }
    return nil
  }
}
