import Foundation
import RoostKV
import TestSupport
import Testing

/// How a store ends while others still use it.
@Suite struct CloseTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.journalBound = 64 << 10
    return options
  }

  private static func store(_ path: String) throws -> Store {
    let store = try Store.open(path, options())
    try store.write { try $0.put("key", "value", in: try $0.createTable("t")) }
    return store
  }

  private final class Held { let view: ReadTransaction; init(_ view: consuming ReadTransaction) { self.view = view } }

  private func isLocked(_ path: String) -> Bool {
    do {
      var options = Self.options()
      options.lockTimeout = .zero
      try Store.open(path, options).close()
      return false
    } catch {
      return true
    }
  }

  @Test(
    "The file is locked until the last snapshot of a closed store ends, and free then, though the store is still there")
  func closedUnderSnapshots() throws {
    let folder = TemporaryDirectory()
    let store = try Self.store(folder.file())
    var held: [Held] = [Held(try store.snapshot()), Held(try store.snapshot())]
    try store.close()
    while let snapshot = held.popLast() {
      #expect(isLocked(folder.file()))
      #expect(try snapshot.view.get("key", in: try snapshot.view.table("t")) == Array("value".utf8))
    }
    #expect(!isLocked(folder.file()))
    #expect(throws: StoreError.self) { _ = try store.snapshot() }
  }

  @Test("A store may be dropped while its transaction is open and a checkpoint is due")
  func droppedUnderTransaction() throws {
    let folder = TemporaryDirectory()
    var store: Store? = try Self.store(folder.file())
    for number in 0..<300 {
      try store?.write(.relaxed) { try $0.put("\(number)", [UInt8](repeating: 1, count: 150), in: try $0.table("t")) }
    }
    var transaction = try #require(store).beginWrite()
    store = nil
    #expect(isLocked(folder.file()))
    try transaction.put("last", "one", in: try transaction.table("t"))
    try transaction.commit()
    let again = try Store.open(folder.file(), Self.options())
    #expect(try again.read { try $0.get("last", in: try $0.table("t")) } == Array("one".utf8))
    try requireSound(again, "reopened")
  }

  @Test("A checkpoint that finds no frames to take its pages in leaves a store that goes on and closes")
  func fewFrames() throws {
    let folder = TemporaryDirectory()
    var options = Self.options()
    options.addressSpace = 256 << 20
    options.journalBound = 1 << 30
    let store = try Store.open(folder.file(), options)
    try store.write { _ = try $0.createTable("t") }
    for round in 0..<3 {
      // As many pages as there is memory for: the transaction is told when there is no more.
      var number = 0
      var transaction = try store.beginWrite()
      let table = try transaction.table("t")
      do {
        while number < 20_000 {
          try transaction.put("\(number &* 7919 % 100_003)", [UInt8](repeating: UInt8(round), count: 1000), in: table)
          number += 1
        }
        try transaction.commit()
      } catch {
        #expect(error.code == .sizeLimit)
      }
      try store.checkpoint()
    }
    try store.write { try $0.put("a", "b", in: try $0.table("t")) }
    try requireSound(store, "at the end")
    try store.close()
  }
}
