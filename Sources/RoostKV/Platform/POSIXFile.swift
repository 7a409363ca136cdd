import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A regular file of the operating system.
package final class POSIXFile: StorageFile {
  package enum Mode: Equatable, Sendable {
    case readOnly
    case readWrite
    /// A new file, for reading and writing, with these permissions less the process's umask; `fileExists` if the path
    /// names something already.
    case create(_ permissions: UInt16)

    fileprivate var creates: Bool { if case .create = self { true } else { false } }
  }

  package let path: String
  package let isWritable: Bool
  package let mapsCopies: Bool
  private let identity: FileIdentity
  private let forkCount: UInt32
  /// -1 when closed.
  private let openDescriptor: Atomic<Int32>
  /// Cleared at the first refusal of the system or the file system.
  private let canWriteDurably = Atomic<Bool>(true)
  private let mapping = Mutex<Mapping?>(nil)

  private struct Mapping {
    /// Kept, as its end is the mapping's.
    let reservation: Reservation
    let base: UnsafeMutableRawPointer
    let count: Int
  }

  /// Opens or creates a file. Nothing but regular files is opened, and opening never waits.
  ///
  /// - Parameter copies: the bytes are read into memory rather than mapped.
  /// - Throws: `notFound`, `fileExists`, `notAStore` (a folder, a device ...), `readOnly` (the file
  ///   may be read but not written), `locked` (this process has it open for writing already),
  ///   `ioError`.
  package init(path: String, mode: Mode, copies: Bool = false) throws(StoreError) {
    let path = try Self.absolute(path)
    let writable = mode != .readOnly
    // Asked before it is opened: opening a device can have effects, and closing a second
    // descriptor of a file would drop the first one's classic lock.
    if !mode.creates {
      let identity = try Self.checkRegularFile(path)
      guard !writable || !OpenFiles.shared.isOpenForWriting(identity) else {
        throw Self.openTwice(path)
      }
    }
    let descriptor = try Self.open(path, mode)
    do throws(StoreError) {
      let status = try Self.status(of: descriptor, path)
      try Self.checkIsRegular(status, path)
      identity = FileIdentity(status)
      if mode.creates { try Self.flushFolder(of: path) }
      if writable, !OpenFiles.shared.beginWriting(identity) { throw Self.openTwice(path) }
    } catch {
      OpenFiles.shared.close(descriptor)
      throw error
    }
    self.path = path
    isWritable = writable
    mapsCopies = copies
    forkCount = ForkCount.current
    openDescriptor = Atomic(descriptor)
  }

  deinit {
    close()
  }

  package func close() {
    let descriptor = openDescriptor.exchange(-1, ordering: .acquiringAndReleasing)
    // In a forked child the number may be another file's by now.
    guard descriptor >= 0, forkCount == ForkCount.current else { return }
    OpenFiles.shared.close(descriptor)
    if isWritable { OpenFiles.shared.endWriting(identity) }
  }

  /// The descriptor, for as long as it may be used.
  func descriptor() throws(StoreError) -> Int32 {
    guard forkCount == ForkCount.current else { throw .forked(path: path) }
    let descriptor = openDescriptor.load(ordering: .relaxed)
    guard descriptor >= 0 else { throw .closed(path: path) }
    return descriptor
  }
}

// MARK: - The file as a whole

extension POSIXFile {
  package func size() throws(StoreError) -> UInt64 {
    UInt64(max(0, try Self.status(of: try descriptor(), path).st_size))
  }

  package func checkIdentity() throws(StoreError) {
    let own = try Self.status(of: try descriptor(), path)
    guard own.st_nlink > 0 else { throw replaced("The file was deleted while it was open") }
    var named = stat()
    guard stat(path, &named) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else {
        throw .system(errno, "The path can't be checked", path: path)
      }
      throw replaced("The file was moved away while it was open")
    }
    guard FileIdentity(named) == identity else {
      throw replaced("Another file was put in this one's place while it was open")
    }
  }

  private func replaced(_ message: String) -> StoreError {
    StoreError(
      .fileReplaced, message, remedy: "close the store and open the file that is to be used", path: path)
  }

  package func grow(to bytes: UInt64) throws(StoreError) {
    let descriptor = try descriptor()
    let old = try size()
    guard bytes > old else { return }
    guard bytes <= SystemCalls.fileSizeLimit, let end = off_t(exactly: bytes) else {
      throw .system(EFBIG, "The file can't grow to \(bytes) bytes", path: path)
    }
    var failure = SystemCalls.allocate(descriptor, from: off_t(old), to: end)
    if failure == EOPNOTSUPP || failure == ENOSYS || failure == EINVAL {
      failure = writeZeros(descriptor, from: off_t(old), to: end)
    }
    guard failure == 0 else {
      // Part of it may have been added. The store's own length is the old one in any case.
      _ = ftruncate(descriptor, off_t(old))
      throw .system(failure, "The file can't grow to \(bytes) bytes", path: path)
    }
  }

  private func writeZeros(_ descriptor: Int32, from start: off_t, to end: off_t) -> Int32 {
    let zeros = [UInt8](repeating: 0, count: 64 << 10)
    var offset = start
    while offset < end {
      let written = zeros.withUnsafeBytes { zeros in
        SystemCalls.uninterrupted {
          pwrite(descriptor, zeros.baseAddress, min(zeros.count, Int(end - offset)), offset)
        }
      }
      guard written > 0 else { return written == 0 ? EIO : Int32(-written) }
      offset += off_t(written)
    }
    return 0
  }

  package func truncate(to bytes: UInt64) throws(StoreError) {
    let descriptor = try descriptor()
    let result = SystemCalls.uninterrupted { Int(ftruncate(descriptor, off_t(clamping: bytes))) }
    guard result >= 0 else {
      throw .system(Int32(-result), "The file can't be cut to \(bytes) bytes", path: path)
    }
  }

  /// A folder that may not be read can't be flushed.
  package func flushName() throws(StoreError) {
    _ = try descriptor()
    do throws(StoreError) { try Self.flushFolder(of: path) } catch {
      guard error.errno == EACCES || error.errno == EPERM else { throw error }
    }
  }

  package func flush() throws(StoreError) {
    let failure = SystemCalls.flush(try descriptor())
    guard failure == 0 else {
      throw .system(failure, "What was written can't be made durable", path: path)
    }
  }
}

