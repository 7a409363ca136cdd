#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// The steps of opening a file.

extension POSIXFile {
  static func open(_ path: String, _ mode: Mode) throws(StoreError) -> Int32 {
    // O_NONBLOCK: should something else have taken the file's place, opening it doesn't wait.
    let always = O_CLOEXEC | O_NONBLOCK | O_NOCTTY
    let descriptor =
      switch mode {
      case .readOnly: OpenFiles.shared.open(path, O_RDONLY | always, mode: 0)
      case .readWrite: OpenFiles.shared.open(path, O_RDWR | always, mode: 0)
      case .create(let permissions):
        OpenFiles.shared.open(path, O_RDWR | O_CREAT | O_EXCL | always, mode: mode_t(permissions & 0o777))
      }
    guard descriptor < 0 else { return descriptor }
    throw openFailed(-descriptor, path, mode)
  }

  private static func openFailed(_ number: Int32, _ path: String, _ mode: Mode) -> StoreError {
    switch (number, mode) {
    case (EEXIST, _):
      return .system(number, "There is a file at the path already", path: path)
    case (ENOENT, .create):
      return .system(number, "The folder doesn't exist", path: path)
    case (ENOENT, _):
      return .system(number, "There is no file at the path", path: path)
    case (EACCES, .readWrite), (EPERM, .readWrite), (EROFS, .readWrite):
      return StoreError(
        .readOnly, "The file may not be written", remedy: "open it read-only, or change its permissions",
        path: path, errno: number)
    case (_, .create):
      return .system(number, "The file can't be created", path: path)
    default:
      return .system(number, "The file can't be opened", path: path)
    }
  }

  static func openTwice(_ path: String) -> StoreError {
    StoreError(
      .locked, "This process has the file open for writing already",
      remedy: "use the store that is open, or open the file read-only", path: path, holder: getpid())
  }

  static func status(of descriptor: Int32, _ path: String) throws(StoreError) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw .system(errno, "The file's state can't be read", path: path)
    }
    return status
  }

  static func checkRegularFile(_ path: String) throws(StoreError) -> FileIdentity {
    var status = stat()
    guard stat(path, &status) == 0 else { throw openFailed(errno, path, .readOnly) }
    try checkIsRegular(status, path)
    return FileIdentity(status)
  }

  static func checkIsRegular(_ status: stat, _ path: String) throws(StoreError) {
    let kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: nil as String?
      case S_IFDIR: "a folder"
      case S_IFIFO: "a pipe"
      case S_IFSOCK: "a socket"
      case S_IFCHR, S_IFBLK: "a device"
      default: "no regular file"
      }
    if let kind {
      throw StoreError(.notAStore, "The path names \(kind)", remedy: "give the path of a file", path: path)
    }
  }

  /// The path from the root, so that it stays right when the process changes its folder.
  static func absolute(_ path: String) throws(StoreError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StoreError(
        .notFound, "The path is empty or contains a zero byte", remedy: "give the path of a file",
        path: path)
    }
    guard !path.hasPrefix("/") else { return path }
    guard let folder = getcwd(nil, 0) else {
      throw .system(errno, "The current folder can't be learned", path: path)
    }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }

  /// Makes a new file's name durable.
  static func flushFolder(of path: String) throws(StoreError) {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let descriptor = OpenFiles.shared.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, mode: 0)
    guard descriptor >= 0 else {
      throw .system(-descriptor, "The file's folder can't be opened", path: folder)
    }
    defer { OpenFiles.shared.close(descriptor) }
    // Some file systems keep names durable by themselves and refuse the call.
    guard fsync(descriptor) == 0 || errno == EINVAL || errno == EOPNOTSUPP || errno == EROFS else {
      throw .system(errno, "The file's name can't be made durable", path: folder)
    }
  }
}
