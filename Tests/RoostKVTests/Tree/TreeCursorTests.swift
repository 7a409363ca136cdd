import RoostKV
import TestSupport
import Testing

@Suite struct TreeCursorTests {
  @Test("A cursor goes where a sorted array's index goes", arguments: [4096, 65536], KeyStyle.allCases)
  func moves(pageSize: Int, style: KeyStyle) throws {
    var generator = SplitMix64(seed: 11)
    let tree = try TreeFixture(pageSize: pageSize)
    for _ in 0..<3000 {
      let key = style.key(pageSize / 4, using: &generator)
      try tree.put(
        key, tree.value(key: key, length: Int.random(in: 0...99, using: &generator), using: &generator))
    }
    let model = tree.model
    var cursor = TreeCursor(tree.root, tree.memory)
    let isAnywhere = cursor.isValid
    #expect(!isAnywhere)
    for _ in 0..<500 {
      let key =
        generator.oneIn(2)
        ? style.key(pageSize / 4, using: &generator) : model.keys.randomElement(using: &generator) ?? []
      let lower = model.lowerBound(key)
      let upper = lower + (model.contains(key) ? 1 : 0)
      var index: Int
      let found: Bool
      switch Int.random(in: 0..<7, using: &generator) {
      case 0:
        (index, found) = (lower, try withBytes(key) { (key) throws(StoreError) in try cursor.seek(key) })
      case 1:
        (index, found) = (
          upper, try withBytes(key) { (key) throws(StoreError) in try cursor.seek(behind: key) }
        )
      case 2:
        (index, found) = (
          upper - 1, try withBytes(key) { (key) throws(StoreError) in try cursor.seekBackward(key) }
        )
      case 3:
        (index, found) = (
          lower - 1, try withBytes(key) { (key) throws(StoreError) in try cursor.seekBackward(before: key) }
        )
      case 4: (index, found) = (0, try cursor.first())
      case 5: (index, found) = (model.keys.count - 1, try cursor.last())
      default:
        index = Int.random(in: 0...model.keys.count, using: &generator)
        found = try cursor.seek(rank: UInt64(index))
      }
      #expect(found == model.keys.indices.contains(index))
      let forward = generator.oneIn(2)
      for _ in 0..<Int.random(in: 0..<80, using: &generator) {
        guard try expectAt(index, &cursor, model) else { break }
        index += forward ? 1 : -1
        let moved = forward ? try cursor.next() : try cursor.previous()
        #expect(moved == model.keys.indices.contains(index))
      }
    }
  }

  private func expectAt(_ index: Int, _ cursor: inout TreeCursor, _ model: TreeModel) throws -> Bool {
    let isValid = model.keys.indices.contains(index)
    let isAtEntry = cursor.isValid
    #expect(isAtEntry == isValid)
    guard isValid else { return false }
    let key = Array(try cursor.key())
    let value = ModelValue(try cursor.entry())
    #expect(key == model.keys[index])
    #expect(value == model.values[index])
    return true
  }

  @Test("An empty tree has no entry, and a cursor nowhere says so")
  func emptyTree() throws {
    let tree = try TreeFixture(pageSize: 4096)
    var cursor = TreeCursor(tree.root, tree.memory)
    let found = try [
      cursor.first(), cursor.last(), cursor.next(), cursor.previous(),
      withBytes([]) { (key) throws(StoreError) in try cursor.seek(key) },
    ]
    #expect(!found.contains(true))
    var code: StoreError.Code?
    do throws(StoreError) { _ = try cursor.entry() } catch { code = error.code }
    #expect(code == .cursorInvalid)
  }
}
