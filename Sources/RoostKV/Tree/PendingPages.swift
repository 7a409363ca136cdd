// Pages that a `BulkBuilder` is filling. Keys and values are gathered whole, since the prefix is known
// only when the page is full.
//
// Bounds: both buffers grow with what is appended; parts are found by offsets that were noted then.

/// Bytes appended one after another.
private struct Gathered {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ more: UnsafeRawBufferPointer) -> Range<Int> {
    let start = bytes.count
    bytes.append(contentsOf: more)
    return start..<bytes.count
  }

  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}

/// A leaf that is being filled.
final class PendingLeaf {
  private struct Item {
    var key: Range<Int>
    var value: Range<Int>
    var isRun: Bool
  }

  private let pageSize: Int
  private var gathered = Gathered()
  private var items: [Item] = []
  /// The length of what all keys have in common.
  private var common = 0
  /// Bytes behind the page header with the prefix that follows from `common`.
  private var size = 0
  /// The page's key in its parent.
  private let separatorBuffer: KeyBuffer
  private let last: KeyBuffer

  init(pageSize: Int) {
    self.pageSize = pageSize
    separatorBuffer = KeyBuffer(pageSize: pageSize)
    last = KeyBuffer(pageSize: pageSize)
  }

  var isEmpty: Bool { items.isEmpty }
  var separator: UnsafeRawBufferPointer { separatorBuffer.key }
  var lastKey: UnsafeRawBufferPointer? { items.isEmpty ? nil : last.key }

  func begin(_ separator: UnsafeRawBufferPointer) {
    separatorBuffer.set(separator)
    gathered.removeAll()
    items.removeAll(keepingCapacity: true)
    common = 0
    size = 0
  }

  /// Whether the page still fits with this entry. One entry always does.
  func hasRoom(_ key: UnsafeRawBufferPointer, _ value: TreeValue) -> Bool {
    if items.isEmpty { return true }
    let shared = min(common, KeyBytes.commonPrefix(last.key, key))
    let prefix = PrefixChoice.length(shared)
    let before = prefix == PrefixChoice.length(common) ? size : total(prefix)
    return before + entrySize(key.count, value, prefix) <= pageSize - PageHeader.size
  }

  func append(_ key: UnsafeRawBufferPointer, _ value: TreeValue) {
    let old = PrefixChoice.length(common)
    // The prefix of a page with one entry would be the whole key; it counts once there are two.
    common = items.isEmpty ? key.count : min(common, KeyBytes.commonPrefix(last.key, key))
    let prefix = PrefixChoice.length(common)
    if prefix != old { size = total(prefix) }
    if items.isEmpty { size = prefix }
    size += entrySize(key.count, value, prefix)
    last.set(key)
    let keyRange = gathered.append(key)
    switch value {
    case .inline(let bytes):
      items.append(Item(key: keyRange, value: gathered.append(bytes), isRun: false))
    case .run(let run):
      let range = withUnsafeTemporaryAllocation(byteCount: RunDescriptor.size, alignment: 8) { buffer in
        if let start = buffer.baseAddress { run.store(to: start) }
        return gathered.append(UnsafeRawBufferPointer(buffer))
      }
      items.append(Item(key: keyRange, value: range, isRun: true))
    }
  }

  private func total(_ prefix: Int) -> Int {
    items.reduce(prefix) { sum, item in
      sum + LeafPage.entryOverhead
        + LeafCell.size(key: item.key.count - prefix, value: item.value.count, isRun: item.isRun)
    }
  }

  private func entrySize(_ key: Int, _ value: TreeValue, _ prefix: Int) -> Int {
    switch value {
    case .inline(let bytes):
      LeafPage.entryOverhead + LeafCell.size(key: key - prefix, value: bytes.count, isRun: false)
    case .run: LeafPage.entryOverhead + LeafCell.size(key: key - prefix, value: 0, isRun: true)
    }
  }

