import RoostKV
import TestSupport
import Testing

/// Damaged files give typed errors or right answers, never a trap, a hang or wrong data passed off as good.
@Suite struct HostileFileTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.addressSpace = 64 << 20
    return options
  }

  /// A small store with all that a file can hold: trees of several levels, runs, a journal with groups in two segments.
  private func image() throws -> (DiskImage, ReferenceStore) {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))
    let store = try Store.open(SimulatedDisk(medium), Self.options())
    var reference = ReferenceStore()
    var work = RandomOperations(Seed(11), keySpace: 300, longestValue: 9000)
    for round in 0..<12 {
      try store.write { transaction in
        for _ in 0..<25 { try work.change(&transaction, &reference) }
      }
      if round == 5 { try store.checkpoint() }
    }
    return (medium.killImage, reference)
  }

  private func judge(_ image: DiskImage, _ reference: ReferenceStore, _ what: String) {
    do throws(StoreError) {
      let store = try Store.open(SimulatedDisk(SimulatedMedium(image)), Self.options())
      _ = try? store.check()
      let found = try? store.read { try ReferenceStore($0) }
      guard let found, found != reference else { return }
      // A torn tail is cut off at a commit: what is there must be an older state, whose rows were all true once. Only rot of the
      // last groups can do this, and only when nothing later proves them flushed.
      #expect(try! store.stats().commitNumber < 12, "\(what): wrong rows without an error")
    } catch {
      #expect(error.code != .unsupported, "\(what): \(error)")
    }
  }

  @Test("A flipped bit anywhere is noticed or harmless", arguments: Seed.first(2))
  func flippedBits(_ seed: Seed) throws {
    let (image, reference) = try image()
    var random = seed.generator
    for _ in 0..<400 {
      var damaged = image
      let byte = Int.random(in: 0..<image.bytes.count, using: &random)
      damaged.bytes[byte] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      judge(damaged, reference, "\(seed), byte \(byte)")
    }
  }

  @Test("Zeroed, swapped and stale pages, and every sort of truncation, are noticed or harmless")
  func pages() throws {
    let (image, reference) = try image()
    let count = image.bytes.count / 4096
    for page in 0..<count {
      var damaged = image
      damaged.bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: repeatElement(0, count: 4096))
      judge(damaged, reference, "page \(page) zeroed")
      damaged = image
      let other = (page * 7 + 3) % count
      let bytes = image.bytes[other * 4096..<(other + 1) * 4096]
      damaged.bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: bytes)
      judge(damaged, reference, "page \(page) overwritten with \(other)")
      damaged = DiskImage(Array(image.bytes.prefix(page * 4096 + page)))
      judge(damaged, reference, "cut off in page \(page)")
    }
  }
}
