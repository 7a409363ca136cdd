import Foundation
import RoostKV

/// The process that is killed: commits one transaction after the other, and tells before and after each.
enum HammerWriter {
  /// A report is this byte and the transaction's number.
  static let attempt: UInt8 = 0x41
  static let acknowledgement: UInt8 = 0x44

  /// - Parameter arguments: the store's path and the seed.
  static func run(_ arguments: [String]) -> Never {
    guard arguments.count == 2, let seed = UInt64(arguments[1]) else { exit(2) }
    do {
      try work(arguments[0], HammerWork(seed: seed))
    } catch {
      printError("hammer-writer: \(error)")
      exit(3)
    }
  }

  private static func work(_ path: String, _ work: HammerWork) throws -> Never {
    let store = try Store.open(path, HammerWork.options)
    var number = try store.read { (state) throws in try HammerWork.number(state) }
    while true {
      number += 1
      var transaction = try store.beginWrite()
      try work.apply(number, to: &transaction)
      report(attempt, number)
      try transaction.commit(work.durability(number)) as Void
      report(acknowledgement, number)
      if work.checkpoints(number) { try store.checkpoint() }
    }
  }

  /// One call, so that a report is there whole or not at all.
  private static func report(_ kind: UInt8, _ number: UInt64) {
    var bytes = [kind]
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    guard write(1, bytes, bytes.count) == bytes.count else { exit(4) }
  }
}
