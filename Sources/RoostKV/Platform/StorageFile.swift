/// What the engine asks of the file below it. All offsets and sizes are in bytes.
///
/// Calls may come from several threads. `close` is the last; whoever calls it makes sure that
/// nobody uses the file or its mapping any more. In a process forked off later every call that can
/// throw throws `forked`.
package protocol StorageFile: AnyObject, Sendable {
  /// The file's absolute path.
  var path: String { get }
  var isWritable: Bool { get }

  func size() throws(StoreError) -> UInt64

  /// Shows the file's bytes, read-only and coherent with `write`, in a part of the reservation:
  /// the file's byte i at `offset + i`. Called once at most. Bytes past the file's end must not be
  /// touched; they appear as the file grows. The reservation ends the mapping.
  ///
  /// - Parameters:
  ///   - offset: a multiple of `Reservation.granularity`, as `count`.
  func map(into reservation: Reservation, offset: Int, count: Int) throws(StoreError)

  /// The mapped bytes are copies, made by `populate`, which later writes don't change.
  var mapsCopies: Bool { get }

  /// Makes the mapped bytes [offset, offset + count) resident, so that an error of the disk is
  /// thrown here rather than raised as a signal at the first touch. They have to lie within the
  /// file; `truncated` otherwise. A call costs about a microsecond, so ask for 64 KiB at a time.
  func populate(offset: UInt64, count: Int) throws(StoreError)

  /// Reads up to `buffer.count` bytes, fewer only at the end of the file.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StoreError) -> Int

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError)

  /// Writes and returns when these bytes are durable. Says nothing about earlier writes.
  func writeDurably(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError)

  /// Asks that writing the range to the disk begin. A hint, without effect on durability.
  func startWriteBack(offset: UInt64, count: Int)

  /// Returns when all that was written, and the file's length, are durable. After a failure
  /// nothing is known about any byte written since the last success.
  func flush() throws(StoreError)

  /// Does the same, and may be called while another thread is in `flush`, `writeDurably` or here.
  ///
  /// The system tells an error of writing back once to each open file description, to whoever flushes next. Two that flushed
  /// by the same one would share one answer: one would hear of an error that concerns the other, and the other of nothing.
  /// So this has a description of its own, flushes one at a time, and keeps throwing its first error. `flush` and
  /// `writeDurably` are the commit queue's, which calls them one at a time.
  func flushForUpkeep() throws(StoreError)

  /// Writes and returns when these bytes are durable, as `writeDurably`, by the way of `flushForUpkeep`.
  func writeDurablyForUpkeep(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError)

  /// Returns when the file's name in its folder is durable.
  func flushName() throws(StoreError)

  /// Extends the file to `bytes` if it is shorter. The space is really allocated and reads as
  /// zeros. On failure (`noSpace`, `sizeLimit`) the file has its old length.
  func grow(to bytes: UInt64) throws(StoreError)

  func truncate(to bytes: UInt64) throws(StoreError)

  /// Throws `fileReplaced` unless the path still names this file.
  func checkIdentity() throws(StoreError)

  // MARK: Locks between processes, which the system drops when their holder dies

  /// Becomes the file's one writer. Doesn't wait.
  ///
  /// - Throws: `locked`, with the holder's process number where it can be learned.
  func lockForWriting() throws(StoreError)
  func unlockForWriting()

  /// Tells all processes that this handle reads from the given generation. Pins don't nest.
  func pin(generation: UInt64) throws(StoreError)
  func unpin(generation: UInt64)

  /// Whether a handle other than this one has pinned a generation in the range.
  func isPinnedElsewhere(generations: ClosedRange<UInt64>) throws(StoreError) -> Bool

  func close()
}

extension StorageFile {
  package var mapsCopies: Bool { false }
  package func flushForUpkeep() throws(StoreError) { try flush() }

  package func writeDurablyForUpkeep(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    try writeDurably(bytes, at: offset)
  }

  package func flushName() throws(StoreError) {}

  /// Up to `count` bytes, fewer at the end of the file.
  func readBytes(_ count: Int, at offset: UInt64) throws(StoreError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let result: Result<Int, StoreError> = bytes.withUnsafeMutableBytes { buffer in
      do throws(StoreError) { return .success(try self.read(into: buffer, at: offset)) } catch {
        return .failure(error)
      }
    }
    bytes.removeLast(count - (try result.get()))
    return bytes
  }

  /// Becomes the file's one writer, waiting for at most `timeout`. The system wakes nobody when such a lock gets free, so
  /// it is asked for again and again, at first often.
  ///
  /// - Throws: `locked` if the timeout is zero, else `lockTimeout`.
  package func lockForWriting(timeout: Duration, _ runtime: any Runtime) throws(StoreError) {
    let deadline = runtime.now() &+ timeout.nanoseconds
    let monitor = runtime.makeMonitor()
    var pause: UInt64 = 500_000
    while true {
      do throws(StoreError) { return try lockForWriting() } catch {
        guard error.code == .locked else { throw error }
        let now = runtime.now()
        guard now < deadline else { throw timeout > .zero ? error.timedOut() : error }
        let next = min(now &+ pause, deadline)
        monitor.withLock { while runtime.now() < next { _ = monitor.wait(until: next) } }
        pause = min(2 * pause, 20_000_000)
      }
    }
  }
}

extension StoreError {
  fileprivate func timedOut() -> StoreError {
    StoreError(.lockTimeout, message, remedy: remedy, path: path, holder: holder)
  }
}
