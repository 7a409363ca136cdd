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
