import TestSupport
import Testing

@testable import RoostKV

/// The check of trees: each fault it claims to find, planted alone in a page whose checksum is good.
@Suite struct TreeCheckTests {
  /// A fault, the page that it is planted in, and what the check has to say of which page.
  private struct Fault {
    var rule: String
    var level: Int
    var problem: String
    var plant: (inout Editor) throws -> Void
    /// When not the page itself is to be named.
    var named: ((StoredTree) -> PageNumber)?

    init(
      _ rule: String, level: Int, _ problem: String, named: ((StoredTree) -> PageNumber)? = nil,
      _ plant: @escaping (inout Editor) throws -> Void
    ) {
      self.rule = rule
      self.level = level
      self.problem = problem
      self.named = named
      self.plant = plant
    }
  }

  /// A page's bytes with names for its parts.
  private struct Editor {
    var bytes: [UInt8]

    var count: Int { Int(read(24, 2)) }
    var isLeaf: Bool { bytes[20] == 1 }
    func head(_ index: Int) -> Int { 40 + 8 * index }
    func child(_ index: Int) -> Int { 40 + 8 * count + 24 * index }
    func slot(_ index: Int) -> Int { 40 + (isLeaf ? 8 : 32) * count + 2 * index }
    func cell(_ index: Int) -> Int { Int(read(slot(index), 2)) }

    func read(_ offset: Int, _ count: Int) -> UInt64 {
      (0..<count).reversed().reduce(0) { $0 << 8 | UInt64(bytes[offset + $1]) }
    }

    mutating func write(_ offset: Int, _ count: Int, _ value: UInt64) {
      for byte in 0..<count { bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt64(8 * byte)) }
    }

