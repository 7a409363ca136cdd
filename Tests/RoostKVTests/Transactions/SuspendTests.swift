import RoostKV
import TestSupport
import Testing

/// A store that lets go of its file and takes it up again, and what others do to the file meanwhile.
@Suite struct SuspendTests {
  private static func options(_ access: StoreOptions.Access = .readWrite) -> StoreOptions {
    var options = StoreOptions(access: access)
    options.addressSpace = 1 << 32
    options.lockTimeout = .milliseconds(30)
    return options
  }

  private static func medium() throws -> SimulatedMedium {
    SimulatedMedium(DiskImage(try Store.emptyFile(options())))
  }

  private static func open(_ medium: SimulatedMedium, _ access: StoreOptions.Access = .readWrite) throws -> Store {
    try Store.open(SimulatedDisk(medium, writable: access == .readWrite), options(access))
  }

  private static func put(_ store: Store, _ key: String, _ value: String) throws {
    try store.write { try $0.put(key, value, in: try $0.createTableIfMissing("t")) }
  }

  private static func bytes(_ medium: SimulatedMedium) throws -> [UInt8] {
    let handle = SimulatedDisk(medium, writable: false)
    var bytes = [UInt8](repeating: 0, count: Int(try handle.size()))
    let count = try bytes.withUnsafeMutableBytes { try handle.read(into: $0, at: 0) }
    #expect(count == bytes.count)
    return bytes
  }

  private static func get(_ store: Store, _ key: String) throws -> String? {
    try store.read { view in
      guard let table = try view.tableIfPresent("t") else { return nil }
      return try view.get(key, in: table).map { String(decoding: $0, as: UTF8.self) }
    }
  }

  @Test("While a store is suspended another writer may have the file, and its commits are seen afterwards")
  func takesTurns() throws {
    let medium = try Self.medium()
    let first = try Self.open(medium)
    try Self.put(first, "a", "1")
    #expect(throws: StoreError.self) { _ = try Self.open(medium) }
    try first.suspend()
    for (leaves, round) in [(false, 1), (true, 2), (false, 3)] {
      // Whether the other writer checkpoints, or leaves its commits in the journal.
      let second = try Self.open(medium)
      #expect(try Self.get(second, "a") == "\(round)")
      try Self.put(second, "a", "\(round + 1)")
      try Self.put(second, "b \(round)", String(repeating: "x", count: 20_000 * round))
      if leaves { try second.suspend() } else { try second.close() }
      try first.resume()
      #expect(try Self.get(first, "a") == "\(round + 1)")
      #expect(try Self.get(first, "b \(round)")?.count == 20_000 * round)
      try requireSound(first, "round \(round)")
      try Self.put(first, "c", "\(round)")
      try first.suspend()
    }
    try first.resume()
    #expect(try Self.get(first, "c") == "3")
    try first.close()
    try requireSound(try Self.open(medium), "at the end")
  }

  @Test("A crash of the other writer leaves what its journal holds")
  func otherWriterCrashes() throws {
    let medium = try Self.medium()
    let first = try Self.open(medium)
    try Self.put(first, "a", "1")
    try first.suspend()
    do {
      let handle = SimulatedDisk(medium)
      let second = try Store.open(handle, Self.options())
      for number in 0..<50 { try Self.put(second, "b", "\(number)") }
      handle.close()
    }
    try first.resume()
    #expect(try Self.get(first, "b") == "49")
    try Self.put(first, "b", "50")
    try requireSound(first, "after the crash")
  }

  @Test("A suspended store can't be used, says so, and can be closed")
  func refusesUse() throws {
    let medium = try Self.medium()
    let store = try Self.open(medium)
    try store.suspend()
    func expectSuspended(_ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
      let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) { try body() }
      #expect(error?.code == .suspended, sourceLocation: sourceLocation)
    }
    expectSuspended { _ = try store.snapshot() }
    expectSuspended { try store.read { _ in } }
    expectSuspended { try Self.put(store, "a", "1") }
    expectSuspended { try store.checkpoint() }
    expectSuspended { try store.flush() }
    expectSuspended { _ = try store.check() }
    expectSuspended { _ = try store.stats() }
    expectSuspended { try store.suspend() }
    let before = try Self.bytes(medium)
    try store.close()
    #expect(try Self.bytes(medium) == before)
    let error = #expect(throws: StoreError.self) { try store.resume() }
    #expect(error?.code == .closed)
    _ = try Self.open(medium)
  }

  @Test("What is open prevents suspension, and the store goes on")
  func waitsForUsers() throws {
    let store = try Self.open(try Self.medium())
    try Self.put(store, "a", "1")
    do {
      let snapshot = try store.snapshot()
      let error = #expect(throws: StoreError.self) { try store.suspend() }
      #expect(error?.code == .lockTimeout)
      #expect(try snapshot.get("a", in: try snapshot.table("t")) == Array("1".utf8))
    }
    do {
      let cursor = try store.read { try $0.cursor(try $0.table("t")) }
      #expect(throws: StoreError.self) { try store.suspend() }
      #expect(try cursor.first())
    }
    do {
      var transaction = try store.beginWrite()
      _ = try transaction.createTable("u")
      #expect(throws: StoreError.self) { try store.suspend() }
      try transaction.commit()
    }
    try Self.put(store, "a", "2")
    try store.suspend()
    try store.resume()
    #expect(try Self.get(store, "a") == "2")
  }

  @Test("The lock may be somebody else's, and the file another store's, when the store is to go on")
  func cannotResume() throws {
    let medium = try Self.medium()
    let store = try Self.open(medium)
    try Self.put(store, "a", "1")
    try store.suspend()
    var other: Store? = try Self.open(medium)
    #expect(try other.map { try Self.get($0, "a") } == "1")
    var error = #expect(throws: StoreError.self) { try store.resume() }
    #expect(error?.code == .lockTimeout)
    try other?.close()
    other = nil
    try store.resume()
    try store.suspend()
    let foreign = SimulatedDisk(medium)
    try Store.emptyFile(Self.options()).withBytes { (bytes) throws(StoreError) in try foreign.write(bytes, at: 0) }
    error = #expect(throws: StoreError.self) { try store.resume() }
    #expect(error?.code == .fileReplaced)
  }

  @Test("A read-only store gives its pin back, and goes on with what is there then")
  func readOnly() throws {
    let medium = try Self.medium()
    let writer = try Self.open(medium)
    try Self.put(writer, "a", "1")
    let reader = try Self.open(medium, .readOnly)
    #expect(try Self.get(reader, "a") == "1")
    let observer = SimulatedDisk(medium)
    #expect(try observer.isPinnedElsewhere(generations: 0...1000))
    try reader.suspend()
    #expect(try !observer.isPinnedElsewhere(generations: 0...1000))
    for number in 0..<20 {
      try Self.put(writer, "a", "\(number)")
      try writer.checkpoint()
    }
    try reader.resume()
    #expect(try Self.get(reader, "a") == "19")
    #expect(try observer.isPinnedElsewhere(generations: 0...1000))
    try reader.suspend()
    try reader.resume()
    #expect(try Self.get(reader, "a") == "19")
  }
}
