/// Guesses what a file is that isn't a store, for the error's message.
package enum ForeignFile {
  /// - Parameter start: the file's first bytes; 512 are plenty.
  package static func description(of start: UnsafeRawBufferPointer) -> String {
    for (magic, name) in magics where start.count >= magic.count {
      if zip(start, magic).allSatisfy({ $0 == $1 }) { return name }
    }
    if isLMDB(start) { return "an LMDB data file" }
    if start.allSatisfy({ $0 == 0 }) { return "nothing but zeros" }
    if isText(start) { return "a text file" }
    return "a file of an unknown kind"
  }

  /// The error of opening such a file.
  package static func error(_ start: UnsafeRawBufferPointer, path: String) -> StoreError {
    StoreError(
      .notAStore, "The file isn't a store; it seems to be \(description(of: start))",
      remedy: "check the path", path: path)
  }

  private static let magics: [(bytes: [UInt8], name: String)] = [
    (Array("SQLite format 3\0".utf8), "an SQLite database"),
    ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "a PNG image"),
    ([0xFF, 0xD8, 0xFF], "a JPEG image"),
    (Array("GIF8".utf8), "a GIF image"),
    (Array("%PDF-".utf8), "a PDF document"),
    ([0x50, 0x4B, 0x03, 0x04], "a ZIP archive"),
    ([0x1F, 0x8B], "a gzip archive"),
    ([0x28, 0xB5, 0x2F, 0xFD], "a Zstandard archive"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], "an xz archive"),
    (Array("bplist00".utf8), "a binary property list"),
    ([0x7F, 0x45, 0x4C, 0x46], "a program (ELF)"),
    ([0xCF, 0xFA, 0xED, 0xFE], "a program (Mach-O)"),
    (Array("redb".utf8) + [0x1A, 0x0A, 0xA9, 0x0D, 0x0A], "a redb database"),
  ]

  /// LMDB keeps its magic number behind a page header of 16 bytes, in the machine's byte order.
  private static func isLMDB(_ start: UnsafeRawBufferPointer) -> Bool {
    start.count >= 20
      && start.loadUnaligned(fromByteOffset: 16, as: UInt32.self) == 0xBEEF_C0DE
  }

  /// UTF-8 without control characters. The excerpt may end within a character.
  private static func isText(_ start: UnsafeRawBufferPointer) -> Bool {
    guard start.allSatisfy({ $0 >= 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }) else {
      return false
    }
    return (0...min(3, start.count)).contains { cut in
      String(validating: start.dropLast(cut), as: UTF8.self) != nil
    }
  }
}
