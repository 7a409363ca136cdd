import Foundation
import RoostKV
import TestSupport
import Testing

/// The order of keys is the order of values, and keys read back.
@Suite struct KeyOrderTests {
  private static let integers: [Int128] = {
    var values: [Int128] = [0, 1, -1, Int128(Int64.min), Int128(Int64.max), Int128(UInt64.max)]
    for bits in 1..<64 {
      for delta in -1...1 {
        let value = Int128(1) << bits + Int128(delta)
        values += [value, -value]
      }
    }
    return values.filter { $0 >= Int128(Int64.min) && $0 <= Int128(UInt64.max) }.sorted()
  }()

  private static func key(_ value: Int128) -> [UInt8] {
    Int64(exactly: value).map { KeyEncoder.key($0) } ?? KeyEncoder.key(UInt64(value))
  }

  /// SPEC.md [K-3]
  @Test func integersOrderAcrossWidthsAndSigns() {
    for (low, high) in zip(Self.integers, Self.integers.dropFirst()) {
      let order = compare(Self.key(low), Self.key(high))
      #expect(order == (low == high ? 0 : -1), "\(low) \(high)")
    }
    #expect(KeyEncoder.key(Int8(-5)) == KeyEncoder.key(Int64(-5)))
    #expect(KeyEncoder.key(UInt8(200)) == KeyEncoder.key(UInt64(200)))
  }

  @Test func integersReadBackAndMustFit() throws {
    for value in Self.integers {
      var decoder = KeyDecoder(Self.key(value))
      if let small = Int64(exactly: value) {
        #expect(try decoder.decode(Int64.self) == small)
        #expect(decoder.isAtEnd)
      } else {
        #expect(throws: StoreError.self) { try decoder.decode(Int64.self) }
      }
      var narrow = KeyDecoder(Self.key(value))
      if let byte = Int8(exactly: value) {
        #expect(try narrow.decode(Int8.self) == byte)
      } else {
        #expect(throws: StoreError.self) { try narrow.decode(Int8.self) }
      }
      var unsigned = KeyDecoder(Self.key(value))
      if value >= 0 {
        #expect(try unsigned.decode(UInt64.self) == UInt64(value))
      } else {
        #expect(throws: StoreError.self) { try unsigned.decode(UInt64.self) }
      }
    }
  }

  @Test(arguments: Seed.first(4))
  func doublesOrder(seed: Seed) throws {
    var random = seed.generator
    var values: [Double] = [
      0, 1, -1, .infinity, -.infinity, .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
      .greatestFiniteMagnitude,
    ]
    values += (0..<300).map { _ in Double(bitPattern: random.next()) }.filter { !$0.isNaN }
    values.sort()
    for (low, high) in zip(values, values.dropFirst()) {
      #expect(compare(KeyEncoder.key(low), KeyEncoder.key(high)) == (low == high ? 0 : -1), "\(low) \(high)")
    }
    for value in values {
      var decoder = KeyDecoder(KeyEncoder.key(value))
      #expect(try decoder.decode(Double.self) == value)
    }
  }

  /// SPEC.md [K-4]
  @Test func zeroAndNaN() {
    #expect(KeyEncoder.key(-0.0) == KeyEncoder.key(0.0))
    #expect(KeyEncoder.key(Double.nan) == KeyEncoder.key(-Double.nan))
    #expect(compare(KeyEncoder.key(Double.infinity), KeyEncoder.key(Double.nan)) == -1)
    #expect(KeyEncoder.key(Float(1.5)) == KeyEncoder.key(1.5))
  }

