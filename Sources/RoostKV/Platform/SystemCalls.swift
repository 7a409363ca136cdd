#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// What the systems' headers don't show to Swift, and what differs between them. All functions
// return 0 or the number of an error; none leaves it to `errno`.
//
// Bounds: addresses go to the system with the counts that belong to them; nothing is read here.

#if os(Linux)
  // The headers declare these only with _GNU_SOURCE. Their arguments are integers and pointers,
  // for which C and Swift pass registers alike.
  @_silgen_name("pwritev2")
  private func systemWriteVector2(
    _ descriptor: Int32, _ vectors: UnsafePointer<iovec>, _ count: Int32, _ offset: off_t, _ flags: Int32
  ) -> Int
  @_silgen_name("fallocate")
  private func systemAllocate(
    _ descriptor: Int32, _ mode: Int32, _ offset: off_t, _ count: off_t
  ) -> Int32
  @_silgen_name("sync_file_range")
  private func systemSyncFileRange(
    _ descriptor: Int32, _ offset: off_t, _ count: off_t, _ flags: UInt32
  ) -> Int32
  @_silgen_name("pthread_setname_np")
  private func systemNameThread(_ thread: pthread_t, _ name: UnsafePointer<CChar>) -> Int32
#endif

enum SystemCalls {
  /// Lock commands that belong to the open file description, not to the process.
  #if os(Linux)
    static let getLock: Int32 = 36  // F_OFD_GETLK
    static let setLock: Int32 = 37  // F_OFD_SETLK
  #else
    static let getLock: Int32 = 92
    static let setLock: Int32 = 90
  #endif

  /// The size of a page of virtual memory.
  static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

  /// Calls again while a signal interrupts; the result is the call's, or minus its error's number.
  @inline(__always)
  static func uninterrupted(_ call: () -> Int) -> Int {
    while true {
      let result = call()
      if result >= 0 { return result }
      if errno != EINTR { return -Int(errno) }
    }
  }

  /// Writes so that the bytes are durable when it returns. The result as of `uninterrupted`, and
  /// -ENOSYS where there is no such call.
  static func writeDurably(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: off_t) -> Int {
    #if os(Linux)
      let dataSync: Int32 = 2  // RWF_DSYNC
      var vector = iovec(
        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
      return uninterrupted { systemWriteVector2(descriptor, &vector, 1, offset, dataSync) }
    #else
      return -Int(ENOSYS)
    #endif
  }

  /// Makes the file's bytes and length durable. Never repeated: after a failure the system may
  /// have dropped the bytes, and a second call would claim success.
  static func flush(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
      // Media without the command; any other failure stands.
      guard errno == ENOTSUP || errno == EINVAL || errno == ENOTTY else { return errno }
      return fsync(descriptor) == 0 ? 0 : errno
    #else
      return fdatasync(descriptor) == 0 ? 0 : errno
    #endif
  }

  /// Extends the file with allocated space; EOPNOTSUPP where the file system can't.
  static func allocate(_ descriptor: Int32, from start: off_t, to end: off_t) -> Int32 {
    #if os(Linux)
      return Int32(-uninterrupted { Int(systemAllocate(descriptor, 0, start, end - start)) })
    #elseif canImport(Darwin)
      var request = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0,
        fst_length: end - start, fst_bytesalloc: 0)
      let result = uninterrupted { Int(fcntl(descriptor, F_PREALLOCATE, &request)) }
      guard result >= 0 else { return Int32(-result) == EINVAL ? EOPNOTSUPP : Int32(-result) }
      return Int32(-uninterrupted { Int(ftruncate(descriptor, end)) })
    #else
      return EOPNOTSUPP
    #endif
  }

  /// Asks the system to begin writing the range to the disk. A hint.
  static func startWriteBack(_ descriptor: Int32, _ offset: off_t, _ count: off_t) {
    #if os(Linux)
      let startWriting: UInt32 = 2  // SYNC_FILE_RANGE_WRITE
      _ = systemSyncFileRange(descriptor, offset, count, startWriting)
    #endif
  }

  /// Brings mapped pages into memory; EINVAL where the system can't, EFAULT where a touch would
  /// raise a signal.
  static func populate(_ start: UnsafeMutableRawPointer, _ count: Int) -> Int32 {
    #if os(Linux)
      let populateRead: Int32 = 22  // MADV_POPULATE_READ, Linux 5.14
      return Int32(-uninterrupted { Int(madvise(start, count, populateRead)) })
    #else
      return EINVAL
    #endif
  }

  /// The largest file this process may write. Beyond it the system sends a signal that by default
  /// ends the process, so it has to be asked for beforehand.
  static var fileSizeLimit: UInt64 {
    var limit = rlimit()
    #if canImport(Glibc)
      let result = getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    #else
      let result = getrlimit(RLIMIT_FSIZE, &limit)
    #endif
    return result == 0 ? UInt64(limit.rlim_cur) : .max
  }

  /// Names the calling thread, for debuggers; Linux shows 15 characters.
  static func nameThread(_ name: String) {
    #if os(Linux)
      _ = systemNameThread(pthread_self(), String(name.prefix(15)))
    #elseif canImport(Darwin)
      pthread_setname_np(name)
    #endif
  }
}
