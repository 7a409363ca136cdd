import RoostKV
import TestSupport

/// What the n-th transaction of a hammered store does. It follows from the seed and the number alone, so that writer
/// and judge
/// agree without talking.
struct HammerWork {
  enum Operation {
    case put(key: [UInt8], value: [UInt8])
    case delete(key: [UInt8])
    case deleteRange(from: [UInt8], to: [UInt8])
  }

  static let table = "hammer"
  static let numberKey = Array("number".utf8)

  let seed: UInt64

  static var options: StoreOptions {
    var options = StoreOptions.simulated()
    options.addressSpace = 1 << 30
    options.lockTimeout = .seconds(30)
    return options
  }

  func durability(_ number: UInt64) -> Durability {
    var random = generator(number)
    return random.oneIn(3) ? .relaxed : .durable
  }

  /// Whether the writer checkpoints after it.
  func checkpoints(_ number: UInt64) -> Bool { number % 23 == 0 }

  private func generator(_ number: UInt64) -> SplitMix64 {
    var random = SplitMix64(seed: seed ^ number &* 0x9E37_79B9_7F4A_7C15)
    _ = random.next()
    return random
  }

  func operations(_ number: UInt64) -> [Operation] {
    var random = generator(number)
    _ = random.next()
    var operations: [Operation] = []
    func key(_ n: Int) -> [UInt8] { Array("key \(n)".utf8) }
    func value(_ length: Int) -> [UInt8] {
      let first = UInt8(truncatingIfNeeded: number)
      return (0..<length).map { first &+ UInt8(truncatingIfNeeded: $0 &* 13) }
    }
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let place = Int.random(in: 0..<300, using: &random)
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<12: operations.append(.put(key: key(place), value: value(Int.random(in: 0...300, using: &random))))
      case 12..<14: operations.append(.put(key: key(place), value: value(1700)))
      case 14: operations.append(.put(key: key(place % 9), value: value(Int.random(in: 3000...90_000, using: &random))))
      case 15..<19: operations.append(.delete(key: key(place)))
      default: operations.append(.deleteRange(from: key(place), to: key(place + 20)))
      }
    }
    if random.oneIn(40) {
      for place in 0..<60 { operations.append(.put(key: key(place), value: value(800))) }
    }
    operations.append(.put(key: Self.numberKey, value: withUnsafeBytes(of: number.littleEndian) { Array($0) }))
    return operations
  }

  func apply(_ number: UInt64, to transaction: inout WriteTransaction) throws(StoreError) {
    let table = try transaction.createTableIfMissing(Self.table)
    for operation in operations(number) {
      switch operation {
      case .put(let key, let value): try transaction.put(key, value, in: table)
      case .delete(let key): try transaction.delete(key, in: table)
      case .deleteRange(let from, let to):
        try transaction.deleteRange(KeyRange(lower: .included(from), upper: .excluded(to)), in: table)
      }
    }
  }

  func apply(_ number: UInt64, to rows: inout [[UInt8]: [UInt8]]) {
    for operation in operations(number) {
      switch operation {
      case .put(let key, let value): rows[key] = value
      case .delete(let key): rows[key] = nil
      case .deleteRange(let from, let to):
        for key in rows.keys where !key.lexicographicallyPrecedes(from) && key.lexicographicallyPrecedes(to) {
          rows[key] = nil
        }
      }
    }
  }

  /// The newest transaction that a store shows; 0 for a new one.
  static func number(_ state: borrowing ReadTransaction) throws(StoreError) -> UInt64 {
    guard let table = try state.tableIfPresent(Self.table), let bytes = try state.get(numberKey, in: table),
      bytes.count == 8
    else { return 0 }
    return bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
  }
}
