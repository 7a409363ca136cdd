import TestSupport
import Testing

@testable import RoostKV

/// Pages that the engine writes, read by a decoder made from SPEC.md alone.
@Suite struct PageFormatTests {
  /// Walks the stored pages from the root by the decoder; throws at the first thing that isn't as SPEC.md has it.
  private struct Walk {
    let tree: StoredTree
    var keys: [[UInt8]] = []
    var values: [ModelValue] = []
    var runs = 0

    mutating func visit(_ reference: SpecPage.Reference, level: Int, lower: [UInt8]?, upper: [UInt8]?) throws {
      let bytes = try #require(tree.pages[reference.page], "page \(reference.page) isn't there")
      let page: SpecPage
      do { page = try SpecPage(bytes) } catch {
        Issue.record("\(error)\n\(StoredTree.text(bytes))")
        return
      }
      // [P-1] The page repeats what refers to it.
      #expect(page.number == reference.page)
      #expect(page.attempt == reference.attempt)
      #expect(page.generation == reference.generation)
      #expect(Int(page.level) == level)
      #expect(page.table == UInt64(tree.root.table))
      let stored = (0..<8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[$1]) }
      let hash = bytes[8...].withUnsafeBytes { XXH3.hash($0, seed: StoredTree.seed &+ reference.page) }
      #expect(stored == hash)
      // [T-4] Keys ascend, within the bounds of the parents.
      for (key, next) in zip(page.keys, page.keys.dropFirst()) where level == 0 || key != page.keys[0] {
        #expect(precedes(key, next))
      }
      for key in level == 0 ? page.keys[...] : page.keys.dropFirst() {
        #expect(key.count <= StoredTree.pageSize / 4)
        if let lower { #expect(!precedes(key, lower)) }
        if let upper { #expect(precedes(key, upper)) }
      }
      if level == 0 {
        #expect(UInt64(page.keys.count) == reference.count, "[T-6]")
        keys += page.keys
        values += page.values.map { value in
          switch value {
          case .inline(let bytes): .inline(bytes)
          case .run(let page, let length, let salt, let hash):
            .run(RunDescriptor(page: page, length: length, salt: salt, hash: hash))
          }
        }
        let hasRuns = page.values.contains { if case .run = $0 { true } else { false } }
        #expect(!hasRuns || reference.hasRuns, "[T-6]")
        if hasRuns { runs += 1 }
      } else {
        #expect(page.children.reduce(0) { $0 + $1.count } == reference.count, "[T-6]")
        #expect(!page.children.contains { $0.hasRuns } || reference.hasRuns, "[T-6]")
        for (index, child) in page.children.enumerated() {
          #expect(child.zero == 0)
          try visit(
            child, level: level - 1, lower: index == 0 ? lower : page.keys[index],
            upper: index + 1 < page.keys.count ? page.keys[index + 1] : upper)
        }
      }
    }
  }

  private func expectReadable(_ fixture: TreeFixture) throws -> Walk {
    let tree = try StoredTree(fixture)
    var walk = Walk(tree: tree)
    let root = tree.root.reference
    try walk.visit(
      SpecPage.Reference(
        page: root.page, attempt: UInt64(root.attempt), count: root.count, hasRuns: root.hasRuns,
        generation: UInt64(root.generation), zero: 0),
      level: Int(tree.root.height) - 1, lower: nil, upper: nil)
    #expect(walk.keys == fixture.model.keys)
    #expect(walk.values == fixture.model.values)
    return walk
  }

  @Test(
    "[P-3] [T-1] [T-2] [T-3] Pages changed in place are as SPEC.md has them", arguments: KeyStyle.allCases,
    Seed.first(2))
  func editedPages(_ style: KeyStyle, _ seed: Seed) throws {
    var generator = seed.generator
    let tree = try TreeFixture(pageSize: StoredTree.pageSize)
    for round in 0..<5 {
      for _ in 0..<250 {
        let key = style.key(1024, using: &generator)
        if round % 2 == 1, generator.oneIn(3) {
          try tree.remove(tree.model.keys.randomElement(using: &generator) ?? key)
        } else {
          let length = generator.oneIn(15) ? 4000 : Int.random(in: 0...180, using: &generator)
          try tree.put(key, tree.value(key: key, length: length, using: &generator))
        }
      }
      _ = try expectReadable(tree)
    }
  }

  @Test("[T-6] Counts and run bits add up over three levels")
  func threeLevels() throws {
    let fixture = try TreeFixture.threeLevels()
    #expect(fixture.root.height >= 3)
    #expect(try expectReadable(fixture).runs > 1)
  }

  @Test("The decoder notices what SPEC.md forbids")
  func decoderRefuses() throws {
    let fixture = try TreeFixture(pageSize: StoredTree.pageSize)
    for number in 0..<3 as Range<UInt8> { try fixture.put([number], .inline([number])) }
    let tree = try StoredTree(fixture)
    let page = try #require(tree.pages[tree.last])
    _ = try SpecPage(page)
    // Count, unused bytes, cell area, the gap, a head's fill, a slot.
    for (offset, value) in [(24, 0), (26, 1), (28, 20), (500, 1), (40, 1), (64, 0)] as [(Int, UInt8)] {
      var changed = page
      changed[offset] = value
      #expect(throws: SpecPage.Violation.self, "offset \(offset)") { _ = try SpecPage(changed) }
    }
  }

  @Test("A page as text names its header, keys and values")
  func text() throws {
    let fixture = try TreeFixture(pageSize: StoredTree.pageSize)
    for name in ["prefix-a", "prefix-b, longer", "prefix-c"] { try fixture.put(Array(name.utf8), .inline([0x78, 10])) }
    try fixture.put(Array("prefix-d".utf8), .run(RunDescriptor(page: 77, length: 9000, salt: 1, hash: 2)))
    let tree = try StoredTree(fixture)
    let text = StoredTree.text(try #require(tree.pages[tree.last]))
    #expect(text.hasPrefix("page 20, generation 3, attempt 4660, leaf, level 0, table 7\n4 entries, cells from "))
    #expect(text.contains("key 9 r: value x\\x0a") || text.contains("longer: value x\\x0a"))
    #expect(text.contains("run at page 77 of 9000 bytes"))
    #expect(text.split(separator: "\n").count >= 6)
  }
}
