import Foundation
import RoostKV

/// A history that follows from a seed: transactions small and large, with runs, savepoints, tables and range deletes,
/// durable and
/// relaxed; checkpoints, snapshots, readers in other processes; ends of the process, power losses, faults of the
/// disk; in some
/// also several threads at once.
package struct RandomHistory {
  package let seed: UInt64
  package let options: StoreOptions
  package let sectorSize: Int
  package let name: String
  private var random: SplitMix64
  private let isConcurrent: Bool
  private let isBig: Bool

  package init(seed: UInt64) {
    self.seed = seed
    name = "random history \(seed)"
    var random = SplitMix64(seed: seed)
    let isPadded = random.oneIn(3)
    var options = StoreOptions.simulated(isPadded: isPadded)
    if random.oneIn(8) { options.pageSize = 8192 }
    self.options = options
    let hasLargeSectors = random.oneIn(6)
    sectorSize = isPadded || hasLargeSectors ? 4096 : 512
    isConcurrent = random.oneIn(3)
    isBig = random.oneIn(60)
    self.random = random
  }

  /// Runs the history; what a store must show of it.
  ///
  /// - Throws: what went wrong while it ran.
  package mutating func segments(_ flaw: DriverFlaw? = nil) throws -> [Segment] {
    let history = try CrashHistory(
      name, options, sectorSize: sectorSize, seed: seed, isConcurrent: isConcurrent, flaw: flaw)
    do {
      if isConcurrent { try runThreads(history) } else { try runSteps(history) }
    } catch {
      throw Complaint("\(error) [\(history.story)]")
    }
    history.finish()
    return history.segments
  }

  // MARK: One thread

  private mutating func runSteps(_ history: CrashHistory) throws {
    var changes = Changes(random.next(), isBig: isBig)
    let steps = Int.random(in: 3...(isBig ? 8 : 30), using: &random)
    let hasFaults = random.oneIn(3)
    var held: HeldSnapshot?
    for _ in 0..<steps {
      if hasFaults, random.oneIn(4) { history.inject(fault()) }
      do {
        try step(history, &changes, &held)
        try held?.check()
      } catch let error as StoreError {
        // The disk has failed. A clean failure leaves the store as it is; else another process goes on.
        guard hasFaults else { throw error }
        held = nil
        if history.isLying { return }
        history.medium.removeFaults()
        if ![.noSpace, .sizeLimit].contains(error.code) { try history.kill() }
      }
      if history.isLying, random.oneIn(3) { return }
    }
    history.medium.removeFaults()
    held = nil
    if !history.isLying, random.oneIn(3) { try history.reopen() }
  }

  private mutating func step(
    _ history: CrashHistory, _ changes: inout Changes, _ held: inout HeldSnapshot?
  ) throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<70:
      let durability: Durability = random.oneIn(3) ? .relaxed : .durable
      try history.commit(durability) { try changes.change(&$0, &$1) }
      try history.look()
    case 70..<80: try history.checkpoint()
    case 80..<83: try history.flush()
    case 83..<86: held = random.oneIn(4) ? nil : try history.snapshot()
    case 86..<90: try history.lookFromOutside()
    case 90..<94 where !history.isLying:
      held = nil
      try history.kill()
    case 94..<97 where !history.isLying:
      held = nil
      try history.losePower(&random)
    case 97..<98 where !history.isLying:
      held = nil
      try history.reopen()
    default: try history.look()
    }
  }

  private mutating func fault() -> DiskFault {
    let operations: [DiskFault.Operation] = [.write, .writeDurably, .flush, .grow, .truncate, .write, .flush]
    let operation = operations.randomElement(using: &random) ?? .write
    let call = Int.random(in: 0..<12, using: &random)
    let numbers = [EIO, ENOSPC, EDQUOT, EFBIG, EROFS, EINTR]
    let number = numbers.randomElement(using: &random) ?? EIO
    let lasting = random.oneIn(3)
    switch operation {
    case .flush:
      let after: [DiskFault.AfterFlush] = [.pending, .forgotten, .reverted]
      switch Int.random(in: 0..<10, using: &random) {
      case 0: return DiskFault(.flush, call: call, .lie)
      case 1: return DiskFault(.flush, call: call, .late(EIO))
      default:
        return DiskFault(
          .flush, call: call, .flush(EIO, after.randomElement(using: &random) ?? .pending), lasting: lasting)
      }
    case .write, .writeDurably:
      if random.oneIn(3) {
        return DiskFault(operation, call: call, .partial(Int.random(in: 0..<3000, using: &random), number))
      }
      return DiskFault(operation, call: call, .error(number), lasting: lasting)
    default:
      return DiskFault(operation, call: random.oneIn(2) ? 0 : call, .error(number), lasting: lasting)
    }
  }

  // MARK: Several threads

  private mutating func runThreads(_ history: CrashHistory) throws {
    let failures = Failures()
    func start(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
      history.runtime.start(name) {
        do { try body() } catch { failures.add(error) }
      }
    }
    let rounds = Int.random(in: 2...8, using: &random)
    for writer in 0..<Int.random(in: 1...3, using: &random) {
      let seed = random.next()
      start("writer \(writer)") {
        var random = SplitMix64(seed: seed)
        var changes = Changes(random.next(), isBig: false)
        for _ in 0..<rounds {
          try history.commit(random.oneIn(4) ? .relaxed : .durable) { try changes.change(&$0, &$1) }
        }
      }
    }
    start("reader") {
      for _ in 0..<rounds {
        // Reading takes no lock, so the reader has to let others go on by itself.
        let held = try history.snapshot()
        for _ in 0..<10 { history.runtime.yield() }
        try history.look()
        for _ in 0..<20 { history.runtime.yield() }
        try history.look()
        try held.check()
      }
    }
    start("checkpoints") {
      for _ in 0..<3 { try history.checkpoint() }
    }
    if random.oneIn(2) {
      start("outside") {
        for _ in 0..<4 { try history.lookFromOutside() }
      }
    }
    history.runtime.drain()
    if let failure = failures.first { throw failure }
  }
}

