import RoostKV
import Synchronization
import TestSupport
import Testing

/// Readers beside a writer, writers in turn, commits that share flushes.
@Suite struct ConcurrencyTests {
  @Test("Tasks that write together share flushes, and lose nothing")
  func groupCommit() async throws {
    let folder = TemporaryDirectory()
    let store = try Store.open(folder.file())
    try await store.write { _ = try $0.createTable("t") }
    let before = try store.stats()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<16 {
        group.addTask {
          for number in 0..<40 {
            try await store.write { try $0.put("\(task) \(number)", "", in: try $0.table("t")) }
          }
        }
      }
      try await group.waitForAll()
    }
    let after = try store.stats()
    #expect(try store.read { try $0.count(try $0.table("t")) } == 640)
    #expect(after.groupsWritten - before.groupsWritten == 640)
    #expect(after.flushes - before.flushes < 640)
    try requireSound(store, "")
  }

  @Test("Readers see whole commits while writers and checkpoints go on")
  func readersBesideWriter() async throws {
    let folder = TemporaryDirectory()
    var options = StoreOptions()
    options.pageSize = 4096
    options.journalBound = 64 << 10
    let store = try Store.open(folder.file(), options)
    try await store.write { transaction in
      let table = try transaction.createTable("t")
      for number in 0..<200 { try transaction.put("key \(number)", "0", in: table) }
    }
    final class Flag: Sendable { let isSet = Atomic(false) }
    let done = Flag()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          while !done.isSet.load(ordering: .relaxed) {
            try store.read { view in
              let table = try view.table("t")
              var values = Set<[UInt8]>()
              try view.forEach(in: table) { _, value in
                values.insert(Array(value))
                return true
              }
              #expect(values.count == 1)
            }
            await Task.yield()
          }
        }
      }
      for round in 1...60 {
        try await store.write(round % 3 == 0 ? .durable : .relaxed) { transaction in
          let table = try transaction.table("t")
          for number in 0..<200 { try transaction.put("key \(number)", "\(round)", in: table) }
        }
      }
      done.isSet.store(true, ordering: .relaxed)
      try await group.waitForAll()
    }
    try requireSound(store, "")
  }

  @Test("A held snapshot's bytes stay, and memory and file stay bounded while everything is rewritten")
  func longReader() throws {
    let folder = TemporaryDirectory()
    var options = StoreOptions()
    options.pageSize = 4096
    options.journalBound = 64 << 10
    let store = try Store.open(folder.file(), options)
    try store.write { transaction in
      let table = try transaction.createTable("t")
      for number in 0..<300 { try transaction.put("key \(number)", [UInt8](repeating: 1, count: 100), in: table) }
    }
    let snapshot = try store.snapshot()
    for round in 0..<400 {
      try store.write(.relaxed) { transaction in
        let table = try transaction.table("t")
        for number in 0..<20 {
          try transaction.put(
            "key \((round * 7 + number) % 300)", [UInt8](repeating: UInt8(round & 255), count: 100), in: table)
        }
      }
    }
    try snapshot.forEach(in: try snapshot.table("t")) { _, value in
      #expect(value.allSatisfy { $0 == 1 })
      return true
    }
    let stats = try store.stats()
    #expect(stats.snapshotCount == 1)
    #expect(stats.pinnedBytes <= 2 << 20)
    #expect(stats.fileBytes <= 4 << 20)
    try requireSound(store, "")
  }

  @Test("A writer that waits too long is told so")
  func lockTimeout() throws {
    var options = StoreOptions()
    options.lockTimeout = .milliseconds(20)
    let store = try Store.inMemory(options)
    let first = try store.beginWrite()
    let error = #expect(throws: (any Error).self) { try store.write { _ in } }
    #expect((error as? StoreError)?.code == .lockTimeout)
    first.rollback()
    try store.write { _ in }
  }
}
