import RoostKV
import TestSupport
import Testing

@Suite struct BulkBuilderTests {
  @Test("A tree built in bulk holds its input, in full pages", arguments: [4096, 65536], KeyStyle.allCases)
  func build(pageSize: Int, style: KeyStyle) throws {
    var generator = SplitMix64(seed: 21)
    let tree = try TreeFixture(pageSize: pageSize)
    var input = TreeModel()
    for _ in 0..<4000 {
      let key = style.key(pageSize / 4, using: &generator)
      let length = generator.oneIn(50) ? pageSize : Int.random(in: 0...99, using: &generator)
      input.put(key, tree.value(key: key, length: length, using: &generator))
    }
    // In several goes, each at the right edge of what is there.
    var start = 0
    while start < input.keys.count {
      let end = min(input.keys.count, start + Int.random(in: 1...1500, using: &generator))
      tree.root = try append(input, start..<end, to: tree)
      tree.model = TreeModel(keys: Array(input.keys[..<end]), values: Array(input.values[..<end]))
      tree.verify()
      start = end
    }
    // What was built can be changed.
    for key in input.keys.shuffled(using: &generator).prefix(1500) { try tree.remove(key) }
    tree.verify()
  }

  private func append(_ input: TreeModel, _ range: Range<Int>, to tree: TreeFixture) throws -> TreeRoot {
    let builder = try BulkBuilder(tree.dirty, root: tree.root)
    for index in range {
      try withBytes(input.keys[index]) { (key) throws(StoreError) in
        switch input.values[index] {
        case .run(let run): try builder.append(key, .run(run))
        case .inline(let bytes):
          try withBytes(bytes) { (bytes) throws(StoreError) in try builder.append(key, .inline(bytes)) }
        }
      }
    }
    return try builder.finish()
  }

  @Test("Pages are full")
  func fill() throws {
    var generator = SplitMix64(seed: 22)
    let tree = try TreeFixture(pageSize: 8192)
    var input = TreeModel()
    for key in (0..<20_000).map({ _ in generator.bytes(24) }).sorted(by: precedes) {
      input.keys.append(key)
      input.values.append(.inline(generator.bytes(50)))
    }
    tree.root = try append(input, 0..<input.keys.count, to: tree)
    tree.model = input
    tree.verify()
    var check = TreeCheck(tree.memory)
    check.check(tree.root)
    #expect(Double(check.usedBytes[0]) / Double(check.pages[0] * 8192) > 0.97)
    #expect(check.usedBytes.count == 2)
  }

  @Test("Input out of order is refused")
  func unsorted() throws {
    let tree = try TreeFixture(pageSize: 4096)
    let builder = try BulkBuilder(tree.dirty)
    try withBytes([2]) { (key) throws(StoreError) in try builder.append(key, .inline(key)) }
    for key in [[2], [1]] as [[UInt8]] {
      let error = #expect(throws: StoreError.self) {
        try withBytes(key) { (key) throws(StoreError) in try builder.append(key, .inline(key)) }
      }
      #expect(error?.code == .unsortedInput)
    }
  }
}
