import RoostKV

/// Every history of up to three transactions over three keys.
///
/// A transaction is one of eight changes, durable or relaxed, and is followed by a checkpoint or not: put each key,
/// delete each
/// key, delete all of them as a range, put the first key's value into a run. In the `splitting` variant values are so
/// long that
/// each third one splits a leaf. Each is done with sectors of 512 bytes, and with a padded journal on sectors of
/// 4,096 bytes.
package struct ExhaustiveHistories: Sendable {
  package enum Change: CaseIterable, Sendable {
    case put0, put1, put2, delete0, delete1, delete2, deleteAll, putRun

    fileprivate var key: Int? {
      switch self {
      case .put0, .delete0, .putRun: 0
      case .put1, .delete1: 1
      case .put2, .delete2: 2
      case .deleteAll: nil
      }
    }
  }

  /// One transaction and what follows it.
  struct Step {
    var change: Change
    var isDurable: Bool
    var checkpoints: Bool

    static let count = Change.allCases.count * 4

    init(_ number: Int) {
      change = Change.allCases[number / 4]
      isDurable = number & 1 == 0
      checkpoints = number & 2 == 2
    }
  }

  /// How many histories there are. The shorter ones come first.
  package static let count = 4 * (Step.count + Step.count * Step.count + Step.count * Step.count * Step.count)

  private let steps: [Step]
  private let isPadded: Bool
  private let splits: Bool
  package let name: String

  /// - Parameter number: below `count`.
  package init(_ number: Int) {
    name = "exhaustive history \(number)"
    isPadded = number & 1 == 1
    splits = number & 2 == 2
    var rest = number / 4
    var length = 1
    var histories = Step.count
    while rest >= histories {
      rest -= histories
      histories *= Step.count
      length += 1
    }
    var steps: [Step] = []
    for _ in 0..<length {
      steps.append(Step(rest % Step.count))
      rest /= Step.count
    }
    self.steps = steps
  }

  package var options: StoreOptions { .simulated(isPadded: isPadded) }
  package var sectorSize: Int { isPadded ? 4096 : 512 }

  /// Runs the history; what a store must show of it.
  package func segments(_ flaw: DriverFlaw? = nil) throws -> [Segment] {
    let history = try CrashHistory(name, options, sectorSize: sectorSize, seed: splits ? 2 : 1, flaw: flaw)
    for (number, step) in steps.enumerated() {
      try history.commit(step.isDurable ? .durable : .relaxed) { transaction, reference in
        let table = try transaction.createTableIfMissing("t")
        var rows = reference.tables["t"] ?? [:]
        try apply(step.change, number, &transaction, table, &rows)
        reference.tables["t"] = rows
      }
      try history.look()
      if step.checkpoints { try history.checkpoint() }
    }
    history.finish()
    return history.segments
  }

  private func apply(
    _ change: Change, _ number: Int, _ transaction: inout WriteTransaction, _ table: Table,
    _ rows: inout [[UInt8]: [UInt8]]
  ) throws {
    let key = change.key.map { Array("key \($0)".utf8) } ?? []
    let length = change == .putRun ? 5000 : splits ? 1900 : 20
    let value = [UInt8](repeating: UInt8(number + 1), count: length)
    switch change {
    case .put0, .put1, .put2, .putRun:
      try transaction.put(key, value, in: table)
      rows[key] = value
    case .delete0, .delete1, .delete2:
      try transaction.delete(key, in: table)
      rows[key] = nil
    case .deleteAll:
      try transaction.deleteRange(.all, in: table)
      rows = [:]
    }
  }
}

extension StoreOptions {
  /// Small pages, bounds and address space, so that little work meets every limit.
  package static func simulated(isPadded: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.journalBlock = isPadded ? .padded : .sector
    options.addressSpace = 64 << 20
    options.journalBound = 64 << 10
    options.memoryBound = 1 << 20
    return options
  }
}
