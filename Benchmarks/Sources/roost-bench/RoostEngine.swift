import Foundation
import RoostKV

final class RoostEngine: Engine {
  static let name = "roost"
  private let path: String
  private let store: Store
  private let table: Table

  init(folder: String) throws {
    path = folder + "/bench.store"
    store = try Store.open(path)
    table = try store.write { try $0.createTableIfMissing("bench") }
  }

  func put(_ workload: Workload, _ numbers: some Collection<Int>) throws {
    var value = [UInt8](repeating: 0, count: Workload.valueBytes)
    try store.write { transaction in
      for number in numbers {
        workload.fill(&value, number)
        try workload.key(number) { try transaction.put($0, value, in: table) }
      }
    }
  }

  func get(_ workload: Workload, _ numbers: some Collection<Int>) throws -> UInt64 {
    try store.read { view in
      var sum: UInt64 = 0
      for number in numbers {
        try workload.key(number) { key in sum ^= try view.withValue(of: key, in: table) { touched($0) } ?? 0 }
      }
      return sum
    }
  }

  func scan() throws -> UInt64 {
    try store.read { view in
      var sum: UInt64 = 0
      try view.forEach(in: table) { key, value in
        sum ^= touched(key) ^ touched(value)
        return true
      }
      return sum
    }
  }

  func settle() throws { try store.checkpoint() }

  func size() throws -> Int {
    (try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
  }

  func close() throws { try store.close() }
}
