#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A folder of the operating system.
struct POSIXFolder: StorageFolder {
  /// Ends in a slash.
  private let path: String

  /// The folder in which `file`, an absolute path, lies.
  init(of file: String) {
    path = file.lastIndex(of: "/").map { String(file[...$0]) } ?? "./"
  }

  func makeFile(_ name: String, permissions: UInt16) throws(StoreError) -> any StorageFile {
    try POSIXFile(path: path + name, mode: .create(permissions))
  }

  func name(_ file: String, _ name: String) throws(StoreError) {
    guard link(path + file, path + name) == 0 || errno == EEXIST || rename(file, name) else {
      throw .system(errno, "The file can't be given its name", path: path + name)
    }
  }

  /// For file systems without links.
  private func rename(_ file: String, _ name: String) -> Bool {
    guard errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK || errno == ENOSYS else { return false }
    return access(path + name, F_OK) == 0 || systemRename(path + file, path + name) == 0
  }

  func remove(_ name: String) {
    unlink(path + name)
  }

  func flush() throws(StoreError) {
    try POSIXFile.flushFolder(of: path)
  }
}

private func systemRename(_ old: String, _ new: String) -> Int32 { rename(old, new) }

extension POSIXFile {
  /// Makes a file of the given bytes, durable with its name. Does nothing when there is a file of that name by now.
  package static func createAtomically(
    _ path: String, _ bytes: [UInt8], permissions: UInt16, runtime: any Runtime = SystemRuntime()
  ) throws(StoreError) {
    let path = try absolute(path)
    let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    do throws(StoreError) {
      try POSIXFolder(of: path).create(name, bytes, permissions: permissions, runtime)
    } catch {
      throw error.renamed(path: path)
    }
  }
}

// Files that somebody else fills before they get their name.
extension POSIXFile {
  /// A name in the folder of `path`, under which a file can be made that gets that path when it is whole.
  ///
  /// - Throws: `fileExists` when there is something at the path already.
  package static func temporaryPath(beside path: String) throws(StoreError) -> String {
    let path = try absolute(path)
    guard access(path, F_OK) != 0 else { throw exists(path) }
    return path + ".new-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
  }

  /// Gives a whole and durable file its name, which no other has, and makes that durable. The temporary name goes.
  ///
  /// - Throws: `fileExists`.
  package static func publish(_ temporary: String, as path: String) throws(StoreError) {
    let path = try absolute(path)
    defer { unlink(temporary) }
    if link(temporary, path) != 0 {
      let failure = errno
      if failure == EEXIST || access(path, F_OK) == 0 { throw exists(path) }
      // For file systems without links.
      guard [EPERM, EOPNOTSUPP, EMLINK, ENOSYS].contains(failure), systemRename(temporary, path) == 0 else {
        throw .system(failure, "The file can't be given its name", path: path)
      }
    }
    try flushFolder(of: path)
  }

  /// Removes a file if there is one.
  package static func remove(_ path: String) { unlink(path) }

  private static func exists(_ path: String) -> StoreError {
    .system(EEXIST, "There is a file at the path already", path: path)
  }
}
