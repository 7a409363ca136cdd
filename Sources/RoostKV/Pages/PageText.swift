// Bounds: everything is read through `LeafPage` and `BranchPage`, which look at the page's size.

/// A tree page as text, for people: its header, then a line for each entry. For tests and debugging.
///
/// Takes any bytes: what lies outside the page, or leads out of it, is said to.
package enum PageText {
  /// - Parameter page: `pageSize` bytes.
  package static func describe(_ page: UnsafeRawPointer, pageSize: Int) -> String {
    let kind = PageHeader.kind(page)
    var lines = [
      """
      page \(PageHeader.number(page)), generation \(PageHeader.generation(page)), \
      attempt \(PageHeader.attempt(page)), \(kind.map { "\($0)" } ?? "kind \(page.load8(PageHeader.kindOffset))"), \
      level \(PageHeader.level(page)), table \(PageHeader.table(page))
      """,
      """
      \(PageHeader.count(page)) entries, cells from \(PageHeader.cellArea(page)), \
      \(PageHeader.unused(page)) bytes unused, prefix of \(PageHeader.prefix(page))
      """,
    ]
    switch kind {
    case .leaf: lines += entries(LeafPage(page, pageSize))
    case .branch: lines += children(BranchPage(page, pageSize))
    case .freeMap, .space, nil: break
    }
    return lines.joined(separator: "\n")
  }

  private static func entries(_ page: LeafPage) -> [String] {
    let count = page.count
    return [text(page.prefix)].filter { !$0.isEmpty }.map { "prefix \($0)" }
      + (0..<count).map { index in
        let slot = page.slot(index, of: count)
        let place = "\(index) at \(slot), head \(hex(page.head(index)))"
        guard let cell = try? page.cell(at: slot) else { return "\(place): leads out of the page" }
        let tail = text(UnsafeRawBufferPointer(start: cell.tail, count: cell.tailLength))
        let value =
          cell.run.map { "run at page \($0.page) of \($0.length) bytes" }
          ?? "value \(text(UnsafeRawBufferPointer(start: cell.value, count: cell.storedLength)))"
        return "\(place), key \(cell.keyLength) \(tail): \(value)"
      }
  }

  private static func children(_ page: BranchPage) -> [String] {
    let count = page.count
    return [text(page.prefix)].filter { !$0.isEmpty }.map { "prefix \($0)" }
      + (0..<count).map { index in
        let slot = page.slot(index, of: count)
        let child = page.child(index, of: count)
        let place = "\(index) at \(slot), head \(hex(page.head(index)))"
        let target =
          "page \(child.page), generation \(child.generation), attempt \(child.attempt), \(child.count) entries"
          + (child.hasRuns ? ", runs" : "")
        guard let cell = try? page.cell(at: slot) else { return "\(place): leads out of the page; \(target)" }
        return
          "\(place), key \(cell.keyLength) \(text(UnsafeRawBufferPointer(start: cell.tail, count: cell.tailLength))): \(target)"
      }
  }

  /// Printable ASCII as it is, other bytes as `\xNN`; at most 64 bytes.
  private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
    var text = ""
    for byte in bytes.prefix(64) {
      let isPlain = byte >= 0x20 && byte < 0x7F && byte != 0x5C
      text += isPlain ? String(UnicodeScalar(byte)) : "\\x" + hex(UInt64(byte), digits: 2)
    }
    return bytes.count > 64 ? text + "…" : text
  }

  private static func hex(_ value: UInt64, digits: Int = 16) -> String {
    let short = String(value, radix: 16)
    return String(repeating: "0", count: max(0, digits - short.count)) + short
  }
}
