import RoostKV
import TestSupport
import Testing

@Suite struct TreeOperationsTests {
  @Test(
    "[T-4, T-5, T-6, T-7] A tree does what a sorted array does", arguments: [4096, 65536], KeyStyle.allCases)
  func randomOperations(pageSize: Int, style: KeyStyle) throws {
    for seed in Seed.first(2) {
      var generator = seed.generator
      let tree = try TreeFixture(pageSize: pageSize)
      for round in 0..<12 {
        let removing = round % 4 == 3
        for _ in 0..<300 {
          let key = style.key(pageSize / 4, using: &generator)
          if Int.random(in: 0..<10, using: &generator) < (removing ? 8 : 2) {
            try tree.remove(tree.model.keys.randomElement(using: &generator) ?? key)
          } else {
            try tree.put(key, randomValue(tree, key, &generator))
          }
        }
        tree.verify()
        try lookUp(style, tree, &generator)
      }
      try tree.editor.removeAll(in: &tree.root)
      tree.model = TreeModel()
      tree.verify()
    }
  }

  private func randomValue(_ tree: TreeFixture, _ key: [UInt8], _ generator: inout SplitMix64) -> ModelValue {
    let page = tree.memory.pageSize
    let length =
      switch Int.random(in: 0..<20, using: &generator) {
      case 0: 0
      case 1: Int.random(in: 0...page, using: &generator)
      case 2: max(0, page / 2 - 64 - key.count)
      default: Int.random(in: 0...200, using: &generator)
      }
    return tree.value(key: key, length: length, using: &generator)
  }

  private func lookUp(_ style: KeyStyle, _ tree: TreeFixture, _ generator: inout SplitMix64) throws {
    for _ in 0..<50 {
      let present = tree.model.keys.randomElement(using: &generator)
      for key in [style.key(tree.memory.pageSize / 4, using: &generator), present ?? []] {
        #expect(try tree.find(key) == tree.model[key])
        let rank = try withBytes(key) { (key) throws(StoreError) in
          try TreeReader.rank(of: key, in: tree.root, tree.memory)
        }
        #expect(rank == UInt64(tree.model.lowerBound(key)))
      }
    }
  }

  @Test("[T-4] Keys inserted in order fill the pages", arguments: [true, false])
  func orderedInsertion(ascending: Bool) throws {
    let tree = try TreeFixture(pageSize: 4096)
    for number in 0..<20_000 as Range<UInt32> {
      let key = withUnsafeBytes(of: (ascending ? number : .max - number).bigEndian) { Array($0) }
      _ = try withBytes(key) { (key) throws(StoreError) in
        try tree.editor.put(key, .inline(key), in: &tree.root)
      }
    }
    var check = TreeCheck(tree.memory)
    check.check(tree.root)
    #expect(check.problems.isEmpty)
    #expect(check.entries == 20_000)
    #expect(Double(check.usedBytes[0]) / Double(check.pages[0] * 4096) > 0.95)
  }

  @Test("Pages stay reasonably full when entries go at random")
  func fillAfterRemovals() throws {
    var generator = SplitMix64(seed: 5)
    let tree = try TreeFixture(pageSize: 4096)
    for _ in 0..<8000 {
      let key = generator.bytes(16)
      try tree.put(key, .inline(generator.bytes(40)))
    }
    for key in tree.model.keys.shuffled(using: &generator).dropLast(800) { try tree.remove(key) }
    tree.verify()
    var check = TreeCheck(tree.memory)
    check.check(tree.root)
    #expect(Double(check.usedBytes[0]) / Double(check.pages[0] * 4096) > 0.4)
    for key in tree.model.keys { try tree.remove(key) }
    tree.verify()
    #expect(tree.root == .empty(table: 7))
    #expect(tree.memory.arena.count == 0)
  }

  @Test("[T-4] A key without its page's prefix makes no room for itself by force")
  func keyBesideALongPrefix() throws {
    let tree = try TreeFixture(pageSize: 4096)
    // A leaf full of entries that would not fit without their prefix of 1,000 bytes.
    for number in 0..<60 as Range<UInt8> {
      try tree.put([UInt8](repeating: 50, count: 1000) + [number], .inline([number]))
    }
    tree.verify()
    try tree.put([10], .inline([1]))
    try tree.put([90], .inline([2]))
    try tree.put([UInt8](repeating: 50, count: 500), .inline([3]))
    try tree.put([UInt8](repeating: 50, count: 500) + [51], .inline([4]))
    tree.verify()
  }

  @Test("A throw leaves the tree as it was")
  func tooFewFrames() throws {
    var generator = SplitMix64(seed: 6)
    let tree = try TreeFixture(pageSize: 4096)
    tree.memory.arena.cap = 40
    var failures = 0
    for _ in 0..<4000 {
      let key = generator.bytes(10)
      do throws(StoreError) {
        try tree.put(key, .inline(generator.bytes(100)))
      } catch {
        #expect(error.code == .sizeLimit)
        failures += 1
      }
    }
    #expect(failures > 0)
    tree.verify()
  }

  @Test("[T-5] Keys and values that are too long are refused")
  func limits() throws {
    let tree = try TreeFixture(pageSize: 4096)
    let error = #expect(throws: StoreError.self) {
      try tree.put([UInt8](repeating: 1, count: 1025), .inline([]))
    }
    #expect(error?.code == .keyTooLong)
    try tree.put([UInt8](repeating: 1, count: 1024), .inline([UInt8](repeating: 2, count: 960)))
    let other = #expect(throws: StoreError.self) {
      try tree.put([], .inline([UInt8](repeating: 2, count: 1985)))
    }
    #expect(other?.code == .valueTooLong)
    try tree.put([], .inline([UInt8](repeating: 2, count: 1984)))
    tree.verify()
  }

  @Test("A value may be put that lies in the page it is put into")
  func valueFromTheTree() throws {
    let tree = try TreeFixture(pageSize: 4096)
    var generator = SplitMix64(seed: 8)
    try tree.put([1], .inline(generator.bytes(900)))
    let value = try #require(tree.model[[1]])
    for number in 2..<40 as Range<UInt8> {
      let key = [number]
      try withBytes([1]) { (first) throws(StoreError) in
        guard let entry = try TreeReader.find(first, in: tree.root, tree.memory) else { return }
        _ = try withBytes(key) { (key) throws(StoreError) in
          try tree.editor.put(key, .inline(entry.inlineValue), in: &tree.root)
        }
      }
      tree.model.put(key, value)
    }
    tree.verify()
  }
}
