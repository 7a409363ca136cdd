import Foundation
import TestSupport
import Testing

@testable import Roost

/// Codable values as records hold them.
@Suite struct CodedValueTests {
  private enum Shape: Codable, Equatable {
    case empty
    case circle(radius: Double)
    case pair(Int, String?)
    indirect case nested(Shape)
  }

  private struct Everything: Codable, Equatable {
    var bool = true
    var int8 = Int8.min
    var uint64 = UInt64.max
    var int = Int.min
    var float = Float.pi
    var double = -0.0
    var text = "naïve \0 😀"
    var data = Data([0, 255])
    var date = Date.distantPast
    var uuid = UUID()
    var url = URL(string: "https://example.org/a?b=c%20d")
    var decimal = Decimal(string: "-79228162514264337593543950335.123456789") ?? 0
    var optional: String?
    var nested: Int?? = .some(nil)
    var deep: Int??? = .some(.some(nil))
    var list: [Int?] = [1, nil, 3]
    var lists: [Int??] = [.some(nil), nil, 2]
    var byName = ["b": 1, "a": 2]
    var byNumber = [3: ["x"], -1: []]
    var byDecimal: [Decimal: Bool] = [1.5: true]
    var set: Set<String> = ["q", "w", "e"]
    var shapes: [Shape] = [.empty, .circle(radius: 1), .pair(2, nil), .nested(.nested(.empty))]
    var range = 1..<4
  }

  private func recoded<T: Codable>(_ value: T) throws -> T {
    let bytes = try CodedEncoder.encode(value).bytes
    return try CodedDecoder.decode(T.self, from: CodedValue(bytes))
  }

  @Test func everythingSurvives() throws {
    let value = Everything()
    #expect(try recoded(value) == value)
    #expect(try recoded([value, value]).count == 2)
    #expect(try recoded(value).double.sign == .minus)
  }

  @Test func nestedOptionalsAtTheTop() throws {
    #expect(try recoded(Int??.some(nil)) == .some(nil))
    #expect(try recoded(Int??.none) == .none)
    #expect(try recoded(Int???.some(.some(nil))) == .some(.some(nil)))
    #expect(try recoded(Int???.some(nil)) == .some(nil))
    #expect(try recoded(Int???.some(.some(4))) == 4)
  }

  @Test func numbersKeepTheirBits() throws {
    let double = Double(bitPattern: 0x7FF8_0000_0000_0042)
    #expect(try recoded([double])[0].bitPattern == double.bitPattern)
    #expect(try recoded([Float.nan])[0].isNaN)
    #expect(try recoded(Decimal.nan).isNaN)
    for text in [
      "0", "1", "-1", "0.1", "340282366920938463463374607431768211455", "-18446744073709551616", "1e-100",
      "-9223372036854775809",
    ] {
      let value = Decimal(string: text) ?? .nan
      #expect(try recoded(value) == value, "\(text)")
    }
    #expect(try recoded(Decimal.greatestFiniteMagnitude) == .greatestFiniteMagnitude)
    #expect(try recoded(Decimal.leastNonzeroMagnitude) == .leastNonzeroMagnitude)
  }

