/// How the tool writes bytes as text: printable ASCII stands for itself, all else and the
/// backslash as `\xHH` with two lower-case hexadecimal digits.
enum Escaping {
  static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte <= 0x7E && byte != 0x5C
  }

  static func escape(_ text: String) -> String { escape(text.utf8) }

  static func escape(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { isPlain($0) ? String(UnicodeScalar($0)) : "\\x" + hexDigits($0) }.joined()
  }
}

/// Undoes the escaping, over pieces that may be cut anywhere.
struct Unescaper {
  /// How many characters of an escape have been seen: 0 to 3.
  private var seen = 0
  private var high: UInt8 = 0

  /// Whether the bytes so far end with a whole character.
  var isComplete: Bool { seen == 0 }

  /// Appends what `piece` stands for; `false` when it isn't the escaping of anything.
  mutating func append(_ piece: UnsafeRawBufferPointer, to bytes: inout [UInt8]) -> Bool {
    for byte in piece {
      switch seen {
      case 0 where Escaping.isPlain(byte):
        bytes.append(byte)
        continue
      case 0:
        guard byte == UInt8(ascii: "\\") else { return false }
      case 1:
        guard byte == UInt8(ascii: "x") else { return false }
      case 2:
        guard let digit = hexValue(byte) else { return false }
        high = digit
      default:
        // Each byte has one spelling only.
        guard let low = hexValue(byte), !Escaping.isPlain(high << 4 | low) else { return false }
        bytes.append(high << 4 | low)
      }
      seen = (seen + 1) & 3
    }
    return true
  }
}

/// The lower-case hexadecimal digit of a value below 16.
func hexDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? 0x30 &+ value : 0x57 &+ value
}

/// The two lower-case hexadecimal digits of a byte.
func hexDigits(_ byte: UInt8) -> String {
  String(decoding: [hexDigit(byte >> 4), hexDigit(byte & 15)], as: UTF8.self)
}

/// The value of a lower-case hexadecimal digit.
func hexValue(_ digit: UInt8) -> UInt8? {
  switch digit {
  case 0x30...0x39: digit - 0x30
  case 0x61...0x66: digit - 0x61 + 10
  default: nil
  }
}

/// The bytes that hexadecimal digits of either case stand for.
func bytes(fromHex text: String) -> [UInt8]? {
  let digits = Array(text.lowercased().utf8)
  guard digits.count.isMultiple(of: 2) else { return nil }
  var bytes: [UInt8] = []
  for index in stride(from: 0, to: digits.count, by: 2) {
    guard let high = hexValue(digits[index]), let low = hexValue(digits[index + 1]) else { return nil }
    bytes.append(high << 4 | low)
  }
  return bytes
}

extension Output {
  func writeEscaped(_ bytes: UnsafeRawBufferPointer) throws {
    try write(bytes, atMost: 4) { byte, target in
      guard !Escaping.isPlain(byte) else {
        target[0] = byte
        return 1
      }
      target[0] = UInt8(ascii: "\\")
      target[1] = UInt8(ascii: "x")
      target[2] = hexDigit(byte >> 4)
      target[3] = hexDigit(byte & 15)
      return 4
    }
  }

  func writeHex(_ bytes: UnsafeRawBufferPointer) throws {
    try write(bytes, atMost: 2) { byte, target in
      target[0] = hexDigit(byte >> 4)
      target[1] = hexDigit(byte & 15)
      return 2
    }
  }
}
