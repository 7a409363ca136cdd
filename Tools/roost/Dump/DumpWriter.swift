import RoostKV

/// Writes the content of a store in the form that `load --dump` reads: the same content gives the
/// same bytes, whatever the file's history. SPEC.md describes the form.
struct DumpWriter {
  static let header = "roost-dump 1"

  let output: Output
  let progress: Progress

  /// Writes the tables of the given names, which must be in byte order.
  func write(_ names: [String], of store: borrowing ReadTransaction) throws {
    try output.startChecksum()
    try output.write(Self.header + "\n")
    var entries = 0
    for name in names {
      let table = try store.table(name)
      let count = try store.count(table)
      try output.write("table \(Escaping.escape(name)) \(count)\n")
      try store.forEach(in: table, .all, reversed: false) { key, value in
        try output.writeEscaped(key)
        try output.write(UInt8(ascii: "\t"))
        try output.writeEscaped(value)
        try output.write(UInt8(ascii: "\n"))
        entries += 1
        progress.update(entries)
        return true
      }
    }
    progress.finish()
    let checksum = try output.endChecksum()
    try output.write("end \(names.count) \(entries) \(DumpWriter.spell(checksum))\n")
  }

  /// A checksum as the dump's last line has it: eight lower-case hexadecimal digits.
  static func spell(_ checksum: UInt32) -> String {
    (0..<4).reversed().map { hexDigits(UInt8(truncatingIfNeeded: checksum >> (8 * UInt32($0)))) }.joined()
  }
}
