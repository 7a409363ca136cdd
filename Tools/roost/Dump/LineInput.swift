import Foundation

/// A file, or standard input, read line by line; lines come in pieces and may have any length.
///
/// Lines end with LF alone: a CR before it is data. The last line may lack its LF.
final class LineInput {
  enum LineEnd { case newline, endOfInput }

  private let descriptor: Int32
  let name: String
  private var buffer = [UInt8](repeating: 0, count: 1 << 18)
  private var unread = 0..<0
  private(set) var lineNumber = 0

  /// Opens `path`; `-` is standard input.
  init(_ path: String) throws {
    name = path == "-" ? "standard input" : path
    descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ToolError(.failed, "can't read \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    if descriptor > STDIN_FILENO { close(descriptor) }
  }

  /// Hands the next line's bytes to `body`, without the LF, in as many pieces as it takes.
  /// Returns how the line ended, or `nil` when there is no further line.
  func readLine(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> LineEnd? {
    guard try fill() else { return nil }
    lineNumber += 1
    while true {
      let piece = unread
      if let length = findNewline(in: piece) {
        try hand(piece.lowerBound..<piece.lowerBound + length, to: body)
        unread = (piece.lowerBound + length + 1)..<piece.upperBound
        return .newline
      }
      try hand(piece, to: body)
      unread = 0..<0
      guard try fill() else { return .endOfInput }
    }
  }

  private func hand(_ range: Range<Int>, to body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  private func findNewline(in range: Range<Int>) -> Int? {
    buffer.withUnsafeBytes { bytes -> Int? in
      let piece = UnsafeRawBufferPointer(rebasing: bytes[range])
      guard let start = piece.baseAddress, let found = memchr(start, 0x0A, piece.count) else { return nil }
      return UnsafeRawPointer(found) - start
    }
  }

  /// Reads on when all is used up; `false` at the end of the input.
  private func fill() throws -> Bool {
    if !unread.isEmpty { return true }
    while true {
      let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        unread = 0..<count
        return count > 0
      }
      guard errno == EINTR else {
        throw ToolError(.failed, "can't read \(name): \(String(cString: strerror(errno)))")
      }
    }
  }
}