/// The changes of one transaction after another.
private struct Changes {
  private var operations: RandomOperations
  private let isBig: Bool
  private var count = 0

  init(_ seed: UInt64, isBig: Bool) {
    operations = RandomOperations(Seed(seed), keySpace: 60, longestValue: 600, tables: ["a", "b"])
    self.isBig = isBig
  }

  mutating func change(_ transaction: inout WriteTransaction, _ reference: inout ReferenceStore) throws {
    count += 1
    for _ in 0..<Int.random(in: 1...6, using: &operations.generator) {
      try operations.change(&transaction, &reference)
    }
    let table = try transaction.createTableIfMissing("a")
    if reference.tables["a"] == nil { reference.tables["a"] = [:] }
    func put(_ key: String, _ value: [UInt8]) throws {
      try transaction.put(key, value, in: table)
      reference.tables["a", default: [:]][Array(key.utf8)] = value
    }
    // Mostly a row tells versions apart that would be equal otherwise.
    if !operations.generator.oneIn(4) { try put("stamp", operations.generator.bytes(8)) }
    switch Int.random(in: 0..<20, using: &operations.generator) {
    case 0..<3:
      let length = operations.generator.oneIn(6) ? 70_000 : Int.random(in: 2000...12_000, using: &operations.generator)
      try put("run \(count % 3)", bytes(length))
    case 3..<6:
      for number in 0..<Int.random(in: 3...8, using: &operations.generator) { try put("long \(number)", bytes(1700)) }
    case 6:
      // Too much for a group: it commits by being a checkpoint.
      for number in 0..<50 { try put("many \(number)", bytes(800)) }
    case 7 where isBig:
      // Too much for memory: pages are written ahead.
      for number in 0..<900 { try put("most \(number)", bytes(1500)) }
    case 8:
      try transaction.deleteRange(
        KeyRange(lower: .included(Array("l".utf8)), upper: .excluded(Array("n".utf8))), in: table)
      for key in reference.keys("a") where key.first == 0x6C || key.first == 0x6D { reference.tables["a"]?[key] = nil }
    default: break
    }
  }

  private mutating func bytes(_ count: Int) -> [UInt8] {
    let first = UInt8.random(in: 0...255, using: &operations.generator)
    return (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0 &* 11) }
  }
}
