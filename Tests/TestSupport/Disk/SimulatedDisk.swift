import Foundation
import RoostKV
import Synchronization

/// A handle to a simulated medium's file. Handles of one medium stand for several processes.
package final class SimulatedDisk: StorageFile {
  package let medium: SimulatedMedium
  package let isWritable: Bool
  package let path = "simulated disk"
  /// Where the file has its name.
  private let folder: SimulatedFolder?
  private let isClosed = Atomic<Bool>(false)

  package init(_ medium: SimulatedMedium, writable: Bool = true, in folder: SimulatedFolder? = nil) {
    self.medium = medium
    self.folder = folder
    isWritable = writable
  }

  package convenience init(_ image: DiskImage = DiskImage()) {
    self.init(SimulatedMedium(image))
  }

  deinit {
    close()
  }

  /// Drops the handle's locks, as the end of its process does too. Every later call throws.
  package func close() {
    isClosed.store(true, ordering: .relaxed)
    medium.releaseLocks(ObjectIdentifier(self))
  }

  private func checkOpen() throws(StoreError) {
    guard !isClosed.load(ordering: .relaxed) else { throw .closed(path: path) }
  }

  private func checkWritable() throws(StoreError) {
    try checkOpen()
    guard isWritable else {
      throw StoreError(.readOnly, "The handle is read-only", remedy: "open it for writing", path: path)
    }
  }

  package func size() throws(StoreError) -> UInt64 {
    try checkOpen()
    return medium.size()
  }

  package func map(into reservation: Reservation, offset: Int, count: Int) throws(StoreError) {
    try checkOpen()
    try reservation.mapFile(medium.descriptor, path: path, offset: offset, count: count)
  }

  package func populate(offset: UInt64, count: Int) throws(StoreError) {
    try checkOpen()
    try medium.populate(offset: offset, count: count)
  }

  package func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(StoreError) -> Int {
    try checkOpen()
    return try medium.read(into: buffer, at: offset)
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    try checkWritable()
    try medium.write(bytes, at: offset, durably: false)
  }

  package func writeDurably(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    try checkWritable()
    try medium.write(bytes, at: offset, durably: true)
  }

  package func startWriteBack(offset: UInt64, count: Int) {}

  package func flush() throws(StoreError) {
    try checkOpen()
    try medium.flush()
  }

  package func flushName() throws(StoreError) {
    try checkOpen()
    try folder?.flush()
  }

  package func grow(to bytes: UInt64) throws(StoreError) {
    try checkWritable()
    try medium.grow(to: bytes)
  }

  package func truncate(to bytes: UInt64) throws(StoreError) {
    try checkWritable()
    try medium.truncate(to: bytes)
  }

  package func checkIdentity() throws(StoreError) {
    try checkOpen()
    guard !medium.isReplaced else {
      throw StoreError(
        .fileReplaced, "Another file was put in this one's place", remedy: "open the file anew", path: path)
    }
  }

  package func lockForWriting() throws(StoreError) {
    try checkOpen()
    guard medium.lockForWriting(ObjectIdentifier(self)) else {
      throw StoreError(
        .locked, "The file is open for writing elsewhere",
        remedy: "close it there", path: path)
    }
  }

  package func unlockForWriting() {
    medium.unlockForWriting(ObjectIdentifier(self))
  }

  package func pin(generation: UInt64) throws(StoreError) {
    try checkOpen()
    medium.pin(generation, ObjectIdentifier(self))
  }

  package func unpin(generation: UInt64) {
    medium.unpin(generation, ObjectIdentifier(self))
  }

  package func isPinnedElsewhere(generations: ClosedRange<UInt64>) throws(StoreError) -> Bool {
    try checkOpen()
    return medium.isPinned(generations, notBy: ObjectIdentifier(self))
  }
}
