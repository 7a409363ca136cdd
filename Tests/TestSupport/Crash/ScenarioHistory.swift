import RoostKV

/// Histories that chance would seldom hit upon, each about one rule.
package struct ScenarioHistory: Sendable {
  package static let count = 10

  package let name: String
  package let options = StoreOptions.simulated()
  private let number: Int
  private let flaw: DriverFlaw?

  /// - Parameter number: below `count`.
  package init(_ number: Int, _ flaw: DriverFlaw? = nil) {
    self.number = number
    self.flaw = flaw
    name = "scenario \(number)"
  }

  package func segments() throws -> [Segment] {
    let history = try CrashHistory(
      name, options, sectorSize: 512, seed: UInt64(number), isConcurrent: number >= 2, flaw: flaw)
    switch number {
    case 0: try droppedGroup(history)
    case 1: try heldSnapshot(history)
    default: try crowdedRing(history)
    }
    history.finish()
    return history.segments
  }

  private func put(
    _ history: CrashHistory, _ keys: some Sequence<Int>, _ length: Int, _ byte: UInt8,
    _ durability: Durability = .durable
  ) throws {
    try history.commit(durability) { transaction, reference in
      let table = try transaction.createTableIfMissing("t")
      var rows = reference.tables["t"] ?? [:]
      for key in keys {
        let key = Array("key \(key)".utf8), value = [UInt8](repeating: byte, count: length)
        try transaction.put(key, value, in: table)
        rows[key] = value
      }
      reference.tables["t"] = rows
    }
  }

  /// The last group of a segment is dropped, since its run was lost; the next one needs more room, and goes
  /// elsewhere. The
  /// dropped one must not be found again in its place. [J-3] [O-4]
  private func droppedGroup(_ history: CrashHistory) throws {
    let segmentEnd = 16384 + 65536
    var left = segmentEnd
    var round = 0
    while left > 2200 {
      try put(history, [round % 7], min(1800, left - 600), UInt8(round & 255))
      left = segmentEnd - (endOfLastWrite(history) ?? 0)
      round += 1
    }
    try put(history, [100], 5000, 1, .relaxed)
    try history.losePowerKeepingNewest()
    for round in 0..<3 { try put(history, 0..<3, 1800, UInt8(200 + round)) }
  }

  private func endOfLastWrite(_ history: CrashHistory) -> Int? {
    for case .write(let offset, let bytes) in history.medium.operations.reversed() { return offset + bytes.count }
    return nil
  }

  /// A snapshot outlives checkpoints whose pages could take the place of its own.
  private func heldSnapshot(_ history: CrashHistory) throws {
    try put(history, 0..<12, 1500, 1)
    try history.checkpoint()
    try history.checkpoint()
    let held = try history.snapshot()
    for round in 2..<8 {
      try put(history, 0..<12, 1500, UInt8(round))
      try history.checkpoint()
      try held.check()
      let later = try history.snapshot()
      try put(history, [round], 4000, UInt8(round))
      try later.check()
    }
    try held.check()
  }

  /// Commits go on while checkpoints are written, and the journal has hardly any room.
  private func crowdedRing(_ history: CrashHistory) throws {
    let failures = Failures()
    for writer in 0..<2 {
      history.runtime.start("writer \(writer)") { [self] in
        do {
          for round in 0..<12 {
            try put(history, writer * 16..<writer * 16 + 15, 1800, UInt8(round * 2 + writer))
          }
        } catch { failures.add(error) }
      }
    }
    history.runtime.start("checkpoints") {
      do {
        for _ in 0..<8 {
          try history.checkpoint()
          for _ in 0..<10 { history.runtime.yield() }
        }
      } catch { failures.add(error) }
    }
    history.runtime.drain()
    if let failure = failures.first { throw failure }
  }
}

/// Errors of threads of which one runs at a time.
final class Failures: @unchecked Sendable {
  private(set) var first: (any Error)?
  func add(_ error: any Error) { first = first ?? error }
}