    mutating func swap(_ a: Int, _ b: Int, _ count: Int) {
      let (x, y) = (read(a, count), read(b, count))
      write(a, count, y)
      write(b, count, x)
    }
  }

  /// Three levels: 0 leaves, 1 branches, 2 the root. Keys are of 8 bytes behind no prefix, so a head is the whole key.
  private func tree() throws -> StoredTree {
    let fixture = try TreeFixture(pageSize: StoredTree.pageSize)
    for number in 0..<4000 as Range<UInt64> {
      let key = withUnsafeBytes(of: (number << 40 &+ 1 << 60).bigEndian) { Array($0) }
      let value: ModelValue =
        number == 2000
        ? .run(RunDescriptor(page: 5000, length: 9000, salt: 1, hash: 2))
        : .inline([UInt8](repeating: UInt8(number & 255), count: number == 2001 ? 1900 : 120))
      try fixture.put(Array(key), value)
    }
    return try StoredTree(fixture, lastIs: 0)
  }

  private static func parent(of page: PageNumber, _ tree: StoredTree) -> PageNumber {
    tree.pages.first { _, bytes in
      let editor = Editor(bytes: bytes)
      return !editor.isLeaf && (0..<editor.count).contains { editor.read(editor.child($0), 6) == page }
    }?.key ?? 0
  }

  private static var faults: [Fault] {
    [
      Fault("T-1", level: 0, "has a head that isn't zero behind the key's end at 0") { page in
        // The cell says a key of 7 bytes, the head keeps its eighth.
        page.bytes[page.cell(0)] = 7
        page.write(page.head(0), 1, 9)
      },
      Fault("T-2", level: 0, "has an entry that leads out of its cell area") { page in
        page.write(page.slot(1), 2, 4095)
        page.bytes[4095] = 8
      },
      Fault("T-2", level: 0, "has overlapping entries") { page in
        page.write(page.slot(0), 2, UInt64(page.cell(1)))
      },
      Fault("T-3", level: 1, "has a key for its first child") { page in page.write(page.head(0), 8, 5) },
      Fault("T-4", level: 0, "has a key out of order at 1") { page in page.swap(page.head(0), page.head(1), 8) },
      Fault("T-4", level: 0, "has a key out of order at 1") { page in
        page.write(page.head(1), 8, page.read(page.head(0), 8))
      },
      Fault("T-4", level: 0, "has a key below its bound at 0") { page in page.write(page.head(0), 8, 1) },
      Fault("T-4", level: 0, "has a key above its bound at") { page in
        page.write(page.head(page.count - 1), 8, .max)
      },
      Fault("T-4", level: 1, "has a key out of order at 2") { page in page.swap(page.head(1), page.head(2), 8) },
      Fault("T-6", level: 0, "entries, not", named: { $0.last }) { page in
        // One entry less than the parent says: the last slot goes, its cell becomes unused bytes.
        let count = page.count
        let slots = (0..<count - 1).map { page.read(page.slot($0), 2) }
        page.write(24, 2, UInt64(count - 1))
        for (index, slot) in slots.enumerated() { page.write(page.slot(index), 2, slot) }
        for offset in 40 + 10 * (count - 1)..<40 + 10 * count { page.bytes[offset] = 0 }
      },
      Fault("T-6", level: 1, "entries below it, not") { page in
        page.write(page.child(0) + 8, 8, page.read(page.child(0) + 8, 8) + 1)
      },
      Fault("T-6", level: 0, "has a run that the reference to it denies") { page in
        // The first cell, of a value of 120 bytes, becomes one with a run.
        let cell = page.cell(0)
        page.bytes[cell + 1] = 0xFF
        page.bytes[cell + 2] = 0xFF
        page.write(cell + 3, 8, 700)
        page.write(cell + 11, 8, 100_000)
      },
      Fault("T-5", level: 0, "has a run for a value that fits a leaf at 0") { page in
        let cell = page.cell(0)
        page.bytes[cell + 1] = 0xFF
        page.bytes[cell + 2] = 0xFF
        page.write(cell + 3, 8, 700)
        page.write(cell + 11, 8, 100)
      },
      Fault("T-7", level: 0, "is empty") { page in page.write(24, 2, 0) },
      Fault("T-7", level: 2, "is a root with one child") { page in
        let child = page.read(page.child(0), 6), stamp = page.read(page.child(0) + 6, 2)
        let contents = page.read(page.child(0) + 8, 8), generation = page.read(page.child(0) + 16, 8)
        let slot = page.read(page.slot(0), 2)
        page.write(24, 2, 1)
        page.write(page.child(0), 6, child)
        page.write(page.child(0) + 6, 2, stamp)
        page.write(page.child(0) + 8, 8, contents)
        page.write(page.child(0) + 16, 8, generation)
        page.write(page.slot(0), 2, slot)
      },
      Fault("P-1", level: 0, "is not the one referred to") { page in page.write(16, 4, 2) },
      Fault("P-1", level: 0, "is not the one referred to") { page in page.write(14, 2, 2) },
      Fault("P-2", level: 0, "has overlapping parts") { page in page.write(28, 4, 50) },
      Fault("P-2", level: 1, "names a child outside the file") { page in page.write(page.child(1), 6, 1 << 40) },
      Fault("P-3", level: 0, "has bytes between slots and cells that aren't zero") { page in
        page.bytes[page.slot(page.count)] = 1
      },
      Fault("G-2", level: 1, "is used more than once", named: { _ in 0 }) { page in
        for part in 0..<3 { page.write(page.child(1) + 8 * part, 8, page.read(page.child(0) + 8 * part, 8)) }
      },
      Fault("section 5", level: 0, "belongs to table 8, not 7") { page in page.write(32, 4, 8) },
    ]
  }

  @Test("[G-2] [P-1] Each fault is found, and named with its page")
  func plantedFaults() throws {
    let tree = try tree()
    #expect(tree.root.height == 3)
    #expect(check(tree).problems.isEmpty)
    for fault in Self.faults { try expectFound(fault, tree) }
    #expect(check(tree).problems.isEmpty)
  }

  private func expectFound(_ fault: Fault, _ tree: StoredTree) throws {
    // A page in the middle of its level; of leaves the last in the file, which lies there too.
    let level = tree.pages(at: fault.level)
    let number = fault.level == 0 ? tree.last : level[level.count / 2]
    var editor = Editor(bytes: try #require(tree.pages[number]))
    try fault.plant(&editor)
    try tree.plant(editor.bytes, at: number)
    let named = fault.named?(tree) ?? number
    let problems = check(tree).problems
    #expect(
      problems.contains { $0.problem.contains(fault.problem) && (named == 0 || $0.page == named) },
      "[\(fault.rule)] \(fault.problem): found \(problems.prefix(4))\n\(StoredTree.text(editor.bytes))")
    try tree.restore(number)
  }

  @Test("[T-3] A separator at the lower bound of its branch leaves its first child no room")
  func separatorAtBound() throws {
    let tree = try tree()
    let branches = tree.pages(at: 1)
    let root = try #require(tree.pages(at: 2).first)
    let rootPage = Editor(bytes: try #require(tree.pages[root]))
    for number in branches {
      var page = Editor(bytes: try #require(tree.pages[number]))
      let index = try #require((0..<rootPage.count).first { rootPage.read(rootPage.child($0), 6) == number })
      guard index > 0 else { continue }
      // The root's separator, as this branch's first key.
      let separator = rootPage.read(rootPage.head(index), 8)
      let length = rootPage.bytes[rootPage.cell(index)]
      page.write(page.head(1), 8, separator)
      page.bytes[page.cell(1)] = length
      try tree.plant(page.bytes, at: number)
      let problems = check(tree).problems
      #expect(
        problems.contains { $0.page == number && $0.problem.contains("has a key at its lower bound") }, "\(problems)")
      try tree.restore(number)
    }
  }

  @Test("[T-5] An inline value that belongs in a run is found")
  func inlineTooLong() throws {
    let fixture = try TreeFixture(pageSize: StoredTree.pageSize)
    // The longest value for a key of one byte; a key that says it is longer makes the two too long together.
    try fixture.put([1], .inline([UInt8](repeating: 0, count: 1983)))
    try fixture.put([2], .inline([1]))
    let tree = try StoredTree(fixture)
    var page = Editor(bytes: try #require(tree.pages[tree.last]))
    // The value's length grows by one into the bytes of the neighbouring cell, which moves to the gap.
    let moved = page.cell(1) - 20
    let old = page.cell(1)
    for offset in 0..<4 { page.bytes[moved + offset] = page.bytes[old + offset] }
    page.write(page.slot(1), 2, UInt64(moved))
    page.write(28, 4, UInt64(moved))
    let cell = page.cell(0)
    let length = 1983 + 2
    page.bytes[cell + 1] = UInt8(0x80 | length >> 8)
    page.bytes[cell + 2] = UInt8(length & 255)
    page.write(page.slot(0), 2, UInt64(cell - 2))
    for offset in 0..<3 { page.bytes[cell - 2 + offset] = page.bytes[cell + offset] }
    try tree.plant(page.bytes, at: tree.last)
    let problems = check(tree).problems
    #expect(problems.contains { $0.problem == "has a value that belongs in a run at 0" }, "\(problems)")
  }

  @Test("[T-6] Runs below a branch that its reference denies are found")
  func runBit() throws {
    let tree = try tree()
    var root = tree.root
    #expect(root.reference.hasRuns)
    root.reference.hasRuns = false
    var check = TreeCheck(tree.memory)
    check.check(root)
    #expect(check.problems.map(\.page) == [root.reference.page])
    #expect(check.problems.first?.problem == "has runs below it that the reference to it denies")
  }

  @Test("[T-7] A root of no height with a page, and one too high, are found")
  func rootOfWrongHeight() throws {
    let tree = try tree()
    for (height, problem) in [(0, "said to be empty"), (40, "40 levels high"), (2, "can't be read")]
      as [(UInt8, String)]
    {
      var root = tree.root
      root.height = height
      var check = TreeCheck(tree.memory)
      check.check(root)
      #expect(check.problems.contains { $0.page == root.reference.page && $0.problem.contains(problem) })
    }
  }

  @Test("A run that its claimer refuses is named with its leaf")
  func refusedRun() throws {
    let tree = try tree()
    var check = TreeCheck(tree.memory)
    var claimed: [PageNumber] = []
    check.claimRun = { run, page in
      claimed.append(page)
      return run.page != 5000
    }
    check.check(tree.root)
    #expect(claimed.count == 1)
    #expect(check.problems.map(\.page) == claimed)
    #expect(check.problems.first?.problem.hasPrefix("names run 5000") == true)
  }

  private func check(_ tree: StoredTree) -> TreeCheck {
    var check = TreeCheck(tree.memory)
    var seen: Set<PageNumber> = []
    check.claimPage = { seen.insert($0.page).inserted }
    check.check(tree.root)
    return check
  }
}
