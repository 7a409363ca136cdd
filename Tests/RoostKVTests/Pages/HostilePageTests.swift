import TestSupport
import Testing

@testable import RoostKV

/// Pages with good checksums and impossible, or merely wrong, content: each is refused, or harms nothing.
///
/// The damaged page is the last of its file, so a read beyond its end ends the process.
@Suite struct HostilePageTests {
  /// What was done to a page.
  private struct Damage {
    var what: String
    var page: [UInt8]
  }

  private static func set(_ page: [UInt8], _ offset: Int, _ count: Int, _ value: UInt64) -> [UInt8] {
    var page = page
    for byte in 0..<count { page[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt64(8 * byte)) }
    return page
  }

  /// The values at and around each limit that a field of so many bytes can have.
  private static func boundaries(_ bytes: Int, _ old: UInt64) -> Set<UInt64> {
    let most = bytes == 8 ? UInt64.max : 1 << UInt64(8 * bytes) - 1
    var values: Set<UInt64> = [0, 1, 8, most, most / 2, most / 2 + 1, old &+ 1, old &- 1]
    for limit in [1024, 4096, 32767] as [UInt64] { values.formUnion([limit - 1, limit, limit + 1]) }
    return values.filter { $0 <= most && $0 != old }
  }

  /// Every field of a leaf or branch with every boundary value.
  private func damages(_ page: [UInt8]) -> [Damage] {
    func integer(_ offset: Int, _ count: Int) -> UInt64 {
      (0..<count).reversed().reduce(0) { $0 << 8 | UInt64(page[offset + $1]) }
    }
    let count = Int(integer(24, 2))
    let isLeaf = page[20] == 1
    var fields: [(name: String, offset: Int, bytes: Int)] = [
      ("place", 8, 8), ("generation", 16, 4), ("kind", 20, 1), ("level", 21, 1), ("prefix", 22, 2), ("count", 24, 2),
      ("unused", 26, 2), ("cell area", 28, 4), ("table", 32, 4), ("zero", 36, 4),
    ]
    let slots = 40 + (isLeaf ? 8 : 32) * count
    for index in Set([0, 1, count / 2, count - 1]).filter({ $0 < count }).sorted() {
      fields.append(("head \(index)", 40 + 8 * index, 8))
      if !isLeaf {
        fields.append(("child \(index)", 40 + 8 * count + 24 * index, 8))
        fields.append(("contents of child \(index)", 48 + 8 * count + 24 * index, 8))
        fields.append(("generation of child \(index)", 56 + 8 * count + 24 * index, 4))
      }
      fields.append(("slot \(index)", slots + 2 * index, 2))
      let cell = Int(integer(slots + 2 * index, 2))
      for byte in 0..<min(4, 4096 - cell) { fields.append(("byte \(byte) of cell \(index)", cell + byte, 1)) }
    }
    return fields.flatMap { field in
      Self.boundaries(field.bytes, integer(field.offset, field.bytes)).sorted().map { value in
        Damage(what: "\(field.name) = \(value)", page: Self.set(page, field.offset, field.bytes, value))
      }
    }
  }

  /// Counts refusals, and wants them to be of the kinds that damage may give.
  private final class Attempts {
    let what: String
    var refusals = 0

    init(_ what: String) { self.what = what }

    func callAsFunction(_ body: () throws(StoreError) -> Void) {
      do throws(StoreError) { try body() } catch {
        refusals += 1
        #expect(error.code == .pageDamaged, "\(what): \(error)")
      }
    }
  }

  /// Does everything that a tree can do; returns how much of it was refused.
  private func exercise(_ tree: StoredTree, _ what: String) -> Int {
    let attempt = Attempts(what)
    let keys = [[], [0], [255]] + stride(from: 0, to: tree.model.keys.count, by: 90).map { tree.model.keys[$0] }
    for key in keys {
      attempt { () throws(StoreError) in
        _ = try withBytes(key) { (key) throws(StoreError) in
          // What is found must lie in memory that can be read.
          try TreeReader.find(key, in: tree.root, tree.memory).map { ModelValue($0) }
        }
      }
      attempt { () throws(StoreError) in
        _ = try withBytes(key) { (key) throws(StoreError) in
          try TreeReader.rank(of: key, orEqual: true, in: tree.root, tree.memory)
        }
      }
    }
    attempt { () throws(StoreError) in try walk(tree, forward: true) }
    attempt { () throws(StoreError) in try walk(tree, forward: false) }
    attempt { () throws(StoreError) in
      var cursor = TreeCursor(tree.root, tree.memory)
      for rank in [0, tree.root.count / 2, tree.root.count - 1] {
        if try cursor.seek(rank: rank) { _ = try cursor.key() }
      }
    }
    var check = TreeCheck(tree.memory)
    check.check(tree.root)
    change(tree, keys, attempt)
    return attempt.refusals
  }

