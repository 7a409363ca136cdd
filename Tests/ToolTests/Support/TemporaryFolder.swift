import Foundation
import RoostKV

/// A folder that goes with its owner.
final class TemporaryFolder {
  let root: URL

  init() throws {
    root = FileManager.default.temporaryDirectory.appendingPathComponent("roost-tool-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: root)
  }

  /// The path of a file of that name in the folder; a path is returned as it is.
  func path(_ name: String) -> String {
    name.hasPrefix("/") ? name : root.appendingPathComponent(name).path
  }

  func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  @discardableResult
  func write(_ bytes: [UInt8], to name: String) throws -> String {
    try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    return path(name)
  }

  /// Makes a store of the given tables and returns its path.
  @discardableResult
  func makeStore(_ name: String, _ tables: [String: [(key: [UInt8], value: [UInt8])]]) throws -> String {
    let store = try Store.open(path(name))
    try store.write { transaction in
      for (name, entries) in tables {
        let table = try transaction.createTableIfMissing(name)
        for (key, value) in entries { try transaction.put(key, value, in: table) }
      }
    }
    try store.close()
    return path(name)
  }
}

/// Repeatable randomness (SplitMix64).
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  mutating func bytes(upTo limit: Int) -> [UInt8] {
    (0..<Int.random(in: 0...limit, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
  }
}
