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
