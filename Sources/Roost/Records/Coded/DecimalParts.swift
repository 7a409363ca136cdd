/// A decimal number as sign, integer and power of ten.
struct DecimalParts {
  var isNaN = false
  var isNegative = false
  var magnitude: UInt128 = 0
  var exponent = 0

  /// The exponents that a Decimal can have.
  static let exponents = -128...127

  /// The parts of `value`. Trailing zeros of the integer go into the exponent, so that equal numbers have equal parts.
  init(_ value: Decimal) {
    if value.isNaN {
      isNaN = true
      return
    }
    guard value != 0, var magnitude = UInt128(value.significand.magnitude.description) else { return }
    isNegative = value.sign == .minus
    exponent = value.exponent
    while magnitude.isMultiple(of: 10), exponent < Self.exponents.upperBound {
      magnitude /= 10
      exponent += 1
    }
    self.magnitude = magnitude
  }

  init(isNegative: Bool, magnitude: UInt128, exponent: Int) {
    self.isNegative = isNegative
    self.magnitude = magnitude
    self.exponent = exponent
  }

  static var notANumber: DecimalParts {
    var parts = DecimalParts(isNegative: false, magnitude: 0, exponent: 0)
    parts.isNaN = true
    return parts
  }

  /// `nil` when no Decimal has these parts.
  var decimal: Decimal? {
    if isNaN { return .nan }
    guard Self.exponents.contains(exponent), let significand = Decimal(string: magnitude.description) else {
      return nil
    }
    let value = Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: significand)
    return value.isNaN ? nil : value
  }

  /// Appends the content of the decimal tag.
  func append(to bytes: inout [UInt8]) {
    guard !isNaN else { return CodedValue.null.append(to: &bytes) }
    CodedValue.head(CodedMajor.array, 2, in: &bytes)
    CodedValue.integer(Int64(exponent)).append(to: &bytes)
    if isNegative {
      // CBOR's negative numbers hold -1 - n; a negative decimal is at most -1, so this doesn't underflow.
      appendInteger(CodedMajor.negative, CodedTag.bigNegative, magnitude &- 1, to: &bytes)
    } else {
      appendInteger(CodedMajor.unsigned, CodedTag.bigPositive, magnitude, to: &bytes)
    }
  }

  private func appendInteger(_ major: UInt8, _ tag: UInt64, _ value: UInt128, to bytes: inout [UInt8]) {
    // Readers take a negative integer of 64 bits with its sign, so larger ones need the long form.
    let limit: UInt128 = major == CodedMajor.negative ? UInt128(Int64.max) : UInt128(UInt64.max)
    if value <= limit { return CodedValue.head(major, UInt64(truncatingIfNeeded: value), in: &bytes) }
    CodedValue.head(CodedMajor.tag, tag, in: &bytes)
    let content = withUnsafeBytes(of: value.bigEndian) { Array($0.drop { $0 == 0 }) }
    CodedValue.head(CodedMajor.bytes, UInt64(content.count), in: &bytes)
    bytes += content
  }
}
