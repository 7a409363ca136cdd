import Foundation
import RoostKV
import TestSupport
import Testing

/// The simulated disk itself: what a crash may take and what it may not.
@Suite struct SimulatedDiskTests {
  private let sector = DiskState.sector

  private func filled(_ byte: UInt8, _ count: Int) -> [UInt8] {
    [UInt8](repeating: byte, count: count)
  }

  private func disk(_ byte: UInt8, sectors: Int) -> SimulatedDisk {
    SimulatedDisk(DiskImage(filled(byte, sectors * sector)))
  }

  /// All crash states of the disk as they stand; fails unless they can be enumerated.
  private func allCrashes(_ disk: SimulatedDisk) -> Set<DiskImage> {
    let state = disk.medium.state
    #expect(CrashStates(state, limit: 100_000, seed: 1).isExhaustive)
    return Set(state.crashStates(limit: 100_000, seed: 1))
  }

  // MARK: Writes

  /// SPEC.md [D-1]
  @Test func anUnflushedWriteMayVanishOrTearBetweenSectors() throws {
    let disk = disk(0, sectors: 4)
    try disk.write(filled(1, 2 * sector), at: UInt64(sector))
    let expected = [[0, 0], [0, 1], [1, 0], [1, 1]].map { (pair: [UInt8]) in
      DiskImage(filled(0, sector) + filled(pair[0], sector) + filled(pair[1], sector) + filled(0, sector))
    }
    #expect(allCrashes(disk) == Set(expected))
    #expect(disk.medium.killImage == expected[3])
  }

  /// SPEC.md [D-2]
  @Test func aFlushedWriteStays() throws {
    let disk = disk(0, sectors: 2)
    try disk.write(filled(1, 100), at: 300)
    try disk.flush()
    let crashes = allCrashes(disk)
    #expect(crashes == [disk.medium.killImage])
    #expect(crashes.first?.bytes[300..<400].allSatisfy { $0 == 1 } == true)
  }

  /// SPEC.md [D-3]
  @Test func writesReorder() throws {
    let disk = disk(0, sectors: 2)
    try disk.write([1], at: 0)
    try disk.write([2], at: UInt64(sector))
    #expect(allCrashes(disk).contains { $0.bytes[0] == 0 && $0.bytes[sector] == 2 })
  }

  @Test func aSectorHoldsWhatItHeldAtSomeTime() throws {
    let disk = disk(0, sectors: 1)
    try disk.write([1], at: 0)
    try disk.write([2], at: 1)
    let starts = allCrashes(disk).map { Array($0.bytes.prefix(2)) }
    #expect(Set(starts) == [[0, 0], [1, 0], [1, 2]])
  }

  @Test func aDurableWriteMakesOnlyItsOwnSectorsDurable() throws {
    let disk = disk(0, sectors: 3)
    try disk.write([1], at: 0)
    try disk.write([2], at: UInt64(sector))
    try disk.writeDurably([3], at: UInt64(sector) + 1)
    let crashes = allCrashes(disk)
    #expect(crashes.count == 2)
    #expect(crashes.allSatisfy { Array($0.bytes[sector..<sector + 2]) == [2, 3] })
    #expect(Set(crashes.map { $0.bytes[0] }) == [0, 1])
  }

  // MARK: Lengths

