import Foundation

/// A new folder, removed with all in it when the object goes.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() {
    var template = Array((NSTemporaryDirectory() + "/roost-test-XXXXXX").utf8CString)
    guard let made = mkdtemp(&template) else { fatalError("mkdtemp: errno \(errno)") }
    path = String(cString: made)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a file in the folder.
  package func file(_ name: String = "test.roost") -> String {
    path + "/" + name
  }
}
