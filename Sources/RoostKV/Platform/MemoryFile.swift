import Synchronization

/// A file that lives in memory and ends with the process. Nothing in it is durable, and as no
/// other process can open it, its locks are always free.
package final class MemoryFile: StorageFile {
  package let path: String
  package let isWritable = true
  private let bytes: Mutex<AnonymousBytes>
  private let forkCount = ForkCount.current

  /// - Parameter path: a name for messages.
  package init(path: String = ":memory:") throws(StoreError) {
    self.path = path
    bytes = Mutex(try AnonymousBytes())
  }

  package func size() throws(StoreError) -> UInt64 {
    try withBytes { UInt64($0.count) }
  }

  package func map(into reservation: Reservation, offset: Int, count: Int) throws(StoreError) {
    try withBytes { (bytes) throws(StoreError) in
      try bytes.move(into: reservation, offset: offset, capacity: count)
    }
  }

  package func populate(offset: UInt64, count: Int) throws(StoreError) {
    let (end, overflow) = offset.addingReportingOverflow(UInt64(max(0, count)))
    guard !overflow, end <= (try size()) else { throw POSIXFile.endsEarly(path, offset) }
  }

  package func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(StoreError) -> Int {
    try withBytes { $0.read(into: buffer, at: offset) }
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    try withBytes { (content) throws(StoreError) in try content.write(bytes, at: offset) }
  }

  package func writeDurably(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    try write(bytes, at: offset)
  }

  package func grow(to size: UInt64) throws(StoreError) {
    try withBytes { (bytes) throws(StoreError) in
      if size > bytes.count { try bytes.resize(to: size) }
    }
  }

  package func truncate(to size: UInt64) throws(StoreError) {
    try withBytes { (bytes) throws(StoreError) in try bytes.resize(to: size) }
  }

  private func withBytes<R>(_ body: (AnonymousBytes) throws(StoreError) -> R) throws(StoreError) -> R {
    guard forkCount == ForkCount.current else { throw .forked(path: path) }
    return try bytes.withLock { (bytes) throws(StoreError) in try body(bytes) }
  }

  package func startWriteBack(offset: UInt64, count: Int) {}
  package func flush() throws(StoreError) {}
  package func checkIdentity() throws(StoreError) {}
  package func lockForWriting() throws(StoreError) {}
  package func unlockForWriting() {}
  package func pin(generation: UInt64) throws(StoreError) {}
  package func unpin(generation: UInt64) {}
  package func isPinnedElsewhere(generations: ClosedRange<UInt64>) throws(StoreError) -> Bool { false }
  package func close() {}
}
