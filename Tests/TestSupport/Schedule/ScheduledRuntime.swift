import RoostKV

/// The engine's clock, locks and threads under a scheduler.
package struct ScheduledRuntime: Runtime {
  package let scheduler: Scheduler
  private let seeds: Seeds

  private final class Seeds: @unchecked Sendable {
    var generator: SplitMix64
    init(_ seed: UInt64) { generator = SplitMix64(seed: seed) }
  }

  package init(_ scheduler: Scheduler) {
    self.scheduler = scheduler
    seeds = Seeds(1)
  }

  /// Runs the engine's threads in an order that follows from a seed, the calling thread among them.
  package init(seed: UInt64, switchesOneIn: Int = 3) {
    scheduler = Scheduler(seed: seed, switchesOneIn: switchesOneIn)
    seeds = Seeds(seed)
  }

  /// A moment at which another thread may go on.
  package func yield() { scheduler.point() }

  /// Lets every other thread run to its end.
  package func drain() { scheduler.drain() }

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
package final class ScheduledDisk: ForwardingFile {
  package let base: any StorageFile
  private let scheduler: Scheduler

  package init(_ disk: any StorageFile, _ scheduler: Scheduler) {
    self.scheduler = scheduler
    base = disk
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    scheduler.point()
    try base.write(bytes, at: offset)
  }

  package func writeDurably(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    scheduler.point()
    try base.writeDurably(bytes, at: offset)
  }

  package func writeDurablyForUpkeep(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64
  ) throws(StoreError) {
    scheduler.point()
    try base.writeDurablyForUpkeep(bytes, at: offset)
  }

  package func flush() throws(StoreError) {
    scheduler.point()
    try base.flush()
  }

  package func flushForUpkeep() throws(StoreError) {
    scheduler.point()
    try base.flushForUpkeep()
  }
}
