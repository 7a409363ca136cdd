#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// Locks lie on bytes far beyond the end of any file, so that nothing has to be written and a
// read-only descriptor will do. They belong to the open file description: closing another
// descriptor of the file doesn't drop them, and threads count for nothing. The kernel drops them
// when their holder dies.
//
// Such a lock doesn't say who holds it. Therefore the writer also takes a classic lock on the next
// byte, which is asked for the process number and for nothing else; it gets lost when the process
// closes another descriptor of the file, and then the holder is unknown.

private let writerByte: off_t = 1 << 61
private let writerNameByte: off_t = writerByte + 1
private let firstPinByte: off_t = 1 << 62

extension POSIXFile {
  package func lockForWriting() throws(StoreError) {
    let descriptor = try descriptor()
    let failure = setLock(descriptor, F_WRLCK, writerByte)
    guard failure == 0 else { throw failure == EAGAIN || failure == EACCES ? held(descriptor) : lockFailed(failure) }
    var name = range(F_WRLCK, writerNameByte, 1)
    _ = fcntl(descriptor, F_SETLK, &name)
  }

  package func unlockForWriting() {
    guard let descriptor = try? descriptor() else { return }
    var name = range(F_UNLCK, writerNameByte, 1)
    _ = fcntl(descriptor, F_SETLK, &name)
    _ = setLock(descriptor, F_UNLCK, writerByte)
  }

  package func pin(generation: UInt64) throws(StoreError) {
    let failure = setLock(try descriptor(), F_RDLCK, pinByte(generation))
    guard failure == 0 else { throw lockFailed(failure) }
  }

  package func unpin(generation: UInt64) {
    guard let descriptor = try? descriptor() else { return }
    _ = setLock(descriptor, F_UNLCK, pinByte(generation))
  }

  package func isPinnedElsewhere(generations: ClosedRange<UInt64>) throws(StoreError) -> Bool {
    let first = pinByte(generations.lowerBound)
    let last = pinByte(generations.upperBound)
    var query = range(F_WRLCK, first, last - first + 1)
    let result = fcntl(try descriptor(), SystemCalls.getLock, &query)
    guard result == 0 else { throw lockFailed(errno) }
    return query.l_type != Int16(F_UNLCK)
  }

  /// Generations have 32 bits. One that hasn't, read from a damaged file, shares the last byte.
  private func pinByte(_ generation: UInt64) -> off_t {
    firstPinByte + off_t(min(generation, 1 << 61))
  }

  private func held(_ descriptor: Int32) -> StoreError {
    var query = range(F_WRLCK, writerNameByte, 1)
    let known = fcntl(descriptor, F_GETLK, &query) == 0 && query.l_type != Int16(F_UNLCK) && query.l_pid > 0
    let who = known ? "process \(query.l_pid)" : "an unknown process"
    return StoreError(
      .locked, "The file is open for writing in \(who)",
      remedy: "let that process close it, or open the file read-only", path: path,
      holder: known ? query.l_pid : nil)
  }

  private func lockFailed(_ number: Int32) -> StoreError {
    number == EINVAL
      ? .system(ENOLCK, "The file system has no locks of the kind needed", path: path)
      : .system(number, "The file can't be locked", path: path)
  }

  private func setLock(_ descriptor: Int32, _ type: some BinaryInteger, _ start: off_t) -> Int32 {
    var lock = range(type, start, 1)
    let result = SystemCalls.uninterrupted { Int(fcntl(descriptor, SystemCalls.setLock, &lock)) }
    return Int32(result < 0 ? -result : 0)
  }

  private func range(_ type: some BinaryInteger, _ start: off_t, _ count: off_t) -> flock {
    var lock = flock()
    lock.l_type = Int16(type)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = start
    lock.l_len = count
    return lock
  }
}
