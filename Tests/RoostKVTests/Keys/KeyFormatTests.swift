import Foundation
import RoostKV
import TestSupport
import Testing

/// The bytes of keys, as the specification's examples have them, and what is done with other bytes.
@Suite struct KeyFormatTests {
  /// SPEC.md [K-2]
  @Test(arguments: [
    (KeyEncoder.key(Int?.none), "05"),
    (KeyEncoder.key(false), "08"),
    (KeyEncoder.key(true), "09"),
    (KeyEncoder.key(0), "20"),
    (KeyEncoder.key(1), "2101"),
    (KeyEncoder.key(-1), "1ffe"),
    (KeyEncoder.key(255), "21ff"),
    (KeyEncoder.key(256), "220100"),
    (KeyEncoder.key(-256), "1efeff"),
    (KeyEncoder.key(Int64.min), "187fffffffffffffff"),
    (KeyEncoder.key(UInt64.max), "28ffffffffffffffff"),
    (KeyEncoder.key(1.5), "30bff8000000000000"),
    (KeyEncoder.key(-1.5), "304007ffffffffffff"),
    (KeyEncoder.key(-0.0), "308000000000000000"),
    (KeyEncoder.key(Double.nan), "30ffffffffffffffff"),
    (KeyEncoder.key(Decimal(string: "12.5") ?? 0), "310380020d3300"),
    (KeyEncoder.key(Decimal(string: "-12.5") ?? 0), "31017ffdf2ccff"),
    (KeyEncoder.key(Decimal(0)), "3102"),
    (KeyEncoder.key(Decimal.nan), "3104"),
    (KeyEncoder.key(Date(timeIntervalSinceReferenceDate: 0)), "348000000000000000"),
    (KeyEncoder.key("a\0b"), "406100ff6200"),
    (KeyEncoder.key([UInt8]([1, 0])), "440100ff00"),
  ])
  func bytes(key: [UInt8], hex: String) {
    #expect(key.map { String(format: "%02x", $0) }.joined() == hex)
  }

  /// SPEC.md [K-1]
  @Test func componentsReadWithoutASchema() {
    var encoder = KeyEncoder()
    encoder.append("Zoë")
    encoder.append(UInt64.max)
    encoder.append(-3)
    encoder.append(Decimal(string: "-0.25") ?? 0)
    encoder.appendIdentifier(9)
    var decoder = KeyDecoder(encoder.bytes)
    let expected: [KeyComponent?] = [
      .string("Zoë"), .unsigned(.max), .integer(-3), .decimal(Decimal(string: "-0.25") ?? 0), .identifier(9),
    ]
    #expect(decoder.remaining() == expected)
  }

  /// SPEC.md [K-7]
  @Test func normalFormIsStored() {
    var (composed, decomposed) = (KeyEncoder(), KeyEncoder())
    composed.appendNormalized("\u{E9}")
    decomposed.appendNormalized("e\u{301}")
    #expect(composed.bytes == [0x40, 0xC3, 0xA9, 0])
    #expect(decomposed.bytes == composed.bytes)
  }

  /// No bytes trap, and what reads as one value reads as the same again after encoding.
  @Test(arguments: Seed.first(8))
  func hostileBytes(seed: Seed) {
    var random = seed.generator
    let tags: [UInt8] = [0x05, 0x08, 0x09, 0x18, 0x1F, 0x20, 0x28, 0x30, 0x31, 0x34, 0x40, 0x44, 0x48, 0x50]
    for _ in 0..<4000 {
      var bytes = random.bytes(Int.random(in: 0...24, using: &random))
      if !bytes.isEmpty, !random.oneIn(4) { bytes[0] = tags.randomElement(using: &random) ?? 0 }
      if bytes.count > 1, bytes[0] == 0x31 { bytes[1] = UInt8.random(in: 0...5, using: &random) }
      var decoder = KeyDecoder(bytes)
      _ = decoder.remaining()
      var typed = KeyDecoder(bytes)
      _ = try? typed.decode(Int8.self)
      typed = KeyDecoder(bytes)
      _ = try? typed.decode(Decimal.self)
      typed = KeyDecoder(bytes)
      _ = try? typed.decode(Float.self)
      typed = KeyDecoder(bytes)
      _ = try? typed.decode(String.self)
    }
  }

  @Test func truncationsAreErrors() {
    let key = KeyEncoder.key("abc", UUID(), 1.0, Int64.min, Decimal(1))
    for length in 0..<key.count {
      var decoder = KeyDecoder(Array(key[..<length]))
      #expect(throws: StoreError.self) {
        _ = try decoder.decode(String.self)
        _ = try decoder.decode(UUID.self)
        _ = try decoder.decode(Double.self)
        _ = try decoder.decode(Int64.self)
        _ = try decoder.decode(Decimal.self)
      }
    }
  }
}
