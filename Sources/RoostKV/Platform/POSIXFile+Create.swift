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
    let temporary = newName(beside: path)
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
    do throws(StoreError) { try give(temporary, path) } catch {
      guard error.code == .fileExists else { throw error }
    }
  }

  /// A name in the folder of `path`, under which a file can be made that gets that path when it is whole.
  ///
  /// - Throws: `fileExists` when there is something at the path already.
  package static func temporaryPath(beside path: String) throws(StoreError) -> String {
    let path = try absolute(path)
    guard access(path, F_OK) != 0 else { throw exists(path) }
    return newName(beside: path)
  }

  /// Gives a whole and durable file its name, which no other has, and makes that durable. The temporary name goes.
  ///
  /// - Throws: `fileExists`.
  package static func publish(_ temporary: String, as path: String) throws(StoreError) {
    let path = try absolute(path)
    defer { unlink(temporary) }
    try give(temporary, path)
  }

  /// Removes a file if there is one.
  package static func remove(_ path: String) { unlink(path) }

  private static func newName(beside path: String) -> String {
    path + ".new-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
  }

  private static func exists(_ path: String) -> StoreError {
    .system(EEXIST, "There is a file at the path already", path: path)
  }

  private static func give(_ temporary: String, _ path: String) throws(StoreError) {
    if link(temporary, path) != 0 {
      if errno == EEXIST { throw exists(path) }
      guard renamed(temporary, path) else { throw .system(errno, "The file can't be given its name", path: path) }
    }
    try flushFolder(of: path)
  }

  /// For file systems without links.
  private static func renamed(_ temporary: String, _ path: String) -> Bool {
    guard errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK || errno == ENOSYS else { return false }
    return access(path, F_OK) == 0 || rename(temporary, path) == 0
  }
}
