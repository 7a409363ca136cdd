import RoostKV
import Testing

@Suite struct XXH3Tests {
  /// The bytes whose hashes `XXH3Vectors` holds.
  private static let input: [UInt8] = {
    var state: UInt64 = 2_654_435_761
    return (0..<100_000).map { _ in
      defer { state &*= 11_400_714_785_074_694_797 }
      return UInt8(state >> 56)
    }
  }()

  private func hash(_ bytes: ArraySlice<UInt8>, seed: UInt64) -> UInt64 {
    bytes.withUnsafeBytes { XXH3.hash($0, seed: seed) }
  }

  @Test func shortInputsMatchTheReference() {
    for (length, hashes) in XXH3Vectors.short.enumerated() {
      for (seed, expected) in zip(XXH3Vectors.seeds, hashes) {
        let actual = hash(Self.input.prefix(length), seed: seed)
        #expect(actual == expected, "length \(length), seed \(seed)")
      }
    }
  }

  @Test func longInputsMatchTheReference() {
    for (length, hashes) in XXH3Vectors.long {
      for (seed, expected) in zip(XXH3Vectors.seeds, hashes) {
        let actual = hash(Self.input.prefix(length), seed: seed)
        #expect(actual == expected, "length \(length), seed \(seed)")
      }
    }
  }

  @Test func theSeedIsZeroByDefault() {
    let expected = hash(Self.input[...], seed: 0)
    #expect(Self.input.withUnsafeBytes { XXH3.hash($0) } == expected)
  }

  @Test func alignmentDoesNotMatter() {
    for length in [3, 8, 16, 100, 200, 241, 1024, 5000] {
      let expected = hash(Self.input.prefix(length), seed: 9)
      for shift in 1...8 {
        var moved = [UInt8](repeating: 0xFF, count: length + 16)
        moved.replaceSubrange(shift..<shift + length, with: Self.input.prefix(length))
        #expect(hash(moved[shift..<shift + length], seed: 9) == expected)
      }
    }
  }

  /// Flipping any bit of an 8 KiB page changes its hash (a sample of bits from each stripe).
  @Test func everyStripeCounts() {
    var page = Array(Self.input.prefix(8192))
    let expected = hash(page[...], seed: 5)
    for position in stride(from: 0, to: page.count, by: 37) {
      page[position] ^= 1 << UInt8(position & 7)
      #expect(hash(page[...], seed: 5) != expected, "byte \(position)")
      page[position] ^= 1 << UInt8(position & 7)
    }
  }
}
