import Foundation
import RoostKV
import TestSupport
import Testing

/// Calls `body` with the bytes of an array; the tree's functions take buffers.
func withBytes<R>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(StoreError) -> R)
  throws(StoreError)
  -> R
{
  let result: Result<R, StoreError> = bytes.withUnsafeBytes { buffer in
    do throws(StoreError) { return .success(try body(buffer)) } catch { return .failure(error) }
  }
  return try result.get()
}

/// The order of keys: bytes, then length.
func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  let order = memcmp(a, b, min(a.count, b.count))
  return order == 0 ? a.count < b.count : order < 0
}

/// What a test expects an entry's value to be.
enum ModelValue: Equatable {
  case inline([UInt8])
  case run(RunDescriptor)

  init(_ entry: LeafCell) {
    self = entry.run.map(ModelValue.run) ?? .inline(Array(entry.inlineValue))
  }
}

/// Keys in order with their values: what a tree should hold.
struct TreeModel: Equatable {
  var keys: [[UInt8]] = []
  var values: [ModelValue] = []

  /// The index of the first key that isn't less.
  func lowerBound(_ key: [UInt8]) -> Int {
    var low = 0
    var high = keys.count
    while low < high {
      let middle = (low + high) / 2
      if precedes(keys[middle], key) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The index of the key itself.
  func index(_ key: [UInt8]) -> Int? {
    let index = lowerBound(key)
    return index < keys.count && keys[index] == key ? index : nil
  }

  func contains(_ key: [UInt8]) -> Bool { index(key) != nil }

  subscript(key: [UInt8]) -> ModelValue? { index(key).map { values[$0] } }

  mutating func put(_ key: [UInt8], _ value: ModelValue) {
    let index = lowerBound(key)
    if index < keys.count, keys[index] == key {
      values[index] = value
    } else {
      keys.insert(key, at: index)
      values.insert(value, at: index)
    }
  }

  mutating func remove(_ key: [UInt8]) {
    guard let index = index(key) else { return }
    keys.remove(at: index)
    values.remove(at: index)
  }

  mutating func removeSubrange(_ range: Range<Int>) {
    keys.removeSubrange(range)
    values.removeSubrange(range)
  }
}

/// A tree in an arena with the tools that change it.
final class TreeFixture {
  let memory: PageMemory
  let dirty: DirtySet
  let editor: TreeEditor
  var root: TreeRoot
  var model = TreeModel()

  init(pageSize: Int, arenaBytes: Int = 1 << 30, table: UInt32 = 7) throws(StoreError) {
    let reservation = try Reservation(reserving: arenaBytes, atLeast: arenaBytes)
    memory = try PageMemory(
      reservation: reservation, fileBytes: 0, pageSize: pageSize, storeSeed: 99, file: nil)
    dirty = DirtySet(memory: memory)
    editor = TreeEditor(dirty)
    root = .empty(table: table)
  }

  @discardableResult
  func put(_ key: [UInt8], _ value: ModelValue) throws(StoreError) -> Bool {
    let replaced = try withBytes(key) { (key) throws(StoreError) in
      switch value {
      case .run(let run): return try editor.put(key, .run(run), in: &root)
      case .inline(let bytes):
        return try withBytes(bytes) { (bytes) throws(StoreError) in
          try editor.put(key, .inline(bytes), in: &root)
        }
      }
    }
    #expect(replaced == model.contains(key))
    model.put(key, value)
    return replaced
  }

  func remove(_ key: [UInt8]) throws(StoreError) {
    let removed = try withBytes(key) { (key) throws(StoreError) in try editor.remove(key, in: &root) }
    #expect(removed == model.contains(key))
    model.remove(key)
  }

  func find(_ key: [UInt8]) throws(StoreError) -> ModelValue? {
    try withBytes(key) { (key) throws(StoreError) in
      try TreeReader.find(key, in: root, memory).map { ModelValue($0) }
    }
  }

  /// Walks the tree, compares it with the model, and the frames in use with those reached.
  func verify(retired: Int = 0, _ location: SourceLocation = #_sourceLocation) {
    var check = TreeCheck(memory)
    var reached: Set<PageNumber> = []
    var keys: [[UInt8]] = []
    var values: [ModelValue] = []
    check.claimPage = { reached.insert($0.page).inserted }
    check.visit = { key, entry in
      keys.append(key)
      values.append(ModelValue(entry))
    }
    check.check(root)
    #expect(check.problems.isEmpty, "\(check.problems.prefix(3))", sourceLocation: location)
    #expect(keys == model.keys, sourceLocation: location)
    #expect(values == model.values, sourceLocation: location)
    #expect(root.count == UInt64(model.keys.count), sourceLocation: location)
    let frames = reached.count { memory.isFrame($0) }
    #expect(memory.arena.count == frames + retired, "frames leak", sourceLocation: location)
  }

  /// A value that goes where the rules say.
  func value(key: [UInt8], length: Int, using generator: inout SplitMix64) -> ModelValue {
    if editor.limits.fitsInline(key: key.count, value: length) { return .inline(generator.bytes(length)) }
    return .run(
      RunDescriptor(
        page: UInt64.random(in: 1000..<1 << 40, using: &generator), length: UInt64(length), salt: 1,
        hash: generator.next()))
  }
}

/// Ways of choosing keys that are hard on pages with prefixes and heads.
enum KeyStyle: CaseIterable, Sendable {
  /// Random bytes of random length, empty among them.
  case random
  /// Few letters, zeros among them: many keys that are prefixes of others.
  case shortAlphabet
  /// Long common beginnings, of which few bytes differ.
  case sharedPrefixes
  /// Equal first 8 bytes, so that heads say nothing.
  case equalHeads
  /// Lengths up to the greatest.
  case long
  case counting

  func key(_ limit: Int, using generator: inout SplitMix64) -> [UInt8] {
    switch self {
    case .random:
      return generator.bytes(Int.random(in: 0...24, using: &generator))
    case .shortAlphabet:
      let length = Int.random(in: 0...14, using: &generator)
      return (0..<length).map { _ in [0, 0, 1, 255][Int.random(in: 0..<4, using: &generator)] }
    case .sharedPrefixes:
      let stem = [UInt8](repeating: 0x61, count: [3, 12, 60, 200][Int.random(in: 0..<4, using: &generator)])
      return stem + generator.bytes(Int.random(in: 0...3, using: &generator))
    case .equalHeads:
      return Array("samehead".utf8)
        + (0..<Int.random(in: 0...6, using: &generator)).map { _ in
          UInt8.random(in: 0...3, using: &generator)
        }
    case .long:
      let length = Int.random(in: 0...limit, using: &generator)
      var key = [UInt8](repeating: 9, count: length)
      for _ in 0..<min(length, 3) {
        key[Int.random(in: 0..<length, using: &generator)] = UInt8.random(in: 8...11, using: &generator)
      }
      return key
    case .counting:
      let number = UInt64.random(in: 0..<40_000, using: &generator)
      return withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
  }
}
