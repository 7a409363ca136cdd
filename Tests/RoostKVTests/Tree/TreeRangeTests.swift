import RoostKV
import TestSupport
import Testing

@Suite struct TreeRangeTests {
  enum End: CaseIterable { case unbounded, included, excluded }

  @Test("Removing a range equals removing its entries", arguments: [4096, 65536], KeyStyle.allCases)
  func randomRanges(pageSize: Int, style: KeyStyle) throws {
    for seed in Seed.first(3) {
      var generator = seed.generator
      let tree = try TreeFixture(pageSize: pageSize)
      for _ in 0..<10 {
        for _ in 0..<400 {
          let key = style.key(pageSize / 4, using: &generator)
          let length = generator.oneIn(20) ? pageSize : Int.random(in: 0...150, using: &generator)
          try tree.put(key, tree.value(key: key, length: length, using: &generator))
        }
        try removeRandomRange(tree, style, &generator)
        tree.verify()
      }
    }
  }

  private func removeRandomRange(
    _ tree: TreeFixture, _ style: KeyStyle, _ generator: inout SplitMix64
  ) throws {
    let limit = tree.memory.pageSize / 4
    func key() -> [UInt8] {
      let present = tree.model.keys.randomElement(using: &generator)
      return generator.oneIn(2) ? present ?? [] : style.key(limit, using: &generator)
    }
    let lowerKey = key()
    let upperKey = key()
    let lowerEnd = End.allCases.randomElement(using: &generator) ?? .included
    // Removing all each time would leave little to test.
    let upperEnd =
      lowerEnd == .unbounded ? End.excluded : End.allCases.randomElement(using: &generator) ?? .included
    let start = index(lowerKey, lowerEnd, tree.model, isLower: true)
    let end = max(start, index(upperKey, upperEnd, tree.model, isLower: false))
    let runs = tree.dirty.changes.freedRuns.count
    let removed = try withBytes(lowerKey) { (lower) throws(StoreError) in
      try withBytes(upperKey) { (upper) throws(StoreError) in
        try tree.editor.removeRange(bound(lower, lowerEnd), bound(upper, upperEnd), in: &tree.root)
      }
    }
    #expect(removed == UInt64(end - start))
    let expected = tree.model.values[start..<end].count { if case .run = $0 { true } else { false } }
    #expect(tree.dirty.changes.freedRuns.count - runs == expected)
    tree.model.removeSubrange(start..<end)
  }

  private func index(_ key: [UInt8], _ end: End, _ model: TreeModel, isLower: Bool) -> Int {
    switch end {
    case .unbounded: isLower ? 0 : model.keys.count
    case .included: model.lowerBound(key) + (!isLower && model.contains(key) ? 1 : 0)
    case .excluded: model.lowerBound(key) + (isLower && model.contains(key) ? 1 : 0)
    }
  }

  private func bound(_ key: UnsafeRawBufferPointer, _ end: End) -> TreeEditor.Bound {
    switch end {
    case .unbounded: .unbounded
    case .included: .included(key)
    case .excluded: .excluded(key)
    }
  }

  @Test("Savepoints and rollback bring pages, lists and entries back", arguments: Seed.first(4))
  func savepoints(seed: Seed) throws {
    var generator = seed.generator
    let tree = try TreeFixture(pageSize: 4096)
    var kept: [(DirtySet.Savepoint, TreeRoot, TreeModel, DirtySet.Changes)] = []
    for _ in 0..<40 {
      if generator.oneIn(3) { kept.append((tree.dirty.mark(), tree.root, tree.model, tree.dirty.changes)) }
      for _ in 0..<60 {
        let key = KeyStyle.shortAlphabet.key(1024, using: &generator)
        if generator.oneIn(3) {
          try tree.remove(key)
        } else {
          try tree.put(key, .inline(generator.bytes(90)))
        }
      }
      if generator.oneIn(5) { try removeRandomRange(tree, .shortAlphabet, &generator) }
      if generator.oneIn(3), let index = kept.indices.randomElement(using: &generator) {
        let (savepoint, root, model, changes) = kept[index]
        tree.dirty.rollback(to: savepoint)
        tree.root = root
        tree.model = model
        #expect(tree.dirty.changes.retired == changes.retired)
        #expect(tree.dirty.changes.freedPages == changes.freedPages)
        kept.removeSubrange((index + 1)...)
      }
      tree.verify(retired: Set(tree.dirty.changes.retired).count)
    }
    let changes = tree.dirty.takeChanges()
    #expect(changes.retired.isEmpty)
    #expect(Set(changes.allocated).count == changes.allocated.count)
    #expect(tree.memory.arena.count == changes.allocated.count)
    tree.verify()
  }

  @Test("A transaction given up frees what it made, and nothing else")
  func abandoned() throws {
    var generator = SplitMix64(seed: 3)
    let tree = try TreeFixture(pageSize: 4096)
    for _ in 0..<3000 { try tree.put(generator.bytes(12), .inline(generator.bytes(50))) }
    _ = tree.dirty.takeChanges()
    let (root, model) = (tree.root, tree.model)
    for key in model.keys.prefix(2000) { try tree.remove(key) }
    for _ in 0..<500 { try tree.put(generator.bytes(12), .inline(generator.bytes(50))) }
    #expect(tree.root != root)
    tree.dirty.abandon()
    #expect(tree.dirty.isEmpty)
    tree.root = root
    tree.model = model
    tree.verify()
  }
}
