#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension StoreError {
  /// The error for a number the operating system gave; `failure` says what couldn't be done.
  package static func system(
    _ number: Int32, _ failure: String, path: String?, offset: UInt64? = nil
  ) -> StoreError {
    let (code, remedy) = meaning(of: number)
    return StoreError(code, failure, remedy: remedy, path: path, offset: offset, errno: number)
  }

  private static func meaning(of number: Int32) -> (Code, String) {
    switch number {
    case ENOSPC: (.noSpace, "free some space on the disk and try again")
    case EDQUOT: (.noSpace, "the disk quota is used up; free some space or have it raised")
    case EFBIG: (.sizeLimit, "the file system or a limit of this process allows no larger file")
    case ENOENT, ENOTDIR: (.notFound, "check the path")
    case EEXIST: (.fileExists, "open the existing file or choose another path")
    case EACCES, EPERM: (.ioError, "give this process the permission to use the file")
    case EROFS: (.readOnly, "the file system is read-only; open the store read-only")
    case EMFILE, ENFILE: (.ioError, "close other files or raise the limit of open files")
    case ENOMEM: (.addressSpace, "free memory, or raise the limits of this process")
    case EOPNOTSUPP, ENOSYS, ENOLCK: (.unsupported, "keep the store on a local file system")
    case EIO: (.ioError, "look into the system's log and check the disk")
    default: (.ioError, "look up the system's error")
    }
  }

  package static func closed(path: String) -> StoreError {
    StoreError(.closed, "The store is closed", remedy: "open it again", path: path)
  }

  package static func forked(path: String) -> StoreError {
    StoreError(
      .forked, "The store was opened before this process was forked from another",
      remedy: "open it anew in this process", path: path)
  }
}
