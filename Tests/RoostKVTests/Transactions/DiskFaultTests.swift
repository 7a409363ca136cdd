import Foundation
import RoostKV
import TestSupport
import Testing

/// The disk fails at the n-th call: what was committed stays, what was not acknowledged is told.
@Suite struct DiskFaultTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    options.addressSpace = 64 << 20
    options.journalBound = 64 << 10
    return options
  }

  /// Commits, one after another, until the disk fails; returns the acknowledged states and the attempted one.
  private func work(_ store: Store) -> (acknowledged: ReferenceStore, attempted: ReferenceStore, error: StoreError?) {
    var reference = ReferenceStore()
    for round in 0..<30 {
      let before = reference
      do {
        try store.write { transaction in
          let table = try transaction.createTableIfMissing("t")
          if reference.tables["t"] == nil { reference.tables["t"] = [:] }
          for number in 0..<5 {
            let key = Array("key \((round * 3 + number) % 20)".utf8)
            let value = [UInt8](repeating: UInt8(round), count: number == 4 ? 3000 : 200)
            try transaction.put(key, value, in: table)
            reference.tables["t"]?[key] = value
          }
        }
        if round % 8 == 7 { try store.checkpoint() }
      } catch {
        return (before, reference, error as? StoreError)
      }
    }
    return (reference, reference, nil)
  }

  @Test(
    "Input and output errors at each call poison the store; a reopen shows a committed state",
    arguments: [DiskFault.Operation.write, .writeDurably, .flush])
  func errors(_ operation: DiskFault.Operation) throws {
    for call in 1...40 {
      let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))
      let acknowledged: ReferenceStore, attempted: ReferenceStore
      do {
        let store = try Store.open(SimulatedDisk(medium), Self.options())
        medium.inject(DiskFault(operation, call: call, .error(EIO)))
        let result = work(store)
        (acknowledged, attempted) = (result.acknowledged, result.attempted)
        if let error = result.error {
          #expect([.ioError, .commitOutcomeUnknown].contains(error.code), "\(operation) \(call): \(error)")
          // Nothing is acknowledged afterwards.
          #expect(throws: (any Error).self) { try store.write { _ = try $0.createTable("late") } }
          // What readers see is a committed state all the same.
          let seen = try store.read { try ReferenceStore($0) }
          #expect(seen == acknowledged || seen == attempted, "\(operation) \(call)")
        }
      }
      medium.removeFaults()
      for image in [medium.killImage, medium.state.nothing, medium.state.everything] {
        let again = try Store.open(SimulatedDisk(SimulatedMedium(image)), Self.options())
        let found = try again.read { try ReferenceStore($0) }
        #expect(found == acknowledged || found == attempted, "\(operation) \(call)")
        try requireSound(again, "\(operation) \(call)")
        try again.write { try $0.put("after", "", in: try $0.createTableIfMissing("t")) }
      }
    }
  }

  @Test("[C-3] A full disk fails the transaction alone; deleting works, and freed space serves again")
  func fullDisk() throws {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))
    let store = try Store.open(SimulatedDisk(medium), Self.options())
    try store.write { _ = try $0.createTable("t") }
    medium.capacity = 1 << 20
    var count = 0
    var error: StoreError?
    while error == nil, count < 10_000 {
      do {
        try store.write { try $0.put("key \(count)", [UInt8](repeating: 1, count: 1500), in: try $0.table("t")) }
        count += 1
      } catch let found {
        error = found as? StoreError
      }
    }
    #expect(error?.code == .noSpace)
    #expect(count > 100)
    #expect(try store.read { try $0.count(try $0.table("t")) } == count)
    try requireSound(store, "full")
    for number in 0..<count / 2 {
      try store.write { _ = try $0.delete("key \(number)", in: try $0.table("t")) }
    }
    try store.checkpoint()
    try store.checkpoint()
    for number in 0..<count / 4 {
      try store.write { try $0.put("new \(number)", [UInt8](repeating: 2, count: 1500), in: try $0.table("t")) }
    }
    try requireSound(store, "after deleting")
    try store.close()
  }
}
