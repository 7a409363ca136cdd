import Foundation
import RoostKV
import TestSupport
import Testing

/// Random work on a store equals the same work on plain dictionaries, through checkpoints, reopenings and large
/// transactions.
@Suite struct StoreModelTests {
  private static func options(_ pageSize: Int, _ pageAccess: StoreOptions.PageAccess = .mapped) -> StoreOptions {
    var options = StoreOptions()
    options.pageAccess = pageAccess
    options.pageSize = pageSize
    options.journalBound = 64 << 10
    options.memoryBound = 1 << 20
    return options
  }

  @Test("Random transactions equal the reference", arguments: Seed.first(4), [4096, 16384])
  func randomTransactions(_ seed: Seed, _ pageSize: Int) throws { try runRandomTransactions(seed, pageSize, .mapped) }

  @Test("So they do with pages that are copied instead of mapped", arguments: Seed.first(3))
  func copiedPages(_ seed: Seed) throws { try runRandomTransactions(seed, 4096, .copied) }

  private func runRandomTransactions(_ seed: Seed, _ pageSize: Int, _ pageAccess: StoreOptions.PageAccess) throws {
    let folder = TemporaryDirectory()
    let path = folder.file()
    var work = RandomOperations(seed, keySpace: 600, longestValue: 9000)
    var reference = ReferenceStore()
    var store = try Store.open(path, Self.options(pageSize, pageAccess))
    for round in 0..<120 {
      let before = reference
      let count = work.generator.oneIn(10) ? 400 : Int.random(in: 1...30, using: &work.generator)
      var transaction = try store.beginWrite()
      for _ in 0..<count { try work.change(&transaction, &reference) }
      if work.generator.oneIn(6) {
        transaction.rollback()
        reference = before
      } else {
        try transaction.commit(work.generator.oneIn(3) ? .relaxed : .durable)
      }
      if work.generator.oneIn(12) { try store.checkpoint() }
      if round % 10 == 9 {
        #expect(try store.read { try ReferenceStore($0) } == reference, "\(seed), round \(round)")
        try requireSound(store, "\(seed), round \(round)")
      }
      if work.generator.oneIn(15) {
        if work.generator.oneIn(2) { try store.close() }
        store = try reopened(consume store, path, Self.options(pageSize, pageAccess))
        #expect(try store.read { try ReferenceStore($0) } == reference, "\(seed), reopened in round \(round)")
      }
    }
    try store.close()
  }

  /// Gives the old store up first: its lock ends with it.
  private func reopened(_ old: consuming Store, _ path: String, _ options: StoreOptions) throws -> Store {
    _ = consume old
    return try Store.open(path, options)
  }

  @Test("What was copied stays readable when the file is destroyed; what was not is refused")
  func copiesSurvive() throws {
    let folder = TemporaryDirectory()
    let path = folder.file()
    try Store.open(path, Self.options(4096)).write { transaction in
      for name in ["seen", "unseen"] {
        let table = try transaction.createTable(name)
        try transaction.put("key", String(repeating: name, count: 20), in: table)
      }
    }
    try Store.open(path).close()
    var options = Self.options(4096, .copied)
    options.access = .readOnly
    let store = try Store.open(path, options)
    let seen = try store.read { try $0.get("key", in: try $0.table("seen")) }
    try #require(truncate(path, 0) == 0)
    #expect(try store.read { try $0.get("key", in: try $0.table("seen")) } == seen)
    let error = #expect(throws: StoreError.self) {
      try store.read { try $0.get("key", in: try $0.table("unseen")) }
    }
    #expect(error?.code == .truncated)
  }

  @Test("A store in memory equals the reference", arguments: Seed.first(3))
  func inMemory(_ seed: Seed) throws {
    var work = RandomOperations(seed, keySpace: 400, longestValue: 9000)
    var reference = ReferenceStore()
    let store = try Store.inMemory(Self.options(4096))
    for round in 0..<100 {
      try store.write { transaction in
        for _ in 0..<20 { try work.change(&transaction, &reference) }
      }
      if round % 20 == 19 {
        #expect(try store.read { try ReferenceStore($0) } == reference, "\(seed), round \(round)")
        try requireSound(store, "\(seed), round \(round)")
      }
    }
  }

  @Test("A transaction larger than memory is written ahead, and given up without a trace")
  func spilling() throws {
    let folder = TemporaryDirectory()
    let path = folder.file()
    let store = try Store.open(path, Self.options(4096))
    let value = [UInt8](repeating: 5, count: 200)
    try store.write { transaction in
      let table = try transaction.createTable("t")
      for number in 0..<100 { try transaction.put("base \(number)", value, in: table) }
    }
    for commits in [false, true] {
      var transaction = try store.beginWrite()
      let table = try transaction.table("t")
      for number in 0..<40_000 { try transaction.put("key \(number &* 7919 % 40_000)", value, in: table) }
      #expect(try transaction.count(table) == 40_100)
      if commits { try transaction.commit() } else { transaction.rollback() }
      try requireSound(store, "")
      #expect(try store.read { try $0.count(try $0.table("t")) } == (commits ? 40_100 : 100))
    }
    try store.close()
    let again = try Store.open(path, Self.options(4096))
    #expect(try again.read { try $0.count(try $0.table("t")) } == 40_100)
    try requireSound(again, "")
  }
}
