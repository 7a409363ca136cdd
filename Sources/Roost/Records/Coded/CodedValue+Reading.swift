import RoostKV

/// Why bytes aren't a coded value.
package struct CodedError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}

extension CodedValue {
  /// Reads one value that takes up all of `bytes`.
  ///
  /// Takes the writer's form and other definite-length CBOR of the same types; throws for all else.
  package init(_ bytes: UnsafeRawBufferPointer) throws(CodedError) {
    var parser = CodedParser(bytes: bytes)
    self = try parser.value(depth: 0)
    guard parser.position == bytes.count else { throw CodedError("bytes follow the value") }
  }

  package init(_ bytes: [UInt8]) throws(CodedError) {
    self = try bytes.withBytes { (buffer) throws(CodedError) in try CodedValue(buffer) }
  }
}

private struct CodedParser {
  let bytes: UnsafeRawBufferPointer
  var position = 0

  /// Bytes not yet read.
  private var remaining: Int { bytes.count - position }

  mutating func value(depth: Int) throws(CodedError) -> CodedValue {
    guard depth <= CodedValue.maximumDepth else { throw CodedError("values are nested too deeply") }
    let first = try byte()
    let major = first & 0xE0
    guard major != CodedMajor.simple else { return try simple(first) }
    let argument = try self.argument(first)
    switch major {
    case CodedMajor.unsigned: return Self.unsigned(argument)
    case CodedMajor.negative:
      guard let value = Int64(exactly: argument) else { throw CodedError("an integer is below 64 bits") }
      return .integer(~value)
    case CodedMajor.bytes: return .data(Array(try take(argument)))
    case CodedMajor.text: return .string(try text(argument))
    case CodedMajor.array: return .array(try array(argument, depth: depth))
    case CodedMajor.map: return try map(argument, depth: depth)
    default: return try tagged(argument, depth: depth)
    }
  }

  private static func unsigned(_ value: UInt64) -> CodedValue {
    Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
  }

  private mutating func simple(_ first: UInt8) throws(CodedError) -> CodedValue {
    switch first {
    case 0xF4: return .bool(false)
    case 0xF5: return .bool(true)
    case 0xF6: return .null
    case 0xFA: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: try bigEndian(4))))
    case 0xFB: return .double(Double(bitPattern: try bigEndian(8)))
    default: throw CodedError("no value begins with byte \(first)")
    }
  }

  private mutating func argument(_ first: UInt8) throws(CodedError) -> UInt64 {
    switch first & 0x1F {
    case let small where small < 24: return UInt64(small)
    case 24: return try bigEndian(1)
    case 25: return try bigEndian(2)
    case 26: return try bigEndian(4)
    case 27: return try bigEndian(8)
    default: throw CodedError("an item has no definite length")
    }
  }

  private mutating func array(_ count: UInt64, depth: Int) throws(CodedError) -> [CodedValue] {
    // Each element takes at least one byte, so a greater count can't be true.
    guard count <= remaining else { throw CodedError("an array ends too early") }
    var values: [CodedValue] = []
    for _ in 0..<count { values.append(try value(depth: depth + 1)) }
    return values
  }

  private mutating func map(_ count: UInt64, depth: Int) throws(CodedError) -> CodedValue {
    guard count <= remaining / 2 else { throw CodedError("a map ends too early") }
    var entries: [String: CodedValue] = [:]
    for _ in 0..<count {
      guard case .string(let key) = try value(depth: depth + 1) else {
        throw CodedError("a map's key isn't text")
      }
      guard entries.updateValue(try value(depth: depth + 1), forKey: key) == nil else {
        throw CodedError("a map has the key \(key) twice")
      }
    }
    return .map(entries)
  }

  private mutating func tagged(_ tag: UInt64, depth: Int) throws(CodedError) -> CodedValue {
    if tag == CodedTag.decimal { return .decimal(try decimal()) }
    let content = try value(depth: depth + 1)
    switch (tag, content) {
    case (CodedTag.date, .double(let seconds)): return .date(seconds)
    case (CodedTag.uuid, .data(let bytes)) where bytes.count == 16:
      return .uuid(UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }))
    case (CodedTag.url, .string(let text)): return .url(text)
    case (CodedTag.present, _): return .present(content)
    default: throw CodedError("tag \(tag) isn't known with such content")
    }
  }

  // MARK: Decimal numbers

  private mutating func decimal() throws(CodedError) -> Decimal {
    let first = try byte()
    if first == 0xF6 { return .nan }
    guard first == CodedMajor.array | 2, let exponent = try value(depth: 0).integer(Int.self) else {
      throw CodedError("a decimal number has no exponent")
    }
    let (isNegative, magnitude) = try decimalInteger()
    let parts = DecimalParts(isNegative: isNegative, magnitude: magnitude, exponent: exponent)
    guard let value = parts.decimal else { throw CodedError("a decimal number is out of range") }
    return value
  }

  private mutating func decimalInteger() throws(CodedError) -> (isNegative: Bool, magnitude: UInt128) {
    let start = position
    let first = try byte()
    guard first & 0xE0 == CodedMajor.tag else {
      position = start
      switch try value(depth: 0) {
      case .integer(let value): return (value < 0, UInt128(value.magnitude))
      case .unsigned(let value): return (false, UInt128(value))
      default: throw CodedError("a decimal number has no integer")
      }
    }
    let tag = try argument(first)
    guard tag == CodedTag.bigPositive || tag == CodedTag.bigNegative,
      case .data(let content) = try value(depth: 0), content.count <= 16
    else { throw CodedError("a decimal number has no integer") }
    let image = content.reduce(0 as UInt128) { $0 << 8 | UInt128($1) }
    guard tag == CodedTag.bigNegative else { return (false, image) }
    guard image < .max else { throw CodedError("a decimal number is out of range") }
    return (true, image + 1)
  }

  // MARK: Bytes

  private mutating func byte() throws(CodedError) -> UInt8 {
    guard position < bytes.count else { throw CodedError("the value ends too early") }
    defer { position += 1 }
    return bytes[position]
  }

  private mutating func take(_ count: UInt64) throws(CodedError) -> UnsafeRawBufferPointer {
    guard count <= remaining else { throw CodedError("the value ends too early") }
    let end = position + Int(count)
    defer { position = end }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<end])
  }

  private mutating func bigEndian(_ count: UInt64) throws(CodedError) -> UInt64 {
    try take(count).reduce(0) { $0 << 8 | UInt64($1) }
  }

  private mutating func text(_ count: UInt64) throws(CodedError) -> String {
    let bytes = try take(count)
    guard let text = String(utf8: bytes) else {
      throw CodedError("text isn't UTF-8")
    }
    return text
  }
}
