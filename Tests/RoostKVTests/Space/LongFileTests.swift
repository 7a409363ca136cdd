import Foundation
import RoostKV
import TestSupport
import Testing

/// Files that are longer than their free map describes: space was allocated ahead and no checkpoint came. [F-3]
@Suite struct LongFileTests {
  /// Pages of a zone, for pages of 4,096 bytes.
  private static let zonePages = (4096 - 64) * 8

  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    return options
  }

  private func extend(_ path: String, to pages: Int) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.truncate(atOffset: UInt64(pages) * 4096)
    try file.close()
  }

  @Test(
    "[F-3] A file with space behind its map's zones is opened, written, closed and cut",
    arguments: [0, 1, 7, 9, 40_000])
  func spaceAllocatedAhead(_ more: Int) throws {
    let folder = TemporaryDirectory()
    let path = folder.file()
    try Store.open(path, Self.options()).close()
    try extend(path, to: Self.zonePages + more)
    do {
      let store = try Store.open(path, Self.options())
      try store.write { transaction in
        let table = try transaction.createTable("t")
        for number in 0..<50 { try transaction.put("key \(number)", [UInt8](repeating: 1, count: 3000), in: table) }
      }
      try requireSound(store, "before a checkpoint")
      try store.checkpoint()
      try requireSound(store, "after a checkpoint")
      // Killed here: the store is given up without a close.
    }
    let store = try Store.open(path, Self.options())
    #expect(try store.read { try $0.count(try $0.table("t")) } == 50)
    try store.write { _ = try $0.delete("key 1", in: try $0.table("t")) }
    try requireSound(store, "reopened")
    try store.close()
    let reader = try Store.open(path, StoreOptions(access: .readOnly))
    #expect(try reader.read { try $0.count(try $0.table("t")) } == 49)
    #expect(try reader.check().isSound)
    #expect(try reader.stats().fileBytes < 2 << 20, "the space at the end was given back")
  }

  @Test("[F-3] [S-1] Commits whose runs lie behind the header's zones survive the end of the process")
  func runsBehindTheMap() throws {
    let folder = TemporaryDirectory()
    let path = folder.file()
    let value = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try Store.open(path, Self.options()).close()
    try extend(path, to: Self.zonePages - 50)
    do {
      let store = try Store.open(path, Self.options())
      for number in 0..<3 {
        // Takes space behind the file's end only: the first run lies across the end of the zone.
        var transaction = try store.beginWriteKeepingFile()
        try transaction.put("run \(number)", value, in: try transaction.createTableIfMissing("t"))
        try transaction.commit(.relaxed) as Void
      }
      #expect(try store.stats().fileBytes > UInt64(Self.zonePages * 4096))
      // The process ends here.
    }
    let store = try Store.open(path, Self.options())
    try requireSound(store, "reopened")
    try store.write { _ = try $0.delete("run 0", in: try $0.table("t")) }
    try store.checkpoint()
    try requireSound(store, "after a checkpoint")
    for number in 1..<3 {
      #expect(try store.read { try $0.get("run \(number)", in: try $0.table("t")) } == value)
    }
    try store.close()
    let again = try Store.open(path, Self.options())
    try requireSound(again, "closed and opened")
    #expect(try again.read { try $0.count(try $0.table("t")) } == 2)
  }
}
