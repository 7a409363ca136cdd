#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Ordered by value, so 1.0 and 1.00 have the same bytes; NaN comes after all numbers.
///
/// After the tag: a byte for the sign, the place of the first digit, then digits in pairs up to a zero
/// byte. A negative number has the complement of the bytes that its positive would have.
extension Decimal: OrderedKey {
  private enum Sign {
    static let negative: UInt8 = 1
    static let zero: UInt8 = 2
    static let positive: UInt8 = 3
    static let notANumber: UInt8 = 4
  }

  public func encode(to encoder: inout KeyEncoder) {
    encoder.appendTag(KeyTag.decimal)
    guard !isNaN else { return encoder.appendTag(Sign.notANumber) }
    guard self != 0 else { return encoder.appendTag(Sign.zero) }
    let negative = sign == .minus
    let body = Self.orderedMagnitude(
      digits: Array(significand.magnitude.description.utf8), exponent: exponent)
    encoder.appendTag(negative ? Sign.negative : Sign.positive)
    body.map { negative ? ~$0 : $0 }.withUnsafeBytes { encoder.appendRaw($0) }
  }

  /// `digits` are ASCII digits without a point, the first not zero.
  private static func orderedMagnitude(digits: [UInt8], exponent: Int) -> [UInt8] {
    var digits = digits.map { $0 &- 0x30 }
    let place = UInt16(truncatingIfNeeded: digits.count + exponent + 0x8000)
    while digits.last == 0 { digits.removeLast() }
    if !digits.count.isMultiple(of: 2) { digits.append(0) }
    var bytes = [UInt8(place >> 8), UInt8(place & 0xFF)]
    for pair in stride(from: 0, to: digits.count, by: 2) {
      // At most 9 * 10 + 9 + 1: fits.
      bytes.append(digits[pair] &* 10 &+ digits[pair + 1] &+ 1)
    }
    return bytes + [0]
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    guard case .decimal(let value) = try decoder.next() else {
      throw KeyDecoder.error("a Decimal is expected")
    }
    self = value
  }

  /// Reads what follows the tag.
  static func decodeOrdered(_ decoder: inout KeyDecoder) throws(StoreError) -> Decimal {
    let sign = try decoder.byte()
    switch sign {
    case Sign.notANumber: return .nan
    case Sign.zero: return 0
    case Sign.negative, Sign.positive: break
    default: throw KeyDecoder.error("a Decimal's sign byte is \(sign)")
    }
    let flip: UInt8 = sign == Sign.negative ? 0xFF : 0
    let place = (Int(try decoder.byte() ^ flip) << 8 | Int(try decoder.byte() ^ flip)) - 0x8000
    var digits: [UInt8] = []
    while true {
      let pair = try decoder.byte() ^ flip
      guard pair != 0 else { break }
      guard pair <= 100, digits.count < 40 else { throw KeyDecoder.error("a Decimal has impossible digits") }
      digits += [0x30 + (pair - 1) / 10, 0x30 + (pair - 1) % 10]
    }
    let text = (flip == 0 ? "" : "-") + String(decoding: digits, as: UTF8.self) + "e\(place - digits.count)"
    guard !digits.isEmpty, let value = Decimal(string: text) else {
      throw KeyDecoder.error("a Decimal has impossible digits")
    }
    return value
  }
}
