import RoostKV
import Synchronization
import TestSupport
import Testing

/// Tasks and threads that wait for their turn to write: who gives up, and that nobody is forgotten.
@Suite struct WriterTurnTests {
  private static func store(timeout: Duration) throws -> Store {
    var options = StoreOptions()
    options.lockTimeout = timeout
    options.addressSpace = 1 << 32
    let store = try Store.inMemory(options)
    try store.write { _ = try $0.createTable("t") }
    return store
  }

  @Test("A task that waits too long is told so, and others get their turn")
  func taskTimesOut() async throws {
    let store = try Self.store(timeout: .milliseconds(50))
    let holder = try store.beginWrite()
    await #expect { try await store.write { try $0.put("a", "1", in: try $0.table("t")) } } throws: {
      ($0 as? StoreError)?.code == .lockTimeout
    }
    holder.rollback()
    try await store.write { try $0.put("a", "2", in: try $0.table("t")) }
    #expect(try store.read { try $0.get("a", in: try $0.table("t")) } == Array("2".utf8))
  }

  @Test("A task that is cancelled while it waits gives its place up")
  func taskIsCancelled() async throws {
    let store = try Self.store(timeout: .seconds(60))
    let holder = try store.beginWrite()
    let task = Task { try await store.write { try $0.put("a", "1", in: try $0.table("t")) } }
    try await Task.sleep(for: .milliseconds(20))
    task.cancel()
    await #expect { try await task.value } throws: { ($0 as? StoreError)?.code == .cancelled }
    let late = Task { try await store.write { try $0.put("a", "2", in: try $0.table("t")) } }
    holder.rollback()
    try await late.value
    #expect(try store.read { try $0.get("a", in: try $0.table("t")) } == Array("2".utf8))
  }

  @Test("Whatever is cancelled and whenever, every task ends, and the others' commits are there")
  func manyTasks() async throws {
    let store = try Self.store(timeout: .seconds(60))
    let done = try await withThrowingTaskGroup(of: Int?.self) { group in
      for number in 0..<60 {
        group.addTask {
          let task = Task {
            try await store.write { transaction in
              try transaction.put("key \(number)", "", in: try transaction.table("t"))
            }
          }
          if number % 3 == 0 { task.cancel() }
          do {
            try await task.value
            return number
          } catch let error as StoreError where error.code == .cancelled {
            return nil
          }
        }
      }
      return try await group.reduce(into: Set<Int>()) { done, number in if let number { done.insert(number) } }
    }
    #expect(done.isSuperset(of: (0..<60).filter { $0 % 3 != 0 }))
    let count = try store.read { try $0.count(try $0.table("t")) }
    #expect(count == done.count)
  }
}
