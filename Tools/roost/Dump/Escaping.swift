/// How the tool writes bytes as text: printable ASCII stands for itself, all else and the
/// backslash as `\xHH` with two lower-case hexadecimal digits.
enum Escaping {
  static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte <= 0x7E && byte != 0x5C
  }

  /// Every byte's escape, so that writing one is a look-up.
  static let escapes: [String] = (0...255).map { "\\x" + hexDigits(UInt8($0)) }

  static func escape(_ text: String) -> String {
    text.utf8.map { isPlain($0) ? String(UnicodeScalar($0)) : escapes[Int($0)] }.joined()
  }
}

/// Undoes the escaping, over pieces that may be cut anywhere.
struct Unescaper {
  private enum State {
    case plain
    case afterBackslash
    case afterX
    case afterDigit(UInt8)
  }

  private var state = State.plain

  /// Whether the bytes so far end with a whole character.
  var isComplete: Bool {
    if case .plain = state { true } else { false }
  }

  /// Appends what `piece` stands for; `false` when it isn't the escaping of anything.
  mutating func append(_ piece: UnsafeRawBufferPointer, to bytes: inout [UInt8]) -> Bool {
    var rest = piece[...]
    while let first = rest.first {
      if case .plain = state {
        let end = rest.firstIndex { !Escaping.isPlain($0) } ?? rest.endIndex
        bytes.append(contentsOf: rest[..<end])
        rest = rest[end...]
        guard let next = rest.first else { return true }
        guard next == UInt8(ascii: "\\") else { return false }
        state = .afterBackslash
        rest = rest.dropFirst()
      } else {
        guard step(first, &bytes) else { return false }
        rest = rest.dropFirst()
      }
    }
    return true
  }

  private mutating func step(_ byte: UInt8, _ bytes: inout [UInt8]) -> Bool {
    switch state {
    case .afterBackslash where byte == UInt8(ascii: "x"):
      state = .afterX
    case .afterX:
      guard let digit = hexValue(byte) else { return false }
      state = .afterDigit(digit)
    case .afterDigit(let high):
      guard let low = hexValue(byte) else { return false }
      let value = high << 4 | low
      // Each byte has one spelling only.
      guard !Escaping.isPlain(value) else { return false }
      bytes.append(value)
      state = .plain
    case .plain, .afterBackslash:
      return false
    }
    return true
  }
}

/// The two lower-case hexadecimal digits of a byte.
func hexDigits(_ byte: UInt8) -> String {
  let text = String(byte, radix: 16)
  return byte < 16 ? "0" + text : text
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
    var rest = bytes[...]
    while let special = rest.firstIndex(where: { !Escaping.isPlain($0) }) {
      try write(UnsafeRawBufferPointer(rebasing: rest[..<special]))
      try write(Escaping.escapes[Int(rest[special])])
      rest = rest[(special + 1)...]
    }
    try write(UnsafeRawBufferPointer(rebasing: rest))
  }

  func writeHex(_ bytes: UnsafeRawBufferPointer) throws {
    let digits = Array("0123456789abcdef".utf8)
    for byte in bytes {
      try write(digits[Int(byte >> 4)])
      try write(digits[Int(byte & 15)])
    }
  }
}