// MARK: - The mapping

extension POSIXFile {
  package func map(into reservation: Reservation, offset: Int, count: Int) throws(StoreError) {
    if mapsCopies {
      try reservation.makeArena(offset: offset, count: count, huge: false)
    } else {
      try reservation.mapFile(try descriptor(), path: path, offset: offset, count: count)
    }
    mapping.withLock {
      $0 = Mapping(reservation: reservation, base: reservation.base + offset, count: count)
    }
  }

  package func populate(offset: UInt64, count: Int) throws(StoreError) {
    let descriptor = try descriptor()
    let target = mapping.withLock { $0.map { ($0.base, $0.count) } }
    guard let (base, mapped) = target, let start = Int(exactly: offset), count >= 0,
      start <= mapped, count <= mapped - start
    else {
      throw StoreError(
        .truncated, "The place lies outside the file's mapping",
        remedy: "open the store with a larger maximum size", path: path, offset: offset)
    }
    if mapsCopies {
      // Bounds: compared with the mapping's above.
      let place = UnsafeMutableRawBufferPointer(start: base + start, count: count)
      guard try read(into: place, at: offset) == count else { throw Self.endsEarly(path, offset) }
      return
    }
    let first = start & ~(SystemCalls.pageSize - 1)
    let bytes = start + count - first
    guard SystemCalls.populate(base + first, bytes) != 0 else { return }
    try readThrough(descriptor, first, start + count)
    // All of it can be read: the call is missing, or what it met has passed.
    let failure = SystemCalls.populate(base + first, bytes)
    guard failure == 0 || failure == EINVAL else {
      throw .system(failure, "The file's bytes can't be brought into memory", path: path, offset: offset)
    }
  }

  /// Reads a byte of each page of virtual memory: learns what an error is, and where the system
  /// can't populate brings the pages into its cache at least.
  private func readThrough(_ descriptor: Int32, _ start: Int, _ end: Int) throws(StoreError) {
    for page in stride(from: start, to: end, by: SystemCalls.pageSize) {
      let last = min(page + SystemCalls.pageSize, end) - 1
      var byte: UInt8 = 0
      let result = SystemCalls.uninterrupted { pread(descriptor, &byte, 1, off_t(last)) }
      guard result != 0 else { throw Self.endsEarly(path, UInt64(page)) }
      guard result > 0 else { throw readFailed(Int32(-result), UInt64(page)) }
    }
  }

  package static func endsEarly(_ path: String, _ offset: UInt64) -> StoreError {
    StoreError(
      .truncated, "The file ends too early", remedy: "restore the store from a backup", path: path,
      offset: offset)
  }
}

// MARK: - Bytes

extension POSIXFile {
  package func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(StoreError) -> Int {
    let descriptor = try descriptor()
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let place = try position(offset, done)
      let result = SystemCalls.uninterrupted { pread(descriptor, rest.baseAddress, rest.count, place) }
      guard result >= 0 else { throw readFailed(Int32(-result), offset) }
      if result == 0 { break }
      done += result
    }
    return done
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    try writeAll(bytes, at: offset) { descriptor, rest, place in
      SystemCalls.uninterrupted { pwrite(descriptor, rest.baseAddress, rest.count, place) }
    }
  }

  package func writeDurably(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    if canWriteDurably.load(ordering: .relaxed) {
      do throws(StoreError) {
        try writeAll(bytes, at: offset) { descriptor, rest, place in
          SystemCalls.writeDurably(descriptor, rest, at: place)
        }
        return
      } catch {
        guard error.errno == ENOSYS || error.errno == EOPNOTSUPP else { throw error }
        canWriteDurably.store(false, ordering: .relaxed)
      }
    }
    try write(bytes, at: offset)
    try flush()
  }

  package func startWriteBack(offset: UInt64, count: Int) {
    guard let descriptor = try? descriptor() else { return }
    SystemCalls.startWriteBack(descriptor, off_t(clamping: offset), off_t(count))
  }

  /// Calls `write` until all is written; it gives a count, or minus an error's number.
  private func writeAll(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64,
    _ write: (Int32, UnsafeRawBufferPointer, off_t) -> Int
  ) throws(StoreError) {
    let descriptor = try descriptor()
    guard isWritable else {
      throw StoreError(
        .readOnly, "The file was opened read-only", remedy: "open it for writing", path: path)
    }
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let place = try position(offset, done)
      let result = write(descriptor, rest, place)
      guard result > 0 else {
        let number = result == 0 ? EIO : Int32(-result)
        throw .system(number, "Writing to the file failed", path: path, offset: offset)
      }
      done += result
    }
  }

  private func position(_ offset: UInt64, _ done: Int) throws(StoreError) -> off_t {
    guard let place = off_t(exactly: offset), place <= off_t.max - off_t(done) else {
      throw .system(EFBIG, "No file reaches as far as that", path: path, offset: offset)
    }
    return place + off_t(done)
  }

  private func readFailed(_ number: Int32, _ offset: UInt64) -> StoreError {
    .system(number, "Reading the file failed", path: path, offset: offset)
  }
}
