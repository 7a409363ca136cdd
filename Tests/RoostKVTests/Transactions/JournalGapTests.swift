import RoostKV
import TestSupport
import Testing

/// A lost group in the midst of the journal is no torn tail.
@Suite struct JournalGapTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.addressSpace = 64 << 20
    return options
  }

  /// A store of ten durable commits in the journal, the fifth of which is damaged.
  private func damaged() throws -> DiskImage {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))
    let store = try Store.open(SimulatedDisk(medium), Self.options())
    for number in 1...10 {
      try store.write { try $0.put("key \(number)", "fifth=\(number == 5)", in: try $0.createTableIfMissing("t")) }
    }
    var image = medium.killImage
    let needle = Array("fifth=true".utf8)
    let place = try #require(
      (0..<image.bytes.count - needle.count).first { Array(image.bytes[$0..<$0 + needle.count]) == needle })
    image.bytes[place] ^= 1
    return image
  }

  @Test("[J-4] [X-5] It is damage, also for a reader, and the file stays as it is")
  func refused() throws {
    let image = try damaged()
    for access in [StoreOptions.Access.readWrite, .readOnly] {
      let medium = SimulatedMedium(image)
      var options = Self.options()
      options.access = access
      let error = #expect(throws: StoreError.self) { _ = try Store.open(SimulatedDisk(medium), options) }
      #expect(error?.code == .journalDamaged)
      #expect(error?.remedy.contains("6 transactions from 5 to 10") == true)
      #expect(medium.killImage == image)
    }
  }

  @Test("[J-8] On an explicit order it opens up to the gap, for good")
  func openedUpToGap() throws {
    let medium = SimulatedMedium(try damaged())
    var options = Self.options()
    options.opensUpToJournalGap = true
    let store = try Store.open(SimulatedDisk(medium), options)
    #expect(try store.read { try $0.count(try $0.table("t")) } == 4)
    #expect(try store.stats().transactionsGivenUp == 5...10)
    try store.write { try $0.put("after", "", in: try $0.table("t")) }
    // What lay behind the gap must not come back, nor condemn the store again.
    let again = try Store.open(SimulatedDisk(SimulatedMedium(medium.state.nothing)), Self.options())
    #expect(try again.read { try $0.count(try $0.table("t")) } == 5)
    try requireSound(again, "")
  }

  @Test("[J-4] A group torn within its header, with any length behind, is a torn tail")
  func tornHeader() throws {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))
    do {
      let store = try Store.open(SimulatedDisk(medium), Self.options())
      for number in 1...2 { try store.write { try $0.put("key \(number)", "", in: try $0.createTableIfMissing("t")) } }
    }
    var image = medium.killImage
    let magic = Array("ROOSTGRP".utf8)
    let second = try #require(
      (24_592..<image.bytes.count - 8).first { Array(image.bytes[$0..<$0 + 8]) == magic })
    // LSN 3 behind the second group, and a length that was never written.
    let length = Int(image.bytes[second + 16]) | Int(image.bytes[second + 17]) << 8
    let third = second - 8 + length
    image.bytes.replaceSubrange(third + 8..<third + 24, with: magic + [3, 0, 0, 0, 0, 0, 0, 0])
    image.bytes.replaceSubrange(third + 24..<third + 28, with: [0xF7, 0xEF, 0xFD, 0x08])
    let store = try Store.open(SimulatedDisk(SimulatedMedium(image)), Self.options())
    #expect(try store.read { try $0.count(try $0.table("t")) } == 2)
  }
}
