import Foundation

/// The content of a file: what a disk holds after a crash, or what a test starts from.
package struct DiskImage: Sendable, Hashable {
  package var bytes: [UInt8]

  package init(_ bytes: [UInt8] = []) {
    self.bytes = bytes
  }

  /// Reads a real file.
  package init(contentsOf path: String) throws {
    bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  /// Writes a real file, to look at it with other tools.
  package func save(to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }
}

/// Bytes in chunks, of which copies share those that haven't changed since: a test may keep
/// the disk's state after each of some thousand operations.
struct ChunkedBytes: Sendable {
  private static let chunk = 4096
  private var chunks: [[UInt8]] = []
  private(set) var count = 0

  init(_ bytes: [UInt8]) {
    resize(to: bytes.count)
    write(bytes[...], at: 0)
  }

  var bytes: [UInt8] {
    var all: [UInt8] = []
    all.reserveCapacity(chunks.count * Self.chunk)
    for chunk in chunks { all += chunk }
    all.removeLast(all.count - count)
    return all
  }

  /// New bytes are zeros.
  mutating func resize(to newCount: Int) {
    let needed = (newCount + Self.chunk - 1) / Self.chunk
    if needed < chunks.count {
      chunks.removeLast(chunks.count - needed)
    }
    let tail = newCount % Self.chunk
    if newCount < count, tail > 0 {
      chunks[needed - 1].replaceSubrange(tail..., with: repeatElement(0, count: Self.chunk - tail))
    }
    while chunks.count < needed {
      chunks.append([UInt8](repeating: 0, count: Self.chunk))
    }
    count = newCount
  }

  /// Writes what lies before the end and drops the rest.
  mutating func write(_ bytes: ArraySlice<UInt8>, at offset: Int) {
    var rest = bytes.prefix(max(0, count - offset))
    var place = offset
    while !rest.isEmpty {
      let start = place % Self.chunk
      let piece = rest.prefix(Self.chunk - start)
      chunks[place / Self.chunk].replaceSubrange(start..<start + piece.count, with: piece)
      rest = rest.dropFirst(piece.count)
      place += piece.count
    }
  }
}
