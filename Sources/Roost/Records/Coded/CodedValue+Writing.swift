/// The tags that mark what CBOR has no type of its own for.
enum CodedTag {
  /// An integer of more than 64 bits, as big-endian bytes.
  static let bigPositive: UInt64 = 2
  static let bigNegative: UInt64 = 3
  /// [exponent of ten, integer]; null for a decimal that is not a number.
  static let decimal: UInt64 = 4
  static let url: UInt64 = 32
  static let uuid: UInt64 = 37
  /// Seconds since 2001-01-01 00:00 UTC.
  static let date: UInt64 = 40_001
  static let present: UInt64 = 40_002
}

/// CBOR's major types, in the place they have in an item's first byte.
enum CodedMajor {
  static let unsigned: UInt8 = 0 << 5
  static let negative: UInt8 = 1 << 5
  static let bytes: UInt8 = 2 << 5
  static let text: UInt8 = 3 << 5
  static let array: UInt8 = 4 << 5
  static let map: UInt8 = 5 << 5
  static let tag: UInt8 = 6 << 5
  static let simple: UInt8 = 7 << 5
}

extension CodedValue {
  /// The value's bytes. Equal values have equal bytes.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(0xF6)
    case .bool(let value): bytes.append(value ? 0xF5 : 0xF4)
    case .integer(let value) where value < 0:
      Self.head(CodedMajor.negative, UInt64(bitPattern: ~value), in: &bytes)
    case .integer(let value): Self.head(CodedMajor.unsigned, UInt64(bitPattern: value), in: &bytes)
    case .unsigned(let value): Self.head(CodedMajor.unsigned, value, in: &bytes)
    case .float(let value):
      bytes.append(0xFA)
      withUnsafeBytes(of: value.bitPattern.bigEndian) { bytes += $0 }
    case .double(let value): Self.double(value, in: &bytes)
    case .string(let value): Self.text(value, in: &bytes)
    case .data(let value):
      Self.head(CodedMajor.bytes, UInt64(value.count), in: &bytes)
      bytes += value
    case .array(let values):
      Self.head(CodedMajor.array, UInt64(values.count), in: &bytes)
      for value in values { value.append(to: &bytes) }
    case .map(let pairs):
      Self.head(CodedMajor.map, UInt64(pairs.count), in: &bytes)
      for pair in pairs {
        Self.text(pair.key, in: &bytes)
        pair.value.append(to: &bytes)
      }
    case .date, .uuid, .decimal, .url, .present: appendTagged(to: &bytes)
    }
  }

  private func appendTagged(to bytes: inout [UInt8]) {
    switch self {
    case .date(let seconds):
      Self.head(CodedMajor.tag, CodedTag.date, in: &bytes)
      Self.double(seconds, in: &bytes)
    case .uuid(let value):
      Self.head(CodedMajor.tag, CodedTag.uuid, in: &bytes)
      Self.head(CodedMajor.bytes, 16, in: &bytes)
      withUnsafeBytes(of: value.uuid) { bytes += $0 }
    case .decimal(let value):
      Self.head(CodedMajor.tag, CodedTag.decimal, in: &bytes)
      DecimalParts(value).append(to: &bytes)
    case .url(let value):
      Self.head(CodedMajor.tag, CodedTag.url, in: &bytes)
      Self.text(value, in: &bytes)
    case .present(let value):
      Self.head(CodedMajor.tag, CodedTag.present, in: &bytes)
      value.append(to: &bytes)
    default: append(to: &bytes)
    }
  }

  private static func double(_ value: Double, in bytes: inout [UInt8]) {
    bytes.append(0xFB)
    withUnsafeBytes(of: value.bitPattern.bigEndian) { bytes += $0 }
  }

  private static func text(_ value: String, in bytes: inout [UInt8]) {
    var text = value
    text.withUTF8 { utf8 in
      head(CodedMajor.text, UInt64(utf8.count), in: &bytes)
      bytes += utf8
    }
  }

  /// An item's first bytes, in their shortest form: the major type and its argument.
  static func head(_ major: UInt8, _ argument: UInt64, in bytes: inout [UInt8]) {
    switch argument {
    case 0..<24: bytes.append(major | UInt8(argument))
    case 24...0xFF: bytes += [major | 24, UInt8(argument)]
    case 0x100...0xFFFF:
      bytes.append(major | 25)
      withUnsafeBytes(of: UInt16(argument).bigEndian) { bytes += $0 }
    case 0x1_0000...0xFFFF_FFFF:
      bytes.append(major | 26)
      withUnsafeBytes(of: UInt32(argument).bigEndian) { bytes += $0 }
    default:
      bytes.append(major | 27)
      withUnsafeBytes(of: argument.bigEndian) { bytes += $0 }
    }
  }
}