  /// Writes the page and returns the reference's contents.
  func write(
    to page: UnsafeMutableRawPointer, _ number: PageNumber, _ table: UInt32
  ) throws(StoreError) -> UInt64 {
    // One key alone is no reason for a prefix, which the next one may not have.
    let prefix = items.count > 1 ? PrefixChoice.length(common) : 0
    var hasRuns = false
    let result: Result<Void, StoreError> = gathered.bytes.withUnsafeBytes { bytes in
      do throws(StoreError) {
        var writer = LeafWriter(
          page, pageSize: pageSize, number: number, table: table, count: items.count,
          prefix: UnsafeRawBufferPointer(rebasing: bytes[0..<prefix]))
        for item in items {
          let value = UnsafeRawBufferPointer(rebasing: bytes[item.value])
          if item.isRun { hasRuns = true }
          try writer.append(
            UnsafeRawBufferPointer(rebasing: bytes[item.key]),
            value: value.baseAddress ?? UnsafeRawPointer(page), valueLength: item.isRun ? -1 : value.count)
        }
        return .success(try writer.finish())
      } catch { return .failure(error) }
    }
    try result.get()
    return UInt64(items.count) | (hasRuns ? Reference.runsBit : 0)
  }
}

/// A branch that is being filled.
final class PendingBranch {
  private let pageSize: Int
  private var gathered = Gathered()
  private var items: [(key: Range<Int>, child: Reference)] = []
  /// The length of what all keys but the first have in common.
  private var common = 0
  /// Bytes behind the page header with the prefix that follows from `common`.
  private var size = 0
  private let last: KeyBuffer
  private let first: KeyBuffer

  init(pageSize: Int) {
    self.pageSize = pageSize
    last = KeyBuffer(pageSize: pageSize)
    first = KeyBuffer(pageSize: pageSize)
  }

  var count: Int { items.count }
  /// The key that the parent will have for the page.
  var firstKey: UnsafeRawBufferPointer { first.key }
  /// The child of a branch that has one.
  var onlyChild: Reference { items.first?.child ?? .none }

  func removeAll() {
    gathered.removeAll()
    items.removeAll(keepingCapacity: true)
    common = 0
    size = 0
  }

  func hasRoom(_ key: UnsafeRawBufferPointer) -> Bool {
    if items.count < 2 { return true }
    let shared = min(common, KeyBytes.commonPrefix(last.key, key))
    let prefix = PrefixChoice.length(shared)
    let before = prefix == PrefixChoice.length(common) ? size : total(prefix)
    return before + Self.size(key.count, prefix) <= pageSize - PageHeader.size
  }

  func append(_ key: UnsafeRawBufferPointer, _ child: Reference) {
    if items.isEmpty {
      first.set(key)
      size = BranchPage.childOverhead + 1
    } else {
      let old = PrefixChoice.length(common)
      common = items.count == 1 ? key.count : min(common, KeyBytes.commonPrefix(last.key, key))
      let prefix = PrefixChoice.length(common)
      if prefix != old { size = total(prefix) }
      size += Self.size(key.count, prefix)
    }
    last.set(key)
    items.append((gathered.append(key), child))
  }

  private func total(_ prefix: Int) -> Int {
    items.dropFirst().reduce(prefix + BranchPage.childOverhead + 1) { sum, item in
      sum + Self.size(item.key.count, prefix)
    }
  }

  private static func size(_ key: Int, _ prefix: Int) -> Int {
    BranchPage.childOverhead + BranchPage.Cell.size(key: key - prefix)
  }

  /// Writes the page and returns the reference's contents.
  func write(
    to page: UnsafeMutableRawPointer, _ number: PageNumber, _ level: Int, _ table: UInt32
  ) throws(StoreError) -> UInt64 {
    let prefix = items.count > 2 ? PrefixChoice.length(common) : 0
    let result: Result<UInt64, StoreError> = gathered.bytes.withUnsafeBytes { bytes in
      let start = items.count > 1 ? items[1].key.lowerBound : 0
      do throws(StoreError) {
        var writer = BranchWriter(
          page, pageSize: pageSize, number: number, level: level, table: table, count: items.count,
          prefix: UnsafeRawBufferPointer(rebasing: bytes[start..<start + prefix]))
        for item in items {
          try writer.append(UnsafeRawBufferPointer(rebasing: bytes[item.key]), item.child)
        }
        try writer.finish()
        return .success(writer.contents)
      } catch { return .failure(error) }
    }
    return try result.get()
  }
}
