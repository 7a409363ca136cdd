import Foundation
import TestSupport
import Testing

@testable import RoostKV

/// The worked examples of SPEC.md are what the program writes. Their store has the id 00 01 … 0F and pages of 4,096 bytes.
@Suite struct SpecExampleTests {
  private let geometry = FileGeometry(pageShift: 12)
  private let storeID = (0..<16).map { UInt8($0) }.withUnsafeBytes { StoreID($0) }

  /// The blocks of SPEC.md fenced as `hex NAME`.
  private func example(_ name: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let spec = try String(contentsOf: root.appendingPathComponent("SPEC.md"), encoding: .utf8)
    let start = try #require(spec.range(of: "```hex \(name)\n"), "SPEC.md has no example \(name)")
    let end = try #require(spec.range(of: "\n```", range: start.upperBound..<spec.endIndex))
    return String(spec[start.upperBound..<end.lowerBound])
  }

  /// Sixteen bytes a line behind their offset; lines of zeros are left out.
  private func hex(_ bytes: UnsafeRawBufferPointer) -> String {
    stride(from: 0, to: bytes.count, by: 16).compactMap { offset in
      let line = bytes[offset..<min(offset + 16, bytes.count)]
      guard line.contains(where: { $0 != 0 }) else { return nil }
      return String(format: "%04x ", offset) + line.map { String(format: " %02x", $0) }.joined()
    }.joined(separator: "\n")
  }

  private func expect(_ name: String, _ bytes: UnsafeRawBufferPointer) throws {
    let found = hex(bytes)
    #expect(try example(name) == found, "the program writes\n\(found)")
  }

  @Test("[H-1] [F-2] The header slot of an empty store")
  func header() throws {
    let storeID = try #require(storeID)
    let header = Header(
      geometry: geometry, journalBlock: .sector, storeID: storeID, generation: 1, commit: 0, nextLSN: 1, chain: 0,
      journalPosition: 24576, pageCount: 24, catalog: .empty, nextTableID: 1,
      space: TwinReference(pageA: 20, pageB: 21).swapped(generation: 1, attempt: 0x1234), tag: [])
    try header.encoded().withUnsafeBytes { try expect("header", $0) }
  }

  @Test("[J-2] A group that makes a table and puts an entry into it")
  func group() throws {
    let storeID = try #require(storeID)
    var builder = GroupBuilder()
    builder.createTable(Array("birds".utf8), table: 1)
    Array("owl".utf8).withUnsafeBytes { key in
      Array("flies".utf8).withUnsafeBytes { builder.put(key, $0, table: 1) }
    }
    var bytes = builder.finished()
    _ = GroupHeader.seal(
      &bytes, lsn: 1, chain: 0, durableLSN: 0, session: 0x1122_3344_5566_7788, commit: 1, offset: 24576,
      storeSeed: storeID.seed)
    try bytes.withUnsafeBytes { try expect("group", $0) }
  }

  @Test("[T-2] A leaf of three entries with a common prefix")
  func leaf() throws {
    let storeID = try #require(storeID)
    let memory = try PageMemory(
      reservation: try Reservation(reserving: 16 << 20, atLeast: 16 << 20), fileBytes: 2 << 20, pageSize: 4096,
      storeSeed: storeID.seed, file: try MemoryFile())
    let dirty = DirtySet(memory: memory)
    let builder = try BulkBuilder(dirty, root: .empty(table: 1))
    for (key, value) in [("prefix-a", "1"), ("prefix-b, longer", "two"), ("prefix-c", "")] {
      try Array(key.utf8).withUnsafeBytes { key in
        try Array(value.utf8).withUnsafeBytes { try builder.append(key, .inline($0)) }
      }
    }
    let root = try builder.finish()
    var image = [UInt8](repeating: 0, count: 4096)
    try image.withUnsafeMutableBytes { image in
      try TreePage.stage(
        UnsafeRawPointer(memory.frame(root.reference.page)), to: try #require(image.baseAddress), pageSize: 4096,
        storeSeed: storeID.seed, number: 24, attempt: 0x1234, generation: 2
      ) { (reference) throws(StoreError) in reference }
    }
    try image.withUnsafeBytes { try expect("leaf", $0) }
  }
}
