import RoostKV
import TestSupport
import Testing

/// A store with a history: what it held at each moment, and what its file was.
struct SalvageFixture {
  /// Tables by name; values that a key ever had.
  typealias History = [String: [[UInt8]: Set<[UInt8]>]]

  var image: [UInt8]
  /// The file after each earlier checkpoint.
  var older: [[UInt8]]
  var reference: ReferenceStore
  var history: History
  var storeID: String
  /// Keys changed since the newest checkpoint.
  var journalled: [String: Set<[UInt8]>]
  let layout: SalvageLayout

  static func options() -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.addressSpace = 64 << 20
    return options
  }

  /// - Parameters:
  ///   - rounds: checkpoints.
  ///   - journal: transactions since the last one.
  init(_ seed: Seed, rounds: Int = 5, keys: Int = 400, valueLength: Int = 40, journal: Int = 0) throws {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))
    let store = try Store.open(SimulatedDisk(medium), Self.options())
    var work = Work(seed, keys: keys, valueLength: valueLength)
    older = []
    for _ in 0..<rounds {
      older.append(medium.killImage.bytes)
      for _ in 0..<4 { try work.transaction(store, changes: keys / 8) }
      try store.checkpoint()
    }
    work.journalled = [:]
    for _ in 0..<journal { try work.transaction(store, changes: 12) }
    image = medium.killImage.bytes
    reference = work.reference
    history = work.history
    journalled = work.journalled
    storeID = try store.stats().storeID
    layout = SalvageLayout(image)
  }

  var pageCount: Int { image.count / 4096 }

  private struct Work {
    var generator: SplitMix64
    let keys: Int
    let valueLength: Int
    var reference = ReferenceStore()
    var history: History = [:]
    var journalled: [String: Set<[UInt8]>] = [:]

    init(_ seed: Seed, keys: Int, valueLength: Int) {
      generator = seed.generator
      self.keys = keys
      self.valueLength = valueLength
    }

    mutating func transaction(_ store: Store, changes: Int) throws {
      try store.write { transaction in
        for _ in 0..<changes { try change(&transaction) }
      }
    }

    private mutating func change(_ transaction: inout WriteTransaction) throws {
      let name = ["a", "b", "large"].randomElement(using: &generator) ?? "a"
      let table = try transaction.createTableIfMissing(name)
      let number = Int.random(in: 0..<(name == "large" ? 6 : keys), using: &generator)
      let key = Array((number % 2 == 0 ? "key \(number)" : "a longer key that shares \(number)").utf8)
      journalled[name, default: []].insert(key)
      if generator.oneIn(4) {
        try transaction.delete(key, in: table)
        reference.tables[name, default: [:]][key] = nil
        return
      }
      let length = name == "large" ? Int.random(in: 2000...9000, using: &generator) : valueLength
      let value = generator.bytes(length)
      try transaction.put(key, value, in: table)
      reference.tables[name, default: [:]][key] = value
      history[name, default: [:]][key, default: []].insert(value)
    }
  }
}

/// What a salvage of some bytes has brought back.
struct Salvaged {
  let report: SalvageReport
  /// Rows by the table's id in the damaged file.
  var rows: [UInt32: [[UInt8]: [UInt8]]] = [:]
  let store: Store

  init(_ bytes: [UInt8], _ options: SalvageOptions = SalvageOptions()) throws {
    let medium = SimulatedMedium(DiskImage(bytes))
    var made: Store?
    report = try Store.salvage(SimulatedDisk(medium, writable: false), options) { (options) throws(StoreError) in
      var options = options
      options.addressSpace = 64 << 20
      let store = try Store.inMemory(options)
      made = store
      return store
    }
    store = try #require(made)
    for table in report.tables {
      rows[table.id] = try store.read { transaction in
        var rows: [[UInt8]: [UInt8]] = [:]
        try transaction.forEach(in: try transaction.table(table.name)) { key, value in
          rows[Array(key)] = Array(value)
          return true
        }
        return rows
      }
    }
    try requireSound(store, "the new store")
    #expect(medium.killImage.bytes == bytes, "the input was changed")
  }
}

extension [UInt8] {
  /// With a page put in the place of another one.
  func replacing(page: Int, with bytes: some Collection<UInt8>) -> [UInt8] {
    var copy = self
    copy.replaceSubrange(page * 4096..<page * 4096 + 4096, with: bytes)
    return copy
  }

  func page(_ number: Int) -> [UInt8] {
    count >= (number + 1) * 4096 ? Array(self[number * 4096..<(number + 1) * 4096]) : []
  }
}
