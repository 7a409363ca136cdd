extension String {
  /// With blanks behind, so that columns stand below one another.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }

  /// With blanks before, for numbers.
  func aligned(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }
}

/// A number of bytes for people: exact, and with a unit.
func describeSize(_ bytes: UInt64) -> String {
  let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
  var size = Double(bytes)
  var unit: String?
  for next in units where size >= 1024 {
    size /= 1024
    unit = next
  }
  guard let unit else { return "\(bytes) bytes" }
  let tenths = Int((size * 10).rounded())
  return "\(bytes) bytes (\(tenths / 10).\(tenths % 10) \(unit))"
}

/// Rows of a label and a value, the values below one another.
func writeAligned(_ rows: [(label: String, value: String)], to output: Output) throws {
  let width = rows.map(\.label.count).max() ?? 0
  for row in rows {
    try output.write("\(row.label.padded(to: width))  \(row.value)\n")
  }
}
