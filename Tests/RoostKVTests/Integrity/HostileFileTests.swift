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

  /// A small store with all that a file can hold: trees of several levels, runs, a journal with groups in two segments. With
  /// it the states after each commit, the first of no commit.
  private func image() throws -> (DiskImage, [ReferenceStore]) {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))
    let store = try Store.open(SimulatedDisk(medium), Self.options())
    var states = [ReferenceStore()]
    var reference = ReferenceStore()
    var work = RandomOperations(Seed(11), keySpace: 300, longestValue: 9000)
    for round in 0..<12 {
      try store.write { transaction in
        for _ in 0..<25 { try work.change(&transaction, &reference) }
      }
      states.append(reference)
      if round == 5 { try store.checkpoint() }
    }
    #expect(try store.stats().commitNumber == 12)
    return (medium.killImage, states)
  }

  /// What may be said of a damaged file.
  private static let damage: Set<StoreError.Code> = [
    .headerDamaged, .pageDamaged, .runDamaged, .journalDamaged, .catalogDamaged, .truncated, .notAStore, .newerFormat,
    .emptyFile,
  ]

  /// Opens, reads and checks; returns whether something was noticed.
  @discardableResult
  private func judge(_ image: DiskImage, _ states: [ReferenceStore], _ what: String) -> Bool {
    do {
      let store = try Store.open(SimulatedDisk(SimulatedMedium(image)), Self.options())
      let isSound = try store.check().isSound
      let commit = try store.stats().commitNumber
      // A torn tail is cut off at a commit: what is there must be the state of that commit. Only rot of the last groups can
      // do this, and only when nothing later proves them flushed. [J-5]
      guard commit <= 12, commit >= 6 else {
        Issue.record("\(what): commit \(commit)")
        return true
      }
      #expect(try store.read { try ReferenceStore($0) } == states[Int(commit)], "\(what): wrong rows without an error")
      return !isSound || commit < 12
    } catch {
      #expect((error as? StoreError).map { Self.damage.contains($0.code) } == true, "\(what): \(error)")
      return true
    }
  }

  @Test("[J-5] A flipped bit anywhere is noticed or harmless", arguments: Seed.first(2))
  func flippedBits(_ seed: Seed) throws {
    let (image, states) = try image()
    var random = seed.generator
    #expect(!judge(image, states, "as it was"))
    var noticed = 0
    for _ in 0..<400 {
      var damaged = image
      let byte = Int.random(in: 0..<image.bytes.count, using: &random)
      damaged.bytes[byte] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      if judge(damaged, states, "\(seed), byte \(byte)") { noticed += 1 }
    }
    #expect(noticed > 10, "only \(noticed) noticed")
  }

  @Test("Zeroed, swapped and stale pages, and every sort of truncation, are noticed or harmless")
  func pages() throws {
    let (image, states) = try image()
    let count = image.bytes.count / 4096
    for page in 0..<count {
      var damaged = image
      damaged.bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: repeatElement(0, count: 4096))
      judge(damaged, states, "page \(page) zeroed")
      damaged = image
      let other = (page * 7 + 3) % count
      let bytes = image.bytes[other * 4096..<(other + 1) * 4096]
      damaged.bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: bytes)
      judge(damaged, states, "page \(page) overwritten with \(other)")
      damaged = DiskImage(Array(image.bytes.prefix(page * 4096 + page)))
      judge(damaged, states, "cut off in page \(page)")
    }
  }
}
