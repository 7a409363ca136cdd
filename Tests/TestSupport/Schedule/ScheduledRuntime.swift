import RoostKV

/// The engine's clock, locks and threads under a scheduler.
package struct ScheduledRuntime: Runtime {
  package let scheduler: Scheduler
  private let seeds: Seeds

  private final class Seeds: @unchecked Sendable {
    var generator = SplitMix64(seed: 1)
  }

  package init(_ scheduler: Scheduler) {
    self.scheduler = scheduler
    seeds = Seeds()
  }

  package func now() -> UInt64 { scheduler.now() }

  package func makeMonitor() -> any Monitor { ScheduledMonitor(scheduler) }

  package func start(_ name: String, _ body: @escaping @Sendable () -> Void) { scheduler.spawn(name, body) }

  package func randomSeed() -> UInt64 { seeds.generator.next() }
}

/// A monitor whose taking is a point at which another thread may go on.
package final class ScheduledMonitor: Monitor, @unchecked Sendable {
  private let scheduler: Scheduler
  private var isHeld = false

  init(_ scheduler: Scheduler) { self.scheduler = scheduler }

  package func lock() {
    scheduler.point()
    take()
  }

  private func take() {
    while isHeld { scheduler.block(on: ObjectIdentifier(self)) }
    isHeld = true
  }

  package func unlock() {
    isHeld = false
    scheduler.wake(ObjectIdentifier(self), waiters: false)
  }

  package func wait(until deadline: UInt64?) -> Bool {
    unlock()
    let inTime = scheduler.wait(on: ObjectIdentifier(self), until: deadline)
    take()
    return inTime
  }

  package func wakeAll() { scheduler.wake(ObjectIdentifier(self), waiters: true) }
}

/// A file, with another thread free to go on before each change of it.
package final class ScheduledDisk: StorageFile {
  private let disk: any StorageFile
  private let scheduler: Scheduler

  package init(_ disk: any StorageFile, _ scheduler: Scheduler) {
    self.disk = disk
    self.scheduler = scheduler
  }

  package var path: String { disk.path }
  package var isWritable: Bool { disk.isWritable }

  package func size() throws(StoreError) -> UInt64 { try disk.size() }

  package func map(into reservation: Reservation, offset: Int, count: Int) throws(StoreError) {
    try disk.map(into: reservation, offset: offset, count: count)
  }

  package func populate(offset: UInt64, count: Int) throws(StoreError) {
    try disk.populate(offset: offset, count: count)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StoreError) -> Int {
    try disk.read(into: buffer, at: offset)
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    scheduler.point()
    try disk.write(bytes, at: offset)
  }

  package func writeDurably(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    scheduler.point()
    try disk.writeDurably(bytes, at: offset)
  }

  package func startWriteBack(offset: UInt64, count: Int) {}

  package func flush() throws(StoreError) {
    scheduler.point()
    try disk.flush()
  }

  package func writeDurablyForUpkeep(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    scheduler.point()
    try disk.writeDurablyForUpkeep(bytes, at: offset)
  }

  package func flushForUpkeep() throws(StoreError) {
    scheduler.point()
    try disk.flushForUpkeep()
  }

  package func grow(to bytes: UInt64) throws(StoreError) { try disk.grow(to: bytes) }
  package func truncate(to bytes: UInt64) throws(StoreError) { try disk.truncate(to: bytes) }
  package func checkIdentity() throws(StoreError) { try disk.checkIdentity() }
  package func lockForWriting() throws(StoreError) { try disk.lockForWriting() }
  package func unlockForWriting() { disk.unlockForWriting() }
  package func pin(generation: UInt64) throws(StoreError) { try disk.pin(generation: generation) }
  package func unpin(generation: UInt64) { disk.unpin(generation: generation) }

  package func isPinnedElsewhere(generations: ClosedRange<UInt64>) throws(StoreError) -> Bool {
    try disk.isPinnedElsewhere(generations: generations)
  }

  package func close() { disk.close() }
}
