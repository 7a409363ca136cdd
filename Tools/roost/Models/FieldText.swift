import Roost

extension JSONWriter {
  /// A field of a record. What JSON has no word for is a string or an object of one member.
  func value(_ field: FieldValue) throws {
    switch field {
    case .null: try null()
    case .bool(let flag): try value(flag)
    case .integer(let number): try value(number)
    case .unsigned(let number): try value(number)
    case .float(let number): try value(number)
    case .double(let number): try value(number)
    case .date(let seconds): try value(dateText(seconds))
    case .uuid(let identifier): try value(identifier.uuidString)
    case .identifier(let number): try value(number)
    case .identifiers(let numbers): try values(numbers) { try self.value($0) }
    case .string(let text), .url(let text): try value(text)
    case .data(let data): try data.withUnsafeBytes { try value($0, inHex: true) }
    case .decimal(let number): try value("\(number)")
    case .coded(let coded): try value(coded)
    case .damaged(let bytes): try damaged(bytes)
    }
  }

  /// What a Codable type wrote, in the same manner.
  func value(_ coded: CodedValue) throws {
    switch coded {
    case .null: try null()
    case .bool(let flag): try value(flag)
    case .integer(let number): try value(number)
    case .unsigned(let number): try value(number)
    case .float(let number): try value(number)
    case .double(let number): try value(number)
    case .string(let text), .url(let text): try value(text)
    case .data(let bytes): try bytes.withUnsafeBytes { try value($0, inHex: true) }
    case .date(let seconds): try value(dateText(seconds))
    case .uuid(let identifier): try value(identifier.uuidString)
    case .decimal(let number): try value("\(number)")
    case .present(let inner): try value(inner)
    case .array(let elements): try values(elements) { try self.value($0) }
    case .map(let pairs):
      try beginObject()
      for pair in pairs { try name(pair.key).value(pair.value) }
      try end()
    }
  }

  /// A field as text among other text.
  static func text(of field: FieldValue) throws -> String {
    try Output.collect { try JSONWriter($0, endsLine: false).value(field) }
  }

  /// A list of strings, numbers, whatever.
  func values<Element>(_ elements: [Element], _ write: (Element) throws -> Void) throws {
    try beginArray()
    for element in elements { try write(element) }
    try end()
  }

  private func value(_ number: some BinaryFloatingPoint & CustomStringConvertible) throws {
    guard number.isFinite else { return try value(number.description) }
    try value(number: number.description)
  }

  private func damaged(_ bytes: [UInt8]) throws {
    try beginObject()
    try bytes.withUnsafeBytes { try name("damaged").value($0, inHex: true) }
    try end()
  }
}

/// A date as ISO 8601 in UTC with milliseconds; one no calendar reaches as its seconds since 2001.
private func dateText(_ seconds: Double) -> String {
  guard abs(seconds) < 60_000_000_000 else { return "\(seconds) s from 2001-01-01T00:00:00Z" }
  let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
  return Date(timeIntervalSinceReferenceDate: seconds).formatted(style)
}
