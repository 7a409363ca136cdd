#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// Making a file so that it is there whole or not at all.

extension POSIXFile {
  /// Makes a file of the given bytes, durable with its name. Does nothing when there is a file of that name by now.
  ///
  /// The bytes are written under another name in the same folder, which is then linked to the right one: a crash leaves at most
  /// the other name.
  package static func createAtomically(
    _ path: String, _ bytes: [UInt8], permissions: UInt16
  ) throws(StoreError) {
    let path = try absolute(path)
    let temporary = path + ".new-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
    do throws(StoreError) {
      let file = try POSIXFile(path: temporary, mode: .create(permissions))
      defer { file.close() }
      try bytes.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: 0) }
      try file.flush()
    } catch {
      unlink(temporary)
      throw error.renamed(path: path)
    }
    defer { unlink(temporary) }
    guard link(temporary, path) == 0 || errno == EEXIST || renamed(temporary, path) else {
      throw .system(errno, "The file can't be given its name", path: path)
    }
    try flushFolder(of: path)
  }

  /// For file systems without links.
  private static func renamed(_ temporary: String, _ path: String) -> Bool {
    guard errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK || errno == ENOSYS else { return false }
    return access(path, F_OK) == 0 || rename(temporary, path) == 0
  }
}
