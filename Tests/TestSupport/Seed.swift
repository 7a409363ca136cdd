import Foundation

/// A seed for a test's random choices: given as an argument of a parameterised test it is shown
/// with each failure, and `ROOST_SEED=<number>` runs the test with that one alone.
package struct Seed: Sendable, Hashable, CustomStringConvertible {
  package let value: UInt64

  package init(_ value: UInt64) {
    self.value = value
  }

  /// The seeds 1 to `count`, or the one from the environment.
  package static func first(_ count: Int) -> [Seed] {
    if let text = ProcessInfo.processInfo.environment["ROOST_SEED"], let value = UInt64(text) {
      return [Seed(value)]
    }
    return (0..<count).map { Seed(UInt64($0) + 1) }
  }

  package var generator: SplitMix64 { SplitMix64(seed: value) }

  package var description: String { "ROOST_SEED=\(value)" }
}

/// A small generator whose whole sequence follows from the seed.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) {
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// True once in `n` times.
  package mutating func oneIn(_ n: Int) -> Bool {
    Int.random(in: 0..<n, using: &self) == 0
  }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