  @Test func missingKeysAreNil() throws {
    struct Before: Codable { var first = "a" }
    struct After: Codable, Equatable {
      var first: String
      var second: String?
      var third: Int

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        first = try container.decode(String.self, forKey: .first)
        second = try container.decodeIfPresent(String.self, forKey: .second)
        third = try container.decodeIfPresent(Int.self, forKey: .third) ?? 7
      }
    }
    let after = try CodedDecoder.decode(After.self, from: CodedEncoder.encode(Before()))
    #expect(after.first == "a" && after.second == nil && after.third == 7)
    struct Required: Codable { var missing: Int }
    #expect(throws: DecodingError.self) {
      try CodedDecoder.decode(Required.self, from: CodedEncoder.encode(Before()))
    }
  }

  /// SPEC.md
  @Test func classesWithSuperclasses() throws {
    class Base: Codable {
      var a = 0
      init() {}
    }
    final class Derived: Base {
      var b = 0
      override init() { super.init() }
      private enum Keys: CodingKey { case b }
      required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        b = try container.decode(Int.self, forKey: .b)
        try super.init(from: container.superDecoder())
      }
      override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(b, forKey: .b)
        try super.encode(to: container.superEncoder())
      }
    }
    let value = Derived()
    value.a = 1
    value.b = 2
    let copy = try recoded(value)
    #expect(copy.a == 1 && copy.b == 2)
  }

  /// SPEC.md
  @Test func equalValuesHaveEqualBytes() throws {
    let names = (0..<200).map { "name \($0)" }
    let forward = try CodedEncoder.encode(Set(names)).bytes
    var other = Set<String>(minimumCapacity: 4000)
    for name in names.reversed() { other.insert(name) }
    #expect(try CodedEncoder.encode(other).bytes == forward)
    let map = Dictionary(uniqueKeysWithValues: names.map { ($0, 1) })
    var grown: [String: Int] = Dictionary(minimumCapacity: 4000)
    for name in names.reversed() { grown[name] = 1 }
    #expect(try CodedEncoder.encode(grown).bytes == CodedEncoder.encode(map).bytes)
  }

  /// The examples of the specification.
  /// SPEC.md
  @Test func bytes() throws {
    struct Address: Codable {
      var street = "Elm"
      var number = 5
      var extra: String?
    }
    func hex(_ value: some Encodable) throws -> String {
      try CodedEncoder.encode(value).bytes.map { String(format: "%02x", $0) }.joined()
    }
    #expect(try hex(Address()) == "a2" + "666e756d626572" + "05" + "66737472656574" + "63456c6d")
    #expect(try hex(["a": 1, "bb": -1]) == "a2" + "6161" + "01" + "626262" + "20")
    #expect(try hex(Date(timeIntervalSinceReferenceDate: 1.5)) == "d99c41" + "fb3ff8000000000000")
    #expect(try hex(Decimal(string: "12.5") ?? 0) == "c4" + "82" + "20" + "187d")
    #expect(try hex(Decimal.nan) == "c4f6")
    #expect(try hex(UInt64.max) == "1bffffffffffffffff")
    #expect(try hex(Int??.some(nil)) == "d99c42" + "f6")
    #expect(try hex([true, false]) == "82f5f4")
  }

  private indirect enum List: Codable {
    case end
    case item(List)
  }

  /// SPEC.md
  @Test func deepValuesAreRefused() {
    var list = List.end
    for _ in 0..<300 { list = .item(list) }
    #expect(throws: EncodingError.self) { try CodedEncoder.encode(list) }
    #expect(throws: CodedError.self) { try CodedValue([UInt8](repeating: 0x81, count: 100_000)) }
    #expect(throws: CodedError.self) {
      try CodedValue(Array(repeatElement([0xD9, 0x9C, 0x42] as [UInt8], count: 100_000).joined()))
    }
  }

  @Test(arguments: Seed.first(2))
  func everyTruncationAndFlip(seed: Seed) throws {
    var random = seed.generator
    let bytes = try CodedEncoder.encode(Everything()).bytes
    for length in bytes.indices {
      #expect(throws: CodedError.self) { try CodedValue(Array(bytes[..<length])) }
    }
    for place in bytes.indices {
      for _ in 0..<3 {
        var flipped = bytes
        flipped[place] ^= UInt8.random(in: 1...255, using: &random)
        guard let value = try? CodedValue(flipped) else { continue }
        _ = try? CodedDecoder.decode(Everything.self, from: value)
      }
    }
  }

  @Test(arguments: Seed.first(4))
  func randomBytes(seed: Seed) {
    var random = seed.generator
    for _ in 0..<5000 {
      guard let value = try? CodedValue(random.bytes(Int.random(in: 0...30, using: &random))) else {
        continue
      }
      // What was read can be written, and is then in its only form.
      #expect((try? CodedValue(value.bytes))?.bytes == value.bytes)
    }
  }
}