  /// No more steps than there are entries and some: a damaged tree mustn't lead in circles.
  private func walk(_ tree: StoredTree, forward: Bool) throws(StoreError) {
    var cursor = TreeCursor(tree.root, tree.memory)
    var isAtEntry = forward ? try cursor.first() : try cursor.last()
    var steps = 0
    while isAtEntry, steps < 5000 {
      _ = try cursor.key().count
      _ = ModelValue(try cursor.entry())
      isAtEntry = forward ? try cursor.next() : try cursor.previous()
      steps += 1
    }
    #expect(steps < 5000)
  }

  /// Changes of every kind, each in a transaction of its own that is given up.
  private func change(_ tree: StoredTree, _ keys: [[UInt8]], _ attempt: Attempts) {
    let dirty = DirtySet(memory: tree.memory)
    let editor = TreeEditor(dirty)
    func give(_ body: (inout TreeRoot) throws(StoreError) -> Void) {
      var root = tree.root
      attempt { () throws(StoreError) in try body(&root) }
      dirty.abandon()
    }
    for key in keys {
      give { (root) throws(StoreError) in
        try withBytes(key + [1]) { (key) throws(StoreError) in
          let value = [UInt8](repeating: 7, count: 1500)
          _ = try withBytes(value) { (value) throws(StoreError) in try editor.put(key, .inline(value), in: &root) }
        }
      }
      give { (root) throws(StoreError) in
        _ = try withBytes(key) { (key) throws(StoreError) in try editor.remove(key, in: &root) }
      }
      give { (root) throws(StoreError) in
        _ = try withBytes(key) { (key) throws(StoreError) in
          try editor.removeRange(.unbounded, .included(key), in: &root)
        }
      }
      give { (root) throws(StoreError) in
        _ = try withBytes(key) { (key) throws(StoreError) in
          try editor.removeRange(.excluded(key), .unbounded, in: &root)
        }
      }
    }
    give { (root) throws(StoreError) in try editor.removeAll(in: &root) }
    give { (root) throws(StoreError) in
      let builder = try BulkBuilder(dirty, root: root)
      try withBytes([255, 255]) { (key) throws(StoreError) in try builder.append(key, .inline(key)) }
      root = try builder.finish()
    }
    #expect(tree.memory.arena.count == 0, "frames leak")
  }

  @Test("[P-2] [T-2] [T-3] Every field at every boundary is refused or harmless", arguments: [0, 1, 2])
  func fields(_ level: Int) throws {
    let tree = try StoredTree(try TreeFixture.threeLevels(480), lastIs: level)
    #expect(tree.root.height == 3)
    let page = try #require(tree.pages[tree.last])
    #expect(exercise(tree, "as it was") == 0)
    var refused = 0
    let damages = damages(page)
    for damage in damages {
      try tree.plant(damage.page, at: tree.last)
      if exercise(tree, "level \(level), \(damage.what)") > 0 { refused += 1 }
    }
    #expect(refused > damages.count / 3, "\(refused) of \(damages.count) refused")
    #expect(refused < damages.count)
    try tree.restore(tree.last)
    #expect(exercise(tree, "restored") == 0)
  }

  @Test("[P-2] Several fields at once, and random bytes, are refused or harmless", arguments: Seed.first(3))
  func combinations(_ seed: Seed) throws {
    var generator = seed.generator
    for level in 0...2 {
      let tree = try StoredTree(try TreeFixture.threeLevels(480), lastIs: level)
      let page = try #require(tree.pages[tree.last])
      let damages = damages(page)
      for _ in 0..<40 {
        var bytes = page
        // Differences of several damaged pages, taken together.
        for _ in 0..<Int.random(in: 2...4, using: &generator) {
          let damage = try #require(damages.randomElement(using: &generator))
          for (offset, byte) in damage.page.enumerated() where byte != page[offset] { bytes[offset] = byte }
        }
        if generator.oneIn(3) {
          let start = Int.random(in: 40..<4000, using: &generator)
          bytes.replaceSubrange(start..<start + 64, with: generator.bytes(64))
        }
        try tree.plant(bytes, at: tree.last)
        _ = exercise(tree, "\(seed), level \(level)\n\(StoredTree.text(bytes))")
      }
    }
  }

  @Test("[P-2] A page with a wrong checksum is refused wherever it is met")
  func checksum() throws {
    let tree = try StoredTree(try TreeFixture.threeLevels(480), lastIs: 1)
    var page = try #require(tree.pages[tree.last])
    page[3000] ^= 1
    try tree.plant(page, at: tree.last, sealed: false)
    #expect(exercise(tree, "checksum") > 3)
  }
}
