/// Writes JSON as it goes, so that a document may be larger than the memory.
///
/// Bytes are a string where they are UTF-8, else an object `{"hex": "…"}`.
final class JSONWriter {
  private let output: Output
  private let endsLine: Bool
  private var open: [Container] = []
  private var afterName = false

  /// An object or array that isn't closed yet.
  private struct Container {
    let closing: String
    var inLines = false
    var isEmpty = true
  }

  /// - Parameter endsLine: whether a line ends behind the document; values among other text don't.
  init(_ output: Output, endsLine: Bool = true) {
    self.output = output
    self.endsLine = endsLine
  }

  /// Begins an object, whose members follow up to `end`.
  func beginObject() throws {
    try begin("{", Container(closing: "}"))
  }

  /// Begins an array, whose elements follow up to `end`. `inLines`: each begins a line, for arrays
  /// that may be long.
  func beginArray(inLines: Bool = false) throws {
    try begin("[", Container(closing: "]", inLines: inLines))
  }

  /// Ends the object or array begun last.
  func end() throws {
    guard let container = open.popLast() else { return }
    try output.write(container.closing)
    if open.isEmpty && endsLine { try output.write("\n") }
  }

  /// Begins a member of an object; its value has to follow.
  @discardableResult
  func name(_ name: String) throws -> JSONWriter {
    try separate()
    try string(name)
    try output.write(":")
    afterName = true
    return self
  }

  func value(_ text: String) throws {
    try separate()
    try string(text)
  }

  func value(_ number: some BinaryInteger) throws {
    try value(number: String(number))
  }

  /// A number that is spelled as JSON wants it.
  func value(number: String) throws {
    try separate()
    try output.write(number)
  }

  func value(_ flag: Bool) throws {
    try separate()
    try output.write(flag ? "true" : "false")
  }

  func null() throws {
    try separate()
    try output.write("null")
  }

  func value(_ bytes: UnsafeRawBufferPointer, inHex: Bool = false) throws {
    if !inHex, String.isUTF8(bytes) {
      try separate()
      try string(bytes)
    } else {
      try beginObject()
      try name("hex").separate()
      try output.write("\"")
      try output.writeHex(bytes)
      try output.write("\"")
      try end()
    }
  }

  private func begin(_ opening: String, _ container: Container) throws {
    try separate()
    try output.write(opening)
    open.append(container)
  }

  private func separate() throws {
    if afterName {
      afterName = false
    } else if let container = open.last {
      if !container.isEmpty { try output.write(",") }
      if container.inLines { try output.write("\n") }
      open[open.count - 1].isEmpty = false
    }
  }

  private func string(_ text: String) throws {
    var text = text
    try text.withUTF8 { try string(UnsafeRawBufferPointer($0)) }
  }

  private func string(_ bytes: UnsafeRawBufferPointer) throws {
    try output.write(UInt8(ascii: "\""))
    var rest = bytes[...]
    while let special = rest.firstIndex(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }) {
      try output.write(UnsafeRawBufferPointer(rebasing: rest[..<special]))
      try output.write(Self.escape(rest[special]))
      rest = rest[(special + 1)...]
    }
    try output.write(UnsafeRawBufferPointer(rebasing: rest))
    try output.write(UInt8(ascii: "\""))
  }

  private static func escape(_ byte: UInt8) -> String {
    switch byte {
    case 0x22: "\\\""
    case 0x5C: "\\\\"
    case 0x0A: "\\n"
    case 0x0D: "\\r"
    case 0x09: "\\t"
    default: "\\u00" + hexDigits(byte)
    }
  }
}

extension String {
  /// Whether `bytes` are well-formed UTF-8.
  static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var decoder = Unicode.UTF8.ForwardParser()
    var rest = bytes.makeIterator()
    while true {
      switch decoder.parseScalar(from: &rest) {
      case .valid: continue
      case .error: return false
      case .emptyInput: return true
      }
    }
  }
}
