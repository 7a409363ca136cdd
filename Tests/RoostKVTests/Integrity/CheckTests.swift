import RoostKV
import TestSupport
import Testing

/// The check finds a planted fault of each kind, and nothing in a sound store.
@Suite struct CheckTests {
  typealias Kind = CheckReport.Problem.Kind

  private static let fixture = Result { try SalvageFixture(Seed(1)) }

  /// A file under change, whose checksums are made right again.
  private struct Patch {
    var bytes: [UInt8]
    let layout: SalvageLayout

    var seed: UInt64 { bytes[16..<32].withUnsafeBytes { XXH3.hash($0) } }

    mutating func change(_ page: Int, sealed: Bool = true, _ body: (inout [UInt8]) -> Void) {
      var content = bytes.page(page)
      body(&content)
      if sealed { Self.put(content[8...].withUnsafeBytes { XXH3.hash($0, seed: seed &+ UInt64(page)) }, 0, &content) }
      bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: content)
    }

    /// Changes both header slots.
    mutating func changeHeader(_ body: (inout [UInt8]) -> Void) {
      for slot in [0, 4096] {
        var content = Array(bytes[slot..<slot + 512])
        body(&content)
        Self.put(content[..<504].withUnsafeBytes { XXH3.hash($0) }, 504, &content)
        bytes.replaceSubrange(slot..<slot + 512, with: content)
      }
    }

    mutating func writeSegment(_ offset: Int, length: Int, next: Int) {
      for copy in [0, 4096] {
        var content = Array("ROOSTSEG".utf8) + [UInt8](repeating: 0, count: 48)
        for (index, field) in [offset, length, next, 1 << 40, 0, 0].enumerated() {
          Self.put(UInt64(field), 8 + 8 * index, &content)
        }
        let hash = content.withUnsafeBytes { XXH3.hash($0, seed: seed &+ UInt64(offset)) }
        content += [UInt8](repeating: 0, count: 8)
        Self.put(hash, 56, &content)
        bytes.replaceSubrange(offset + copy..<offset + copy + 64, with: content)
      }
    }

    static func put(_ value: UInt64, _ offset: Int, _ bytes: inout [UInt8]) {
      for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
    }
  }

  private static func number(_ bytes: [UInt8], _ offset: Int, _ length: Int) -> Int {
    Int(SalvageLayout.number(bytes, offset, length))
  }

  private func plant(_ kind: Kind, _ patch: inout Patch) throws {
    let leaf = try #require(patch.layout.leaves.max())
    let branch = try #require(patch.layout.branches.max())
    let map = try #require(patch.layout.map.first { patch.bytes[$0 * 4096 + 20] == 3 })
    let children = 40 + 8 * Self.number(patch.bytes, branch * 4096 + 24, 2)
    switch kind {
    case .header: patch.bytes[4096 + 40] ^= 1
    case .length: break
    case .page: patch.change(leaf, sealed: false) { $0[4000] ^= 1 }
    case .stamp: patch.change(leaf) { $0[15] ^= 1 }
    case .level: patch.change(leaf) { ($0[20], $0[21]) = (2, 1) }
    case .outside:
      // The catalog moves to a lower page, so that the page count may end before a leaf.
      let catalog = try #require(patch.layout.catalog.first)
      let free = try #require((24..<leaf).first { !patch.layout.needed.contains($0) })
      let content = patch.bytes.page(catalog)
      patch.change(free) { page in
        page = content
        page[8] = UInt8(free)
      }
      patch.changeHeader { slot in
        slot[80] = UInt8(free)
        Patch.put(UInt64(leaf), 72, &slot)
      }
    case .owner: patch.change(leaf) { $0[32] ^= 64 }
    case .order:
      patch.change(leaf) { page in
        let slots = 40 + 8 * Self.number(page, 24, 2)
        for index in 0..<8 { page.swapAt(40 + index, 48 + index) }
        for index in 0..<2 { page.swapAt(slots + index, slots + 2 + index) }
      }
    case .count: patch.change(branch) { $0[children + 8] ^= 1 }
    case .fill: patch.change(leaf) { $0[26] ^= 1 }
    case .run: patch.bytes[try #require(patch.layout.runs.max()) * 4096 + 1] ^= 1
    case .doubleUse:
      patch.change(branch) { $0.replaceSubrange(children..<children + 24, with: $0[children + 24..<children + 48]) }
    case .freeMap: patch.change(map) { $0[64 + leaf / 8] &= ~(1 << UInt8(leaf & 7)) }
    case .leak:
      let free = try #require(
        (24..<leaf).first {
          !patch.layout.needed.contains($0) && patch.bytes[map * 4096 + 64 + $0 / 8] >> UInt8($0 & 7) & 1 == 0
        })
      patch.change(map) { $0[64 + free / 8] |= 1 << UInt8(free & 7) }
    case .catalog: patch.changeHeader { $0[95] |= 0x80 }
    case .journal:
      let leaf = try #require(patch.layout.leaves.first { !patch.layout.catalog.contains($0 + 1) })
      patch.writeSegment(16384, length: 65536, next: leaf * 4096)
      patch.writeSegment(leaf * 4096, length: 12288, next: 16384)
    }
  }

  @Test("Each kind is found where it was planted", arguments: Kind.allCases)
  func planted(_ kind: Kind) throws {
    let fixture = try Self.fixture.get()
    var patch = Patch(bytes: fixture.image, layout: fixture.layout)
    try plant(kind, &patch)
    let medium = SimulatedMedium(DiskImage(patch.bytes))
    var options = SalvageFixture.options()
    options.access = .readOnly
    let store = try Store.open(SimulatedDisk(medium, writable: false), options)
    if kind == .length { try SimulatedDisk(medium).truncate(to: (SalvageLayout.number(patch.bytes, 72, 8) - 1) * 4096) }
    let report = try store.check()
    #expect(report.problems.contains { $0.kind == kind }, "\(report.problems)")
    if kind != .length { #expect(medium.killImage.bytes == patch.bytes) }
  }

  @Test("A sound store has no problem, and each page is read once")
  func sound() throws {
    let fixture = try Self.fixture.get()
    let store = try Store.open(SimulatedDisk(SimulatedMedium(DiskImage(fixture.image))), SalvageFixture.options())
    try store.write { try $0.put("one more", "row", in: try $0.table("a")) }
    let report = try store.check()
    #expect(report.isSound, "\(report.problems)")
    #expect(report.notices.isEmpty)
    let pages = fixture.layout.leaves.count + fixture.layout.branches.count + fixture.layout.catalog.count
    #expect(report.entriesChecked >= fixture.layout.rows.count)
    // The changed leaf and the branch above it are in memory, and looked at besides.
    #expect(report.pagesChecked <= UInt64(pages + fixture.layout.runs.count + 3))
  }

  @Test("Unequal header slots are a trace of a crash, not a fault")
  func unequalSlots() throws {
    let fixture = try Self.fixture.get()
    var bytes = fixture.image
    let older = try #require(fixture.older.last)
    bytes.replaceSubrange(4096..<4608, with: older[4096..<4608])
    let report = try Store.open(SimulatedDisk(SimulatedMedium(DiskImage(bytes))), SalvageFixture.options()).check()
    #expect(report.isSound)
    #expect(report.notices.map(\.kind) == [.header])
  }
}