  @Test func growthMayComeBeforeOrAfterTheBytes() throws {
    let disk = disk(1, sectors: 1)
    try disk.grow(to: UInt64(2 * sector))
    try disk.write(filled(2, sector), at: UInt64(sector))
    #expect(
      allCrashes(disk) == [
        DiskImage(filled(1, sector)), DiskImage(filled(1, sector) + filled(0, sector)),
        DiskImage(filled(1, sector) + filled(2, sector)),
      ])
  }

  @Test func aDurableWriteInNewSpaceMakesTheLengthDurable() throws {
    let disk = disk(1, sectors: 1)
    try disk.grow(to: UInt64(4 * sector))
    try disk.writeDurably([2], at: UInt64(sector))
    #expect(allCrashes(disk).map(\.bytes.count) == [4 * sector])
  }

  @Test func anUnflushedCutMayBeLost() throws {
    let disk = disk(1, sectors: 3)
    try disk.truncate(to: UInt64(sector))
    #expect(Set(allCrashes(disk).map(\.bytes.count)) == [sector, 3 * sector])
    try disk.flush()
    #expect(allCrashes(disk).map(\.bytes.count) == [sector])
  }

  @Test func bytesWrittenAfterACutNeedTheCut() throws {
    let disk = disk(1, sectors: 2)
    try disk.truncate(to: UInt64(sector))
    try disk.grow(to: UInt64(3 * sector))
    try disk.write(filled(2, sector), at: UInt64(sector))
    let ends = Set(allCrashes(disk).map { Array($0.bytes.dropFirst(sector)) })
    let zeros = filled(0, sector)
    #expect(ends == [filled(1, sector), [], zeros + zeros, filled(2, sector) + zeros])
  }

  @Test(arguments: [0, 10])
  func aCutTakesPendingBytesWithIt(_ left: Int) throws {
    let disk = disk(1, sectors: 2)
    try disk.write(filled(2, sector), at: UInt64(sector))
    try disk.truncate(to: UInt64(sector + left))
    try disk.grow(to: UInt64(2 * sector))
    try disk.flush()
    let expected = filled(1, sector) + filled(2, left) + filled(0, sector - left)
    #expect(allCrashes(disk) == [DiskImage(expected)])
    #expect(disk.medium.killImage.bytes == expected)
  }

  // MARK: Against a model

  /// Under random operations reads show the last bytes written, a flush makes them durable, and
  /// each crash state's sectors hold what they held at some time since the last flush.
  @Test(arguments: Seed.first(20))
  func randomOperations(_ seed: Seed) throws {
    var random = seed.generator
    let disk = disk(0, sectors: 8)
    var model = filled(0, 8 * sector)
    var history: [Set<[UInt8]>] = []
    func remember() {
      for index in 0..<8 {
        history[index].insert(Array(model[index * sector..<(index + 1) * sector]))
      }
    }
    func forget() {
      history = [Set<[UInt8]>](repeating: [], count: 8)
      remember()
    }
    forget()
    for _ in 0..<40 {
      if random.oneIn(6) {
        try disk.flush()
        forget()
      } else {
        let start = Int.random(in: 0..<model.count, using: &random)
        let bytes = random.bytes(Int.random(in: 1...min(1500, model.count - start), using: &random))
        try disk.write(bytes, at: UInt64(start))
        model.replaceSubrange(start..<start + bytes.count, with: bytes)
        remember()
      }
      #expect(disk.medium.killImage.bytes == model)
      let state = disk.medium.state
      #expect(state.everything.bytes == model)
      for image in state.crashStates(limit: 20, seed: random.next()) {
        for index in 0..<8 {
          let content = Array(image.bytes[index * sector..<(index + 1) * sector])
          #expect(history[index].contains(content), "\(seed), sector \(index)")
        }
      }
    }
  }

  // MARK: Recording

  @Test func operationsAreKeptInTheirOrder() throws {
    let disk = disk(0, sectors: 2)
    var state = disk.medium.state
    try disk.write([1], at: 0)
    try disk.writeDurably([2], at: UInt64(sector))
    try disk.flush()
    let operations = disk.medium.operations
    #expect(operations.count == 4)
    let states = operations.map { operation in
      state.apply(operation)
      return state
    }
    #expect(states.map(\.pendingPieces) == [1, 2, 1, 0])
    #expect(states.map { $0.nothing.bytes[sector] } == [0, 0, 2, 2])
    #expect(states.map { $0.everything.bytes[0] } == [1, 1, 1, 1])
  }

  // MARK: Faults

  private func code(_ body: () throws(StoreError) -> Void) -> StoreError.Code? {
    do throws(StoreError) {
      try body()
      return nil
    } catch {
      return error.code
    }
  }

  @Test func theChosenCallFails() throws {
    let disk = disk(0, sectors: 1)
    disk.medium.inject(DiskFault(.write, call: 1))
    try disk.write([1], at: 0)
    #expect(code { () throws(StoreError) in try disk.write([2], at: 0) } == .ioError)
    try disk.write([3], at: 1)
    #expect(try disk.read(3, at: 0) == [1, 3, 0])
    disk.medium.inject(DiskFault(.grow, .error(ENOSPC), lasting: true))
    for _ in 0..<3 {
      #expect(code { () throws(StoreError) in try disk.grow(to: 4096) } == .noSpace)
    }
    disk.medium.removeFaults()
    try disk.grow(to: 4096)
    disk.medium.capacity = 8192
    #expect(code { () throws(StoreError) in try disk.grow(to: 8193) } == .noSpace)
    #expect(disk.medium.calls(.grow) == 5)
  }

  @Test func aPartialWriteLeavesItsStart() throws {
    let disk = disk(0, sectors: 1)
    disk.medium.inject(DiskFault(.write, .partial(2, EIO)))
    #expect(code { () throws(StoreError) in try disk.write([1, 2, 3, 4], at: 0) } == .ioError)
    #expect(try disk.read(4, at: 0) == [1, 2, 0, 0])
  }

  /// SPEC.md [D-4]
  @Test(arguments: [DiskFault.AfterFlush.pending, .forgotten, .reverted])
  func aFailedFlushMakesLittleDurable(_ after: DiskFault.AfterFlush) throws {
    let disk = disk(0, sectors: 64)
    disk.medium.inject(DiskFault(.flush, .flush(EIO, after)))
    try disk.write(filled(1, 64 * sector), at: 0)
    #expect(code { () throws(StoreError) in try disk.flush() } == .ioError)
    let shown = try disk.read(64 * sector, at: 0)
    #expect((shown == filled(1, 64 * sector)) == (after != .reverted))
    try disk.flush()
    let durable = allCrashes(disk)
    #expect(durable.count == 1)
    #expect((durable.first?.bytes == filled(1, 64 * sector)) == (after == .pending))
    #expect(durable.first?.bytes.contains(1) == true, "some of it did become durable")
  }

  @Test func alyingFlushMakesNothingDurable() throws {
    let disk = disk(0, sectors: 1)
    disk.medium.inject(DiskFault(.flush, .lie))
    try disk.write([1], at: 0)
    try disk.flush()
    #expect(disk.medium.state.nothing.bytes[0] == 0)
  }

  // MARK: Handles

  @Test func theMappingShowsTheSystemsView() throws {
    let disk = disk(7, sectors: 16)
    let reservation = try Reservation(reserving: 4 << 20, atLeast: 4 << 20)
    try disk.map(into: reservation, offset: 2 << 20, count: 2 << 20)
    try disk.populate(offset: 0, count: 8192)
    let start = reservation.base + (2 << 20)
    #expect(start.load(fromByteOffset: 8191, as: UInt8.self) == 7)
    let other = SimulatedDisk(disk.medium)
    try other.write([9], at: 5)
    #expect(start.load(fromByteOffset: 5, as: UInt8.self) == 9)
    #expect(code { () throws(StoreError) in try disk.populate(offset: 8192, count: 1) } == .truncated)
  }

  @Test func handlesLockAndPinLikeProcesses() throws {
    let medium = SimulatedMedium()
    let writer = SimulatedDisk(medium)
    let reader = SimulatedDisk(medium, writable: false)
    try writer.lockForWriting()
    let rival = SimulatedDisk(medium)
    #expect(code { () throws(StoreError) in try rival.lockForWriting() } == .locked)
    try reader.pin(generation: 4)
    #expect(try writer.isPinnedElsewhere(generations: 1...4))
    #expect(try !writer.isPinnedElsewhere(generations: 5...9))
    #expect(try !reader.isPinnedElsewhere(generations: 1...4))
    #expect(code { () throws(StoreError) in try reader.write([1], at: 0) } == .readOnly)
    reader.close()
    #expect(try !writer.isPinnedElsewhere(generations: 1...4))
    writer.close()
    try rival.lockForWriting()
    #expect(code { () throws(StoreError) in _ = try writer.size() } == .closed)
  }
}