  /// SPEC.md [K-6]
  @Test(arguments: Seed.first(4))
  func stringsAndBytesOrder(seed: Seed) throws {
    var random = seed.generator
    let alphabet: [Character] = ["\0", "a", "b", "\u{1}", "é", "e\u{301}", "\u{10FFFF}", "日"]
    let values = (0..<200).map { _ in
      String(
        (0..<Int.random(in: 0...6, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a" }
      )
    }
    for _ in 0..<2000 {
      let (a, b) = (values.randomElement(using: &random) ?? "", values.randomElement(using: &random) ?? "")
      let raw = compare(KeyEncoder.key(a, 1), KeyEncoder.key(b, 1))
      #expect(raw == compare(Array(a.utf8), Array(b.utf8)))
      #expect(compare(KeyEncoder.key(Array(a.utf8), 1), KeyEncoder.key(Array(b.utf8), 1)) == raw)
      var (x, y) = (KeyEncoder(), KeyEncoder())
      x.appendNormalized(a)
      y.appendNormalized(b)
      #expect((x.bytes == y.bytes) == (a == b), "\(a.debugDescription) \(b.debugDescription)")
      // Swift 6.3 says of "e\u{301}" and "\u{E9}b" that neither is less; keys order those as well.
      if a < b || b < a {
        #expect(compare(x.bytes, y.bytes) == (a < b ? -1 : 1), "\(a.debugDescription) \(b.debugDescription)")
      }
    }
    for value in values {
      var decoder = KeyDecoder(KeyEncoder.key(value, Array(value.utf8)))
      #expect(Array(try decoder.decode(String.self).utf8) == Array(value.utf8))
      #expect(try decoder.decode([UInt8].self) == Array(value.utf8))
      #expect(decoder.isAtEnd)
    }
  }

  @Test func normalFormOfEveryScalarIsSwifts() {
    var wrong: [String] = []
    for value in UInt32(0x80)...0x1_FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      for text in [String(scalar), String(scalar) + "\u{301}"] {
        let normal = text.normalized
        let isKnown = Array(text.utf8).withUnsafeBufferPointer(\.isKnownNormal)
        let isStable = Array(normal.normalized.utf8) == Array(normal.utf8)
        let isSame = Array(text.utf8) == Array(normal.utf8)
        if normal != text || !isStable || isKnown && !isSame { wrong.append(text) }
      }
    }
    #expect(wrong.isEmpty)
  }

  /// SPEC.md [K-5]
  @Test(arguments: Seed.first(4))
  func decimalsOrder(seed: Seed) throws {
    var random = seed.generator
    var values: [Decimal] = [
      0, 1, -1, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .leastFiniteMagnitude,
    ]
    values += (0..<200).map { _ in
      let digits = Decimal(UInt64.random(in: 0...(random.oneIn(2) ? 99 : .max), using: &random))
      return Decimal(
        sign: random.oneIn(2) ? .minus : .plus, exponent: Int.random(in: -30...30, using: &random),
        significand: digits)
    }
    values.sort()
    for (low, high) in zip(values, values.dropFirst()) {
      #expect(compare(KeyEncoder.key(low), KeyEncoder.key(high)) == (low == high ? 0 : -1), "\(low) \(high)")
    }
    for value in values {
      var decoder = KeyDecoder(KeyEncoder.key(value, true))
      #expect(try decoder.decode(Decimal.self) == value)
      #expect(try decoder.decode(Bool.self))
    }
    #expect(compare(KeyEncoder.key(Decimal.greatestFiniteMagnitude), KeyEncoder.key(Decimal.nan)) == -1)
    #expect(KeyEncoder.key(Decimal(string: "1.0") ?? 0) == KeyEncoder.key(Decimal(string: "1.00") ?? 0))
  }

  @Test func otherTypesReadBackAndOrder() throws {
    let id = UUID()
    let key = KeyEncoder.key(id, Date.distantPast, Data([0, 255, 0]), String?.none, Int?.some(7), Float(2.5))
    var decoder = KeyDecoder(key)
    #expect(try decoder.decode(UUID.self) == id)
    #expect(try decoder.decode(Date.self) == .distantPast)
    #expect(try decoder.decode(Data.self) == Data([0, 255, 0]))
    #expect(try decoder.decode(String?.self) == nil)
    #expect(try decoder.decode(Int?.self) == 7)
    #expect(try decoder.decode(Float.self) == 2.5)
    #expect(decoder.isAtEnd)
    #expect(compare(KeyEncoder.key(Int?.none), KeyEncoder.key(Int?.some(.min))) == -1)
    #expect(compare(KeyEncoder.key(Date.distantPast), KeyEncoder.key(Date.distantFuture)) == -1)
    #expect(compare(KeyEncoder.key(false), KeyEncoder.key(true)) == -1)
  }

  @Test(arguments: Seed.first(4))
  func compositesOrderAsTuples(seed: Seed) {
    var random = seed.generator
    func component() -> (String, Int) {
      (
        ["", "a", "a\0", "a\0b", "b"].randomElement(using: &random) ?? "",
        Int.random(in: -2...2, using: &random)
      )
    }
    for _ in 0..<2000 {
      let (a, b) = (component(), component())
      let expected =
        a == b ? 0 : (a.0 != b.0 ? a.0.utf8.lexicographicallyPrecedes(b.0.utf8) : a.1 < b.1) ? -1 : 1
      #expect(compare(KeyEncoder.key(a.0, a.1), KeyEncoder.key(b.0, b.1)) == expected)
    }
  }

  @Test func identifiersAreFoundAtTheEnd() {
    var encoder = KeyEncoder()
    encoder.append("x")
    encoder.appendIdentifier(0x0102_0304_0506_0708)
    #expect(encoder.bytes.withUnsafeBytes { KeyDecoder.trailingIdentifier($0) } == 0x0102_0304_0506_0708)
    #expect([UInt8](repeating: 1, count: 20).withUnsafeBytes { KeyDecoder.trailingIdentifier($0) } == nil)
    #expect([UInt8](repeating: 0x50, count: 8).withUnsafeBytes { KeyDecoder.trailingIdentifier($0) } == nil)
  }
}

/// -1, 0 or 1, as `memcmp` and then the length decide.
private func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
  a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
}
