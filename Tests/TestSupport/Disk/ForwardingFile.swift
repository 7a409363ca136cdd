import RoostKV

/// A file that hands every call on to another, but for those that it implements itself.
package protocol ForwardingFile: StorageFile {
  var base: any StorageFile { get }
}

extension ForwardingFile {
  package var path: String { base.path }
  package var isWritable: Bool { base.isWritable }
  package var mapsCopies: Bool { base.mapsCopies }

  package func size() throws(StoreError) -> UInt64 { try base.size() }

  package func map(into reservation: Reservation, offset: Int, count: Int) throws(StoreError) {
    try base.map(into: reservation, offset: offset, count: count)
  }

  package func populate(offset: UInt64, count: Int) throws(StoreError) {
    try base.populate(offset: offset, count: count)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StoreError) -> Int {
    try base.read(into: buffer, at: offset)
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    try base.write(bytes, at: offset)
  }

  package func writeDurably(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    try base.writeDurably(bytes, at: offset)
  }

  package func writeDurablyForUpkeep(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    try base.writeDurablyForUpkeep(bytes, at: offset)
  }

  package func startWriteBack(offset: UInt64, count: Int) { base.startWriteBack(offset: offset, count: count) }
  package func flush() throws(StoreError) { try base.flush() }
  package func flushForUpkeep() throws(StoreError) { try base.flushForUpkeep() }
  package func flushName() throws(StoreError) { try base.flushName() }
  package func grow(to bytes: UInt64) throws(StoreError) { try base.grow(to: bytes) }
  package func truncate(to bytes: UInt64) throws(StoreError) { try base.truncate(to: bytes) }
  package func checkIdentity() throws(StoreError) { try base.checkIdentity() }
  package func lockForWriting() throws(StoreError) { try base.lockForWriting() }
  package func unlockForWriting() { base.unlockForWriting() }
  package func pin(generation: UInt64) throws(StoreError) { try base.pin(generation: generation) }
  package func unpin(generation: UInt64) { base.unpin(generation: generation) }

  package func isPinnedElsewhere(generations: ClosedRange<UInt64>) throws(StoreError) -> Bool {
    try base.isPinnedElsewhere(generations: generations)
  }

  package func close() { base.close() }
}
