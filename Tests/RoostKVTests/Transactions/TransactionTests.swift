import RoostKV
import TestSupport
import Testing

/// What transactions, cursors and values do, one thing a test.
@Suite struct TransactionTests {
  private func store() throws -> Store { try Store.inMemory() }

  private struct Stop: Error {}

  @Test("A closure that throws rolls back, and the next transaction works")
  func throwing() throws {
    let store = try store()
    #expect(throws: Stop.self) {
      try store.write { transaction in
        try transaction.put("key", "value", in: try transaction.createTable("t"))
        throw Stop()
      }
    }
    #expect(try store.read { try $0.tableNames() } == [])
    try store.write { _ = try $0.createTable("t") }
    #expect(try store.read { try $0.tableNames() } == ["t"])
  }

  @Test("A snapshot sees its commit and nothing later")
  func snapshots() throws {
    let store = try store()
    try store.write { try $0.put("key", "0", in: try $0.createTable("t")) }
    var snapshots: [(Int, () throws -> [UInt8]?)] = []
    for number in 1...30 {
      let snapshot = try store.snapshot()
      let cursor = try snapshot.cursor(try snapshot.table("t"))
      snapshots.append((number - 1, { try cursor.first() ? try cursor.value() : nil }))
      try store.write { try $0.put("key", "\(number)", in: try $0.table("t")) }
    }
    for (number, read) in snapshots { #expect(try read() == Array("\(number)".utf8)) }
  }

  @Test("[T-5] Values of every size around the limits come back", arguments: [4096, 8192, 65536])
  func valueSizes(_ pageSize: Int) throws {
    let folder = TemporaryDirectory()
    var options = StoreOptions()
    options.pageSize = pageSize
    let inline = pageSize / 2 - 64
    let sizes = [
      0, 1, inline - 2, inline - 1, inline, inline + 1, pageSize, 65535, 65536, 65537, 1 << 20, (3 << 20) + 5,
    ]
    func value(_ size: Int) -> [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) } }
    var store: Store? = try Store.open(folder.file(), options)
    for size in sizes {
      try store?.write { transaction in
        try transaction.put(
          [UInt8(truncatingIfNeeded: size)], value(size), in: try transaction.createTableIfMissing("\(size)"))
      }
    }
    for round in 0..<2 {
      for size in sizes {
        let found = try store?.read { try $0.get([UInt8(truncatingIfNeeded: size)], in: try $0.table("\(size)")) }
        #expect(found == value(size), "\(size) bytes, round \(round)")
      }
      if round == 0 {
        try store?.close()
        store = nil
        store = try Store.open(folder.file(), options)
      }
    }
    try requireSound(try #require(store), "")
  }

  @Test("A value of 64 MiB is one span")
  func largeValue() throws {
    let folder = TemporaryDirectory()
    let store = try Store.open(folder.file())
    let value = [UInt8](unsafeUninitializedCapacity: 64 << 20) { buffer, count in
      for index in stride(from: 0, to: buffer.count, by: 4096) {
        buffer[index] = UInt8(truncatingIfNeeded: index >> 12)
      }
      count = buffer.count
    }
    try store.write { try $0.put("large", value, in: try $0.createTable("t")) }
    let isSame = try store.read { view in
      try view.withValue(of: "large", in: try view.table("t")) { $0.elementsEqual(value) }
    }
    #expect(isSame == true)
  }

  @Test("Keys up to the limit are taken, longer ones named in the error")
  func keyLimit() throws {
    let store = try store()
    #expect(store.maximumKeyLength >= store.pageSize / 4)
    try store.write { transaction in
      let table = try transaction.createTable("t")
      try transaction.put([UInt8](repeating: 1, count: store.maximumKeyLength), "", in: table)
      try transaction.put([UInt8](), "empty key", in: table)
      let error = #expect(throws: StoreError.self) {
        try transaction.put([UInt8](repeating: 1, count: store.maximumKeyLength + 1), "", in: table)
      }
      #expect(error?.code == .keyTooLong)
      #expect(error?.message.contains("\(store.maximumKeyLength)") == true)
      #expect(try transaction.get([UInt8](), in: table) == Array("empty key".utf8))
      #expect(try transaction.count(table) == 2)
    }
  }

  @Test("Ranges: open, closed, unbounded, reversed, and none when start is above end")
  func ranges() throws {
    let store = try store()
    try store.write { transaction in
      let table = try transaction.createTable("t")
      for key in "abcdefgh" { try transaction.put(String(key), "", in: table) }
    }
    func keys(_ range: KeyRange, reversed: Bool = false) throws -> String {
      try store.read { view in
        var found = ""
        try view.forEach(in: try view.table("t"), range, reversed: reversed) { key, _ in
          found += String(decoding: key, as: UTF8.self)
          return true
        }
        #expect(try view.count(try view.table("t"), in: range) == found.count)
        return found
      }
    }
    let b = Array("b".utf8), f = Array("f".utf8)
    #expect(try keys(.all) == "abcdefgh")
    #expect(try keys(.all, reversed: true) == "hgfedcba")
    #expect(try keys(.halfOpen(b, f)) == "bcde")
    #expect(try keys(.closed(b, f), reversed: true) == "fedcb")
    #expect(try keys(KeyRange(lower: .excluded(b), upper: .excluded(f))) == "cde")
    #expect(try keys(.from(f)) == "fgh")
    #expect(try keys(.below(b)) == "a")
    #expect(try keys(.halfOpen(f, b)) == "")
    #expect(try keys(.halfOpen(b, b)) == "")
    #expect(try keys(.prefix(b)) == "b")
    #expect(try keys(.prefix([255, 255])) == "")
  }

  @Test("A cursor stays right while its transaction changes the tree around it", arguments: Seed.first(3))
  func cursorUnderChange(_ seed: Seed) throws {
    let store = try Store.inMemory(
      {
        var options = StoreOptions(); options.pageSize = 4096; return options
      }())
    var random = seed.generator
    try store.write { transaction in
      let table = try transaction.createTable("t")
      var reference = Set<Int>()
      func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
      for number in stride(from: 0, to: 2000, by: 2) {
        try transaction.put(key(number), [UInt8](repeating: 0, count: 100), in: table)
        reference.insert(number)
      }
      let cursor = try transaction.cursor(table)
      var place = -1
      for _ in 0..<3000 {
        let number = Int.random(in: max(0, place - 30)...min(1999, place + 60), using: &random)
        if Bool.random(using: &random) {
          try transaction.put(key(number), [UInt8](repeating: 1, count: 100), in: table)
          reference.insert(number)
        } else {
          try transaction.delete(key(number), in: table)
          reference.remove(number)
        }
        #expect(try cursor.key() == (reference.contains(place) ? key(place) : nil), "\(seed)")
        let expected = reference.filter { $0 > place }.min()
        #expect(try cursor.next() == (expected != nil), "\(seed)")
        #expect(try cursor.key() == expected.map(key), "\(seed)")
        place = expected ?? -1
      }
    }
  }

  @Test("A cursor of an ended transaction throws")
  func cursorAfterEnd() throws {
    let store = try store()
    var transaction = try store.beginWrite()
    let cursor = try transaction.cursor(try transaction.createTable("t"))
    transaction.rollback()
    let error = #expect(throws: StoreError.self) { _ = try cursor.first() }
    #expect(error?.code == .transactionFinished)
  }

  @Test("Bulk loading appends in order, and leaves the table alone when the order is wrong")
  func bulkLoad() throws {
    let store = try store()
    try store.write { transaction in
      let table = try transaction.createTable("t")
      func entries(_ range: Range<Int>) -> [Entry] {
        range.map { Entry(key: Array(String($0 + 100_000).utf8), value: [UInt8](repeating: 7, count: $0 % 3000)) }
      }
      try transaction.bulkLoad(entries(0..<3000), into: table)
      #expect(try transaction.count(table) == 3000)
      let error = #expect(throws: StoreError.self) { try transaction.bulkLoad(entries(2000..<4000), into: table) }
      #expect(error?.code == .unsortedInput)
      #expect(try transaction.count(table) == 3000)
      try transaction.bulkLoad(entries(3000..<4000), into: table)
      #expect(try transaction.popLast(in: table)?.key == Array("103999".utf8))
    }
    try requireSound(store, "")
  }

  @Test("[G-1] Tables are made, renamed, listed, dropped, and not found afterwards")
  func tables() throws {
    let folder = TemporaryDirectory()
    var store: Store? = try Store.open(folder.file())
    try store?.write { transaction in
      let a = try transaction.createTable("a")
      try transaction.put("key", "a", in: a)
      _ = try transaction.createTable("b")
      #expect(throws: StoreError.self) { _ = try transaction.createTable("a") }
      #expect(throws: StoreError.self) { _ = try transaction.createTable("") }
      #expect(throws: StoreError.self) { _ = try transaction.renameTable(a, to: "b") }
      let c = try transaction.renameTable(a, to: "c")
      let values = [try transaction.get("key", in: a), try transaction.get("key", in: c)]
      #expect(values == [Array("a".utf8), Array("a".utf8)])
    }
    store = nil
    store = try Store.open(folder.file())
    try store?.write { transaction in
      #expect(try transaction.tableNames() == ["b", "c"])
      let c = try transaction.table("c")
      try transaction.dropTable(c)
      let error = #expect(throws: StoreError.self) { _ = try transaction.get("key", in: c) }
      #expect(error?.code == .tableNotFound)
      let again = try transaction.createTable("c")
      #expect(try transaction.count(again) == 0)
      #expect(again != c)
    }
    try requireSound(try #require(store), "")
  }

  /// A key or a value that lies in one of the store's own pages moves when the page is changed.
  @Test("Bytes seen in place may be put and deleted: the journal gets what they were", arguments: [40, 3000, 20_000])
  func bytesInPlace(_ length: Int) throws {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(StoreOptions())))
    var options = StoreOptions()
    options.addressSpace = 1 << 30
    let store = try Store.open(SimulatedDisk(medium), options)
    let value = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    try store.write { transaction in
      let table = try transaction.createTable("t")
      for key in ["a", "b", "c", "d"] { try transaction.put(key, value, in: table) }
    }
    try store.write { transaction in
      let table = try transaction.table("t")
      let cursor = try transaction.cursor(table)
      try cursor.seek("b")
      _ = try cursor.withEntry { key, value in
        try transaction.put(key, UnsafeRawBufferPointer(rebasing: value.dropFirst(3).prefix(30)), in: table)
      }
      try cursor.seek("c")
      _ = try cursor.withEntry { key, value in try transaction.put("e", value, in: table) }
      try cursor.seek("d")
      _ = try cursor.withEntry { key, _ in try transaction.delete(key, in: table) }
    }
    let expected = ["a": value, "b": Array(value[3..<33]), "c": value, "e": value]
    for reopened in [false, true] {
      let view = try reopened ? Store.open(SimulatedDisk(SimulatedMedium(medium.killImage)), options) : store
      try view.read { view in
        let table = try view.table("t")
        let count = try view.count(table)
        #expect(count == 4)
        for (key, value) in expected {
          let found = try view.get(key, in: table)
          #expect(found == value)
        }
      }
    }
  }

  @Test("A range's bounds may be longer than any key")
  func longBounds() throws {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(StoreOptions())))
    var options = StoreOptions()
    options.addressSpace = 1 << 30
    let store = try Store.open(SimulatedDisk(medium), options)
    let longest = [UInt8](repeating: 5, count: store.maximumKeyLength)
    try store.write { transaction in
      let table = try transaction.createTable("t")
      for key in [[4], longest, [6], [7]] as [[UInt8]] { try transaction.put(key, "", in: table) }
    }
    for (bound, left) in [(100_000, [[4], longest, [7]]), (store.maximumKeyLength + 1, [[4], longest])]
      as [(Int, [[UInt8]])]
    {
      try store.write { transaction in
        let lower = KeyRange.Bound.included([UInt8](repeating: 5, count: bound))
        let upper = KeyRange.Bound.excluded([left.count == 3 ? 6 : 7] + [UInt8](repeating: 0, count: bound))
        let count = try transaction.deleteRange(KeyRange(lower: lower, upper: upper), in: try transaction.table("t"))
        #expect(count == 1)
      }
      for view in [store, try Store.open(SimulatedDisk(SimulatedMedium(medium.killImage)), options)] {
        var keys: [[UInt8]] = []
        try view.read { view in
          try view.forEach(in: try view.table("t")) { key, _ in
            keys.append(Array(key))
            return true
          }
        }
        #expect(keys == left)
      }
    }
  }

  @Test("A savepoint that going back to an earlier one has ended says so")
  func endedSavepoint() throws {
    let store = try Store.inMemory(StoreOptions())
    try store.write { transaction in
      let table = try transaction.createTable("t")
      let first = try transaction.savepoint()
      try transaction.put("a", "", in: table)
      let second = try transaction.savepoint()
      try transaction.put("b", "", in: table)
      try transaction.rollback(to: first)
      do {
        try transaction.rollback(to: second)
        Issue.record("went back to a savepoint that had ended")
      } catch let error as StoreError {
        #expect(error.code == .transactionFinished)
      }
      try transaction.put("c", "", in: table)
      try transaction.rollback(to: first)
      let count = try transaction.count(table)
      #expect(count == 0)
    }
  }
}
