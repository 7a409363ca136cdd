import TestSupport
import Testing

@testable import RoostKV

/// Journals with good checksums that make no sense: damage, found before anything is applied by halves.
@Suite struct HostileJournalTests {
  private static let accesses: [StoreOptions.Access] = [.readWrite, .readOnly]

  /// The records that a builder collects, without the room for the group's header.
  private func records(_ build: (inout GroupBuilder) -> Void) -> [UInt8] {
    var builder = GroupBuilder()
    build(&builder)
    return Array(builder.bytes.dropFirst(GroupHeader.byteCount))
  }

  private func bytes(_ text: String, _ body: (UnsafeRawBufferPointer) -> Void) {
    Array(text.utf8).withUnsafeBytes { body($0) }
  }

  private func create(_ name: String, _ id: UInt32) -> [UInt8] {
    records { $0.createTable(Array(name.utf8), table: id) }
  }

  private func put(_ key: Int, _ value: Int, table: UInt32 = 1) -> [UInt8] {
    records { builder in
      [UInt8](repeating: 1, count: key).withUnsafeBytes { key in
        [UInt8](repeating: 2, count: value).withUnsafeBytes { builder.put(key, $0, table: table) }
      }
    }
  }

  private func putRun(_ key: String, _ run: RunDescriptor) -> [UInt8] {
    records { builder in bytes(key) { builder.putRun($0, run, table: 1) } }
  }

  private func expectDamaged(_ groups: [[UInt8]], _ what: String) throws {
    var store = try StoreSurgery.empty()
    try store.append(groups: groups)
    for access in Self.accesses {
      #expect(store.exercise(access, what)?.code == .journalDamaged, "\(what), \(access)")
    }
  }

  @Test("[J-6] Groups whose records can't be, are damage")
  func recordsThatCannotBe() throws {
    // What is right, so that the others aren't refused for something else.
    var sound = try StoreSurgery.empty()
    try sound.append(groups: [create("t", 1) + put(1024, 960), put(0, 1984), records { $0.dropTable(1) }])
    for access in Self.accesses { #expect(sound.exercise(access, "sound") == nil) }

    let table = create("t", 1)
    try expectDamaged([table + [9, 0, 0, 0, 1, 0, 0, 0]], "an unknown kind")
    try expectDamaged([table + [1, 0, 200, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7]], "a key past the group's end")
    try expectDamaged([table + [1, 0, 1, 0, 1, 0, 0, 0, 255, 255, 255, 255, 7]], "a value past the group's end")
    try expectDamaged([table + [3, 0, 255, 255, 1, 0, 0, 0]], "a deleted key past the group's end")
    try expectDamaged([table + [4, 16, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]], "unknown bounds")
    try expectDamaged([table + [6, 0, 1, 0, 1, 0, 0, 0, 0]], "a drop with a name")
    try expectDamaged([table + put(1025, 0)], "a key that is too long")
    try expectDamaged([table + put(1, 1984)], "a value too long for a leaf")
    try expectDamaged([table + put(1, 1, table: 2)], "a table that isn't there")
    try expectDamaged([put(1, 1)], "a table that isn't there yet")
    try expectDamaged([create("", 1)], "an empty name")
    try expectDamaged([create(String(repeating: "n", count: 256), 1)], "a name of 256 bytes")
    try expectDamaged([records { $0.createTable([0xFF, 0xFE], table: 1) }], "a name that isn't UTF-8")
    try expectDamaged([table + create("t", 2)], "a name twice")
    try expectDamaged([table + create("u", 1)], "an id twice")
    try expectDamaged([create("t", 5) + create("u", 4)], "an id below the next one")
    try expectDamaged(
      [create("t", 1), create("u", 2), records { $0.renameTable(2, to: Array("t".utf8)) }], "a taken name")
    try expectDamaged([table, records { $0.dropTable(2) }], "a drop of no table")
    try expectDamaged([table, records { $0.dropTable(1) }, create("t", 1)], "an id used again")
  }

  @Test("[J-2] [J-6] [V-3] Runs that a journal names lie in the file, and don't add up to more than it")
  func runs() throws {
    let table = create("t", 1)
    for (page, length) in [(0, 10), (19, 10), (24, 10), (1 << 40, 10), (.max, 10), (20, 1 << 40 + 1), (20, .max)]
      as [(UInt64, UInt64)]
    {
      // A later group says that the first was flushed, so its runs aren't read.
      let run = RunDescriptor(page: page, length: length, salt: 1, hash: 2)
      try expectDamaged([table + putRun("key", run), put(1, 1)], "run of \(length) bytes at page \(page)")
    }
    // The last group counts only with whole runs: this one is taken for torn off.
    var torn = try StoreSurgery.empty()
    let run = RunDescriptor(page: 20, length: 10, salt: 1, hash: 2)
    try torn.append(groups: [table, putRun("key", run)])
    for access in Self.accesses { #expect(torn.exercise(access, "a hollow group") == nil) }
    // Thousands of names for one run are more pages than the file has.
    var fraud = try StoreSurgery.empty()
    try fraud.append(groups: [table + (0..<60).flatMap { putRun("key \($0)", run) }])
    for access in Self.accesses {
      let error = fraud.exercise(access, "overlapping runs")
      #expect(error == nil || error?.code == .journalDamaged)
    }
  }

  @Test("[J-9] [O-2] Segments that form no ring, and a position in none of them, are damage")
  func segments() throws {
    let sample = try StoreSurgery.sample()
    let fileBytes = UInt64(sample.image.bytes.count)
    for (offset, values) in [
      (8, [0, 16384 + 4096]), (16, [0, 8192, 65535, 65536 * 2, fileBytes + 4096, 1 << 32, .max]),
      (24, [0, 8, 16384 + 4096, 20 * 4096, fileBytes, fileBytes - 4096, .max - 4095]),
    ] as [(Int, [UInt64])] {
      for value in values {
        var changed = sample
        try changed.setSegment(offset, value)
        for access in Self.accesses {
          #expect(
            changed.exercise(access, "segment \(offset) = \(value)")?.code == .journalDamaged, "\(offset) = \(value)")
        }
      }
    }
    for position in [0, 16384, 16384 + 8184, 16384 + 65544, fileBytes] as [UInt64] {
      var changed = sample
      changed.setHeader(64, 8, position)
      for access in Self.accesses {
        #expect(changed.exercise(access, "position \(position)")?.code == .journalDamaged, "\(position)")
      }
    }
  }
}
