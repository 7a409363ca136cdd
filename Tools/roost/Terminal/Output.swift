import Foundation

/// Whoever reads our standard output has closed it.
struct OutputClosed: Error {}

/// Standard output, buffered. Failed writes are thrown, so that a full disk behind `>` is noticed.
final class Output {
  /// `nil`: what is written is collected.
  private let descriptor: Int32?
  private var collected: [UInt8] = []
  private var buffer: [UInt8]
  private var used = 0
  private var checksum: CRC32?

  private init(descriptor: Int32?, bufferSize: Int) {
    self.descriptor = descriptor
    buffer = [UInt8](repeating: 0, count: bufferSize)
  }

  convenience init() {
    self.init(descriptor: STDOUT_FILENO, bufferSize: 1 << 18)
  }

  /// What `body` writes, as text.
  static func collect(_ body: (Output) throws -> Void) throws -> String {
    let output = Output(descriptor: nil, bufferSize: 64)
    try body(output)
    try output.flush()
    return String(decoding: output.collected, as: UTF8.self)
  }

  func write(_ text: String) throws {
    var text = text
    try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
  }

  func write(_ byte: UInt8) throws {
    if used == buffer.count { try flush() }
    buffer[used] = byte
    used += 1
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      if used == buffer.count { try flush() }
      let piece = rest.prefix(buffer.count - used)
      buffer.withUnsafeMutableBytes { $0[used...].copyBytes(from: piece) }
      used += piece.count
      rest = rest.dropFirst(piece.count)
    }
  }

  /// Writes what `spell` makes of each byte: it puts that at its target's start, at most `limit`
  /// bytes, and returns how many.
  @inline(__always)
  func write(
    _ bytes: UnsafeRawBufferPointer, atMost limit: Int,
    _ spell: (_ byte: UInt8, _ target: UnsafeMutablePointer<UInt8>) -> Int
  ) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      if buffer.count - used < limit { try flush() }
      let piece = rest.prefix((buffer.count - used) / limit)
      buffer.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress else { return }
        var end = used
        for byte in piece { end += spell(byte, start + end) }
        used = end
      }
      rest = rest.dropFirst(piece.count)
    }
  }

  func flush() throws {
    defer { used = 0 }
    try buffer[..<used].withUnsafeBytes { bytes in
      checksum?.update(bytes)
      try writeAll(bytes)
    }
  }

  /// From here on all that is written goes into a checksum.
  func startChecksum() throws {
    try flush()
    checksum = CRC32()
  }

  /// The checksum of all written since `startChecksum`, which ends.
  func endChecksum() throws -> UInt32 {
    try flush()
    defer { checksum = nil }
    return checksum?.value ?? 0
  }

  private func writeAll(_ bytes: UnsafeRawBufferPointer) throws {
    guard let descriptor else { return collected.append(contentsOf: bytes) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: rest))
      if written >= 0 {
        rest = rest.dropFirst(written)
      } else if errno == EPIPE {
        throw OutputClosed()
      } else if errno != EINTR {
        throw ToolError(.failed, "can't write to standard output: \(String(cString: strerror(errno)))")
      }
    }
  }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}

/// Prints a message on standard error.
func reportError(_ message: String) {
  var text = "roost: \(message)"
  if text.last != "\n" { text += "\n" }
  text.withUTF8 { _ = systemWrite(STDERR_FILENO, UnsafeRawBufferPointer($0)) }
}
