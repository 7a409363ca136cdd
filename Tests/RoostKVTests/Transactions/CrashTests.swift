import RoostKV
import TestSupport
import Testing

/// A power loss at any moment leaves a store that opens to a committed state no older than the last acknowledged one.
@Suite struct CrashTests {
  /// A history on a simulated disk: after each operation of the disk, which commits were acknowledged and attempted.
  struct History {
    var versions: [ReferenceStore] = [ReferenceStore()]
    var acknowledged = 0
    /// For each recorded state of the disk, the greatest acknowledged version by then and the greatest attempted.
    var moments: [(state: DiskState, acknowledged: Int, attempted: Int)] = []
  }

  private static func options(padded: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.journalBlock = padded ? .padded : .sector
    options.addressSpace = 64 << 20
    options.journalBound = 64 << 10
    return options
  }

  /// Does `steps` on a new store on `medium` and notes the disk's states.
  private func record(
    _ medium: SimulatedMedium, _ options: StoreOptions, _ start: ReferenceStore = ReferenceStore(),
    _ steps: (Store, inout History) throws -> Void
  ) throws -> History {
    let store = try Store.open(SimulatedDisk(medium), options)
    var history = History()
    history.versions = [start]
    try steps(store, &history)
    return history
  }

  /// Runs one step while recording, and adds the states with what was known before and after it.
  private func step(
    _ medium: SimulatedMedium, _ history: inout History, acknowledges: Bool, _ version: ReferenceStore?,
    _ body: () throws -> Void
  ) throws {
    let before = history.acknowledged
    if let version { history.versions.append(version) }
    medium.startRecording()
    try body()
    let states = medium.stopRecording()
    let attempted = history.versions.count - 1
    for state in states { history.moments.append((state, before, attempted)) }
    if acknowledges { history.acknowledged = attempted }
    if let last = states.last { history.moments.append((last, history.acknowledged, attempted)) }
  }

  private func judge(_ history: History, _ options: StoreOptions, limit: Int, seed: UInt64) throws -> Int {
    var seen = Set<DiskImage>()
    var count = 0
    for (index, moment) in history.moments.enumerated() {
      for image in moment.state.crashStates(limit: limit, seed: seed &+ UInt64(index)) {
        guard seen.insert(image).inserted else { continue }
        count += 1
        let medium = SimulatedMedium(image)
        let store: Store
        do {
          store = try Store.open(SimulatedDisk(medium), options)
        } catch {
          Issue.record("moment \(index): \(error)")
          continue
        }
        let found = try store.read { try ReferenceStore($0) }
        let allowed = history.versions[moment.acknowledged...moment.attempted]
        #expect(
          allowed.contains(found), "moment \(index): not a state from \(moment.acknowledged) to \(moment.attempted)")
        try requireSound(store, "moment \(index)")
        // The next commit works, and is there after another open.
        try store.write { try $0.put("after", "crash", in: try $0.createTableIfMissing("z")) }
        try requireSound(store, "moment \(index), after a commit")
        let again = try Store.open(SimulatedDisk(SimulatedMedium(medium.state.nothing)), options)
        #expect(try again.read { try $0.get("after", in: try $0.table("z")) } == Array("crash".utf8), "moment \(index)")
        if count > 4000 { return count }
      }
    }
    return count
  }

  @Test(
    "[C-1] [J-4] Crash before and after every write of commits, checkpoints and large values", arguments: [false, true])
  func shortHistory(_ padded: Bool) throws {
    let options = Self.options(padded: padded)
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(options)))
    let history = try record(medium, options) { store, history in
      var work = RandomOperations(Seed(7), keySpace: 40, longestValue: 200, tables: ["a"])
      var reference = ReferenceStore()
      for round in 0..<10 {
        let isDurable = round % 3 != 1
        try step(medium, &history, acknowledges: isDurable, nil) {
          var transaction = try store.beginWrite()
          for _ in 0..<4 { try work.change(&transaction, &reference) }
          if round % 4 == 3 {
            let table = try transaction.createTableIfMissing("a")
            let value = [UInt8](repeating: UInt8(round), count: 5000)
            try transaction.put("large \(round % 2)", value, in: table)
            reference.tables["a", default: [:]][Array("large \(round % 2)".utf8)] = value
          }
          try transaction.commit(isDurable ? .durable : .relaxed)
        }
        // The version is known only now; the step's states may show it already.
        history.versions.append(reference)
        for index in history.moments.indices.reversed() {
          guard history.moments[index].attempted == history.versions.count - 2 else { break }
          history.moments[index].attempted = history.versions.count - 1
        }
        if isDurable { history.acknowledged = history.versions.count - 1 }
        if round % 3 == 2 {
          try step(medium, &history, acknowledges: true, nil) { try store.checkpoint() }
        }
      }
      try step(medium, &history, acknowledges: true, nil) { try store.close() }
    }
    let count = try judge(history, options, limit: 24, seed: 1)
    #expect(count > 100)
  }

  @Test("[C-9] Crash before and after every write of a large transaction")
  func largeTransaction() throws {
    let options = Self.options()
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(options)))
    let history = try record(medium, options) { store, history in
      var reference = ReferenceStore()
      reference.tables["a"] = [:]
      for number in 0..<40 { reference.tables["a"]?[Array("small \(number)".utf8)] = [1, 2, 3] }
      try step(medium, &history, acknowledges: true, reference) {
        try store.write { transaction in
          let table = try transaction.createTable("a")
          for number in 0..<40 { try transaction.put("small \(number)", [1, 2, 3], in: table) }
        }
      }
      let value = [UInt8](repeating: 9, count: 700)
      for number in 0..<60 { reference.tables["a"]?[Array("large \(number)".utf8)] = value }
      try step(medium, &history, acknowledges: true, reference) {
        try store.write { transaction in
          let table = try transaction.table("a")
          for number in 0..<60 { try transaction.put("large \(number)", value, in: table) }
        }
      }
      reference.tables["a"]?[Array("x".utf8)] = [4]
      try step(medium, &history, acknowledges: true, reference) {
        try store.write { try $0.put("x", [4], in: try $0.table("a")) }
      }
    }
    let count = try judge(history, options, limit: 40, seed: 2)
    #expect(count > 40)
  }

  @Test("[J-1] [J-3] Crash while the ring of segments grows and shrinks")
  func journalRing() throws {
    let options = Self.options()
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(options)))
    let history = try record(medium, options) { store, history in
      var reference = ReferenceStore()
      reference.tables["a"] = [:]
      try step(medium, &history, acknowledges: true, reference) { _ = try store.write { try $0.createTable("a") } }
      for round in 0..<24 {
        let key = Array("key \(round % 5)".utf8), value = [UInt8](repeating: UInt8(round), count: 1900)
        // A few small keys make a group of several kilobytes.
        for part in 0..<3 { reference.tables["a"]?[key + [UInt8(part)]] = value }
        try step(medium, &history, acknowledges: true, reference) {
          try store.write { transaction in
            let table = try transaction.table("a")
            for part in 0..<3 { try transaction.put(key + [UInt8(part)], value, in: table) }
          }
        }
        if round % 9 == 8 { try step(medium, &history, acknowledges: true, nil) { try store.checkpoint() } }
      }
      try step(medium, &history, acknowledges: true, nil) { try store.close() }
    }
    let count = try judge(history, options, limit: 8, seed: 3)
    #expect(count > 100)
  }
}
