import RoostKV

/// Reads a dump, table by table and entry by entry, and throws at the first thing that a dump
/// can't contain. What it has handed out is known to be undamaged only when `nextTable` has
/// returned `nil`: so load in one transaction.
final class DumpReader {
  private let input: LineInput
  private var checksum = CRC32()
  private var tables = 0
  private var entries = 0
  private var entriesLeft = 0
  private var lastName: [UInt8]?
  private var lastKey: [UInt8]?

  /// What ended an `Entries` sequence early.
  private(set) var failure: (any Error)?

  /// Reads the first line.
  init(_ input: LineInput) throws {
    self.input = input
    guard let line = try readStructuralLine(), line == Array(DumpWriter.header.utf8) else {
      throw refusal("this is no dump: the first line has to be \"\(DumpWriter.header)\"")
    }
    update(line)
  }

  /// The number of entries read so far.
  var entryCount: Int { entries }

  /// The next table's name and number of entries, or `nil` after the dump's good end.
  func nextTable() throws -> (name: String, count: Int)? {
    guard let line = try readStructuralLine() else {
      throw refusal("the dump ends here, before its last line")
    }
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    switch words.first.map(Array.init) {
    case Array("table".utf8) where words.count >= 3:
      update(line)
      return try readTable(
        line[words[1].startIndex..<words[words.count - 1].startIndex - 1], words[words.count - 1])
    case Array("end".utf8):
      try readEnd(line)
      return nil
    default:
      throw refusal("a \"table\" or \"end\" line has to stand here")
    }
  }

  private func readTable(_ escapedName: ArraySlice<UInt8>, _ digits: ArraySlice<UInt8>) throws -> (
    String, Int
  ) {
    var name: [UInt8] = []
    var unescaper = Unescaper()
    guard escapedName.withBytes({ unescaper.append($0, to: &name) }), unescaper.isComplete,
      let text = String(validating: name, as: UTF8.self)
    else { throw refusal("the table's name is not well written") }
    guard let count = Self.number(digits) else { throw refusal("the table's number of entries is no number") }
    if let lastName, !lastName.lexicographicallyPrecedes(name) {
      throw refusal("the tables are not in byte order of their names")
    }
    lastName = name
    lastKey = nil
    tables += 1
    entriesLeft = count
    return (text, count)
  }

  private func readEnd(_ line: [UInt8]) throws {
    let expected = "end \(tables) \(entries) \(DumpWriter.spell(checksum.value))"
    guard line == Array(expected.utf8) else {
      throw refusal("the dump is damaged: its last line should be \"\(expected)\"")
    }
    guard try input.readLine({ _ in }) == nil else { throw refusal("something follows the dump's last line") }
  }

  /// The next entry of the table, or `nil` after its last one.
  func nextEntry() throws -> Entry? {
    guard entriesLeft > 0 else { return nil }
    var line = EntryLine()
    let end = try input.readLine { piece in
      checksum.update(piece)
      guard line.append(piece) else { throw refusal("this is not the escaped form of an entry") }
    }
    guard end == .newline else { throw refusal("the dump ends here, within a table") }
    guard line.isComplete else { throw refusal("this is not the escaped form of an entry") }
    [UInt8(ascii: "\n")].withBytes { checksum.update($0) }
    if let lastKey, !lastKey.lexicographicallyPrecedes(line.key) {
      throw refusal("the keys are not in ascending order")
    }
    lastKey = line.key
    entriesLeft -= 1
    entries += 1
    return Entry(key: line.key, value: line.value)
  }

  private func readStructuralLine() throws -> [UInt8]? {
    var line: [UInt8] = []
    let end = try input.readLine { piece in
      // Far above the longest name; keeps a hostile file from filling the memory.
      guard line.count + piece.count <= 1 << 20 else { throw refusal("the line is too long") }
      line.append(contentsOf: piece)
    }
    return end == .newline ? line : nil
  }

  private func update(_ line: [UInt8]) {
    line.withBytes { checksum.update($0) }
    [UInt8(ascii: "\n")].withBytes { checksum.update($0) }
  }

  /// A number as the dump spells it: decimal digits without leading zeros.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    let text = String(decoding: digits, as: UTF8.self)
    guard let number = Int(text), number >= 0, String(number) == text else { return nil }
    return number
  }

  func refusal(_ message: String) -> ToolError {
    ToolError(.inputRefused, "\(input.name), line \(input.lineNumber): \(message)")
  }
}

/// The parts of one entry's line, which may come in pieces.
private struct EntryLine {
  private(set) var key: [UInt8] = []
  private(set) var value: [UInt8] = []
  private var unescaper = Unescaper()
  private var hasTab = false

  var isComplete: Bool { hasTab && unescaper.isComplete }

  mutating func append(_ piece: UnsafeRawBufferPointer) -> Bool {
    guard !hasTab else { return unescaper.append(piece, to: &value) }
    guard let tab = piece.firstIndex(of: UInt8(ascii: "\t")) else { return unescaper.append(piece, to: &key) }
    guard unescaper.append(UnsafeRawBufferPointer(rebasing: piece[..<tab]), to: &key), unescaper.isComplete
    else {
      return false
    }
    hasTab = true
    return unescaper.append(UnsafeRawBufferPointer(rebasing: piece[(tab + 1)...]), to: &value)
  }
}

extension DumpReader {
  /// The entries of the table that `nextTable` returned last, for a bulk load. The sequence ends
  /// early at a fault, which is then in `failure`.
  struct Entries: Sequence, IteratorProtocol {
    let reader: DumpReader
    let progress: Progress

    func next() -> Entry? {
      do {
        progress.update(reader.entryCount)
        return try reader.nextEntry()
      } catch {
        reader.failure = error
        return nil
      }
    }
  }
}
