import RoostKV
import TestSupport
import Testing

/// A group that recovery has dropped must not come back when what lies before it has changed. [O-4]
@Suite struct DroppedGroupTests {
  /// Bytes of the first segment's group area, and of the whole segment, for pages of 4,096 bytes.
  private static let segment = 16384..<16384 + 65536

  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.addressSpace = 64 << 20
    options.journalBound = 1 << 20
    return options
  }

  private func open(_ image: DiskImage) throws -> (medium: SimulatedMedium, store: Store) {
    let medium = SimulatedMedium(image)
    return (medium, try Store.open(SimulatedDisk(medium), Self.options()))
  }

  private func keys(_ store: Store) throws -> [String] {
    try store.read { view in
      var keys: [String] = []
      try view.forEach(in: try view.table("t")) { key, _ in
        keys.append(String(decoding: key, as: UTF8.self))
        return true
      }
      return keys
    }
  }

  private func isInFirstSegment(_ sector: Int) -> Bool { Self.segment.contains(sector * DiskState.sector) }

  /// A store whose first segment is full but for some kilobytes; behind its one durable group lies a relaxed one whose run
  /// a power cut took.
  private func hollowGroup() throws -> DiskImage {
    let (medium, store) = try open(DiskImage(try Store.emptyFile(Self.options())))
    try store.write { transaction in
      let table = try transaction.createTable("t")
      try transaction.put("durable", "", in: table)
      let filler = try transaction.createTable("filler")
      for number in 0..<27 { try transaction.put("\(number)", [UInt8](repeating: 1, count: 1950), in: filler) }
    }
    try store.write(.relaxed) { try $0.put("hollow", [UInt8](repeating: 2, count: 9000), in: try $0.table("t")) }
    let state = medium.state
    #expect(state.pendingSectors.contains { isInFirstSegment($0) })
    #expect(state.pendingSectors.contains { !isInFirstSegment($0) })
    return state.crash { isInFirstSegment($0) }
  }

  @Test("[O-4] [J-2] [J-3] Three power cuts: what an open has dropped stays dropped")
  func staysDropped() throws {
    // The second session drops the group without its run. Its own group is too long for what is left of the segment and
    // goes to another one; the zeros that it writes over the place it passes are lost in the second power cut.
    let second = try open(try hollowGroup())
    #expect(try keys(second.store) == ["durable"])
    try second.store.write(.relaxed) { transaction in
      let table = try transaction.table("t")
      for number in 0..<6 { try transaction.put("long \(number)", [UInt8](repeating: 3, count: 1900), in: table) }
    }
    #expect(try second.store.stats().journalSegments == 2)
    let cut = second.medium.state.crash { !isInFirstSegment($0) }
    // The third session finds a state, and adds to it a short group, where the first segment has room; the third power cut
    // tears that group.
    let third = try open(cut)
    let found = try keys(third.store)
    try third.store.write(.relaxed) { try $0.put("short", [UInt8](repeating: 4, count: 1500), in: try $0.table("t")) }
    let state = third.medium.state
    let torn = try #require(state.pendingSectors.first { isInFirstSegment($0) || state.pendingSectors.count < 8 })
    for image in [state.crash { $0 == torn }, state.nothing, state.crash { $0 != torn }] {
      let fourth = try open(image)
      let last = try keys(fourth.store)
      #expect(last == found || last == (found + ["short"]).sorted(), "found \(found), then \(last)")
      #expect(!last.contains("hollow"))
      try requireSound(fourth.store, "")
      // Once more, and for good.
      try fourth.store.write { try $0.put("final", "", in: try $0.table("t")) }
      let fifth = try open(fourth.medium.state.nothing)
      #expect(try keys(fifth.store) == (last + ["final"]).sorted())
      try requireSound(fifth.store, "")
    }
  }

  @Test("[O-4] [O-6] A power cut anywhere in the first write after a drop leaves the old state or the new one")
  func cutWhileOverwriting() throws {
    let hollow = try hollowGroup()
    let (medium, store) = try open(hollow)
    medium.startRecording()
    try store.write { try $0.put("after", "", in: try $0.table("t")) }
    let moments = medium.stopRecording()
    #expect(moments.count > 5)
    var seen = Set<DiskImage>()
    for (index, moment) in moments.enumerated() {
      for image in moment.crashStates(limit: 12, seed: UInt64(index)) where seen.insert(image).inserted {
        let (again, reopened) = try open(image)
        let found = try keys(reopened)
        #expect(found == ["durable"] || found == ["after", "durable"], "moment \(index)")
        try reopened.write { try $0.put("retry", [UInt8](repeating: 2, count: 9000), in: try $0.table("t")) }
        let last = try open(again.state.nothing)
        #expect(try keys(last.store) == (found + ["retry"]).sorted(), "moment \(index)")
        try requireSound(last.store, "moment \(index)")
      }
    }
    #expect(try keys(try open(try #require(moments.last).nothing).store) == ["after", "durable"])
  }

  @Test("[O-6] An open that writes nothing drops the same group each time, and leaves the file alone")
  func idleOpens() throws {
    let hollow = try hollowGroup()
    for _ in 0..<2 {
      let (medium, store) = try open(hollow)
      #expect(try keys(store) == ["durable"])
      try requireSound(store, "")
      #expect(medium.killImage == hollow)
    }
  }
}
