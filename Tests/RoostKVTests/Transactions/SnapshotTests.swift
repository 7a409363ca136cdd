import RoostKV
import Synchronization
import TestSupport
import Testing

/// What snapshots hold, and that they hold it.
@Suite struct SnapshotTests {
  private static func store() throws -> Store {
    var options = StoreOptions()
    options.pageSize = 4096
    options.addressSpace = 1 << 32
    let store = try Store.inMemory(options)
    try store.write { _ = try $0.createTable("t") }
    return store
  }

  @Test("Any number of snapshots may be held, each of its own state")
  func manySnapshots() throws {
    let store = try Self.store()
    final class Held { let view: ReadTransaction; init(_ view: consuming ReadTransaction) { self.view = view } }
    var held: [Held] = []
    for number in 0..<300 {
      try store.write { try $0.put("key", "\(number)", in: try $0.table("t")) }
      held.append(Held(try store.snapshot()))
    }
    #expect(try store.stats().snapshotCount == 300)
    #expect(try store.stats().oldestSnapshotCommit == held.first?.view.commitNumber)
    for (number, snapshot) in held.enumerated().shuffled() {
      let value = try snapshot.view.get("key", in: try snapshot.view.table("t"))
      #expect(value == Array("\(number)".utf8))
    }
    held.removeSubrange(0..<150)
    try store.write { try $0.put("key", "last", in: try $0.table("t")) }
    let middle = try store.stats()
    #expect(middle.snapshotCount == 150)
    #expect(middle.oldestSnapshotCommit == held.first?.view.commitNumber)
    #expect(middle.oldestSnapshotAge != nil)
    held = []
    try store.write { try $0.put("key", "very last", in: try $0.table("t")) }
    let end = try store.stats()
    #expect(end.snapshotCount == 0 && end.pinnedBytes == 0 && end.oldestSnapshotAge == nil)
  }

  @Test("Many snapshots of different states pin little memory each")
  func pinnedMemory() throws {
    let folder = TemporaryDirectory()
    var options = StoreOptions()
    options.pageSize = 4096
    options.memoryBound = 1 << 20
    let store = try Store.open(folder.file(), options)
    try store.write { _ = try $0.createTable("t") }
    final class Held { let view: ReadTransaction; init(_ view: consuming ReadTransaction) { self.view = view } }
    var held: [Held] = []
    var generator = SplitMix64(seed: 7)
    for round in 0..<600 {
      try store.write(.relaxed) { transaction in
        let table = try transaction.table("t")
        for _ in 0..<20 {
          let key = "key \(Int.random(in: 0..<20_000, using: &generator))"
          try transaction.put(key, String(repeating: "\(round % 10)", count: 100), in: table)
        }
      }
      if round % 15 == 14 { held.append(Held(try store.snapshot())) }
    }
    let pinned = try store.stats().pinnedBytes
    #expect(pinned > 0)
    #expect(pinned <= (1 << 20) + held.count * (1 << 20) / 4, "\(pinned)")
    held = []
    try store.checkpoint()
    try store.write { try $0.put("key", "", in: try $0.table("t")) }
    #expect(try store.stats().pinnedBytes == 0)
    try requireSound(store, "at the end")
  }

  @Test("A cursor keeps the state of its transaction after that has ended")
  func cursorOutlives() throws {
    let store = try Self.store()
    try store.write { transaction in
      for number in 0..<500 { try transaction.put("\(number)", "old", in: try transaction.table("t")) }
    }
    let cursor = try store.read { try $0.cursor(try $0.table("t")) }
    for _ in 0..<3 {
      try store.write { transaction in
        for number in 0..<500 { try transaction.put("\(number)", "new", in: try transaction.table("t")) }
      }
    }
    var count = 0
    while try cursor.next() {
      #expect(try cursor.value() == Array("old".utf8))
      count += 1
    }
    #expect(count == 500)
  }

  /// Every commit rewrites the same keys with one number; a reader that saw a frame which was given to a later commit
  /// would find two numbers.
  @Test("Snapshots begun and ended by many threads while a writer reuses frames see one commit each")
  func manyThreads() async throws {
    let store = try Self.store()
    let keys = (0..<300).map { "key \($0)" }
    func rewrite(_ number: Int) throws {
      try store.write { transaction in
        let table = try transaction.table("t")
        for key in keys { try transaction.put(key, "\(number)", in: table) }
      }
    }
    try rewrite(0)
    final class Flag: Sendable { let isSet = Atomic(false) }
    let done = Flag()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for reader in 0..<4 {
        group.addTask {
          var generator = SplitMix64(seed: UInt64(reader))
          var seen = 0
          while !done.isSet.load(ordering: .relaxed) {
            let snapshot = try store.snapshot()
            let table = try snapshot.table("t")
            let first = try snapshot.get("key 0", in: table)
            for _ in 0..<20 {
              let key = "key \(Int.random(in: 0..<300, using: &generator))"
              try #require(try snapshot.get(key, in: table) == first)
            }
            seen += 1
            if seen % 64 == 0 { await Task.yield() }
          }
          return seen
        }
      }
      group.addTask {
        for number in 1...400 { try rewrite(number) }
        done.isSet.store(true, ordering: .relaxed)
        return 0
      }
      for try await _ in group {}
    }
    #expect(try store.stats().snapshotCount == 0)
  }
}
