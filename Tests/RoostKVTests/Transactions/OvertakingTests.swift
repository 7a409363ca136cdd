import Foundation
import RoostKV
import Synchronization
import TestSupport
import Testing

/// A checkpoint whose thread comes late to take it in, when another has done so and a third one is written already.
@Suite struct OvertakingTests {
  /// Header writes wait while the gate is shut.
  private final class GatedFile: ForwardingFile {
    let base: any StorageFile
    let isShut = Atomic(false)
    let headerWrites = Atomic(0)

    init(_ base: any StorageFile) { self.base = base }

    func writeDurablyForUpkeep(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
      while isShut.load(ordering: .relaxed) { usleep(1000) }
      try base.writeDurablyForUpkeep(bytes, at: offset)
      headerWrites.add(1, ordering: .relaxed)
    }
  }

  private static func pause() { usleep(30_000) }

  /// Should the threads come in another order than meant, the test is easier to pass; it never fails by that.
  @Test("It takes in nothing twice, and not the other's in its place")
  func lateThread() throws {
    var options = StoreOptions()
    options.pageSize = 4096
    options.journalBound = 64 << 10
    options.addressSpace = 1 << 32
    let file = GatedFile(SimulatedDisk(SimulatedMedium(DiskImage(try Store.emptyFile(options)))))
    let store = try Store.open(file, options)
    let failures = Mutex<[String]>([])
    let threads = DispatchGroup()
    @Sendable func start(_ body: @escaping @Sendable () throws -> Void) {
      threads.enter()
      SystemRuntime().start("test") {
        do { try body() } catch { failures.withLock { $0.append("\(error)") } }
        threads.leave()
      }
      Self.pause()
    }
    @Sendable func put(_ first: Int, _ count: Int, _ store: Store, _ wait: () -> Void = {}) throws {
      try store.write { transaction in
        wait()
        let table = try transaction.createTableIfMissing("t")
        for number in first..<first + count {
          try transaction.put("\(number)", [UInt8](repeating: 1, count: 100), in: table)
        }
      }
    }
    try put(0, 100, store)
    file.isShut.store(true, ordering: .relaxed)
    start { try store.checkpoint() }
    var large = try store.beginWrite()
    start { try put(2000, 10, store) }
    start { try store.checkpoint() }
    let written = file.headerWrites.load(ordering: .relaxed)
    // Holds the lock until the second checkpoint has been written, with the first one's thread in line behind it.
    start {
      try put(3000, 10, store) {
        while file.headerWrites.load(ordering: .relaxed) < written + 6 { usleep(1000) }; Self.pause()
      }
    }
    file.isShut.store(false, ordering: .relaxed)
    Self.pause()
    let table = try large.table("t")
    for number in 0..<1000 { try large.put("\(number)", [UInt8](repeating: 2, count: 100), in: table) }
    try large.commit()
    threads.wait()
    #expect(failures.withLock { $0 } == [])
    try requireSound(store, "after all")
    for round in 0..<4 {
      try put(4000 + 100 * round, 100, store)
      try store.checkpoint()
      try requireSound(store, "round \(round)")
    }
    #expect(try store.read { try $0.count(try $0.table("t")) } == 1420)
  }
}
