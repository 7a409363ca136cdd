import RoostKV
import TestSupport
import Testing

@Suite struct ReservationTests {
  private let unit = Reservation.granularity

  @Test func anArenaIsZeroAndWritable() throws {
    let reservation = try Reservation(reserving: 1 << 36, atLeast: unit)
    #expect(reservation.count % unit == 0)
    #expect(UInt(bitPattern: reservation.base) % UInt(unit) == 0)
    let offset = reservation.count / 2 & ~(unit - 1)
    try reservation.makeArena(offset: offset, count: unit)
    let bytes = reservation.base + offset
    #expect(bytes.load(fromByteOffset: unit - 8, as: UInt64.self) == 0)
    bytes.storeBytes(of: 5, toByteOffset: 65536, as: UInt64.self)
    #expect(bytes.load(fromByteOffset: 65536, as: UInt64.self) == 5)
    reservation.releaseMemory(offset: offset + 65536, count: 65536)
    #expect(bytes.load(fromByteOffset: 65536, as: UInt64.self) == 0)
  }

  @Test func lessIsTakenWhereMuchIsNotToBeHad() throws {
    let reservation = try Reservation(reserving: .max, atLeast: 1)
    #expect(reservation.count >= unit)
    #expect(throws: StoreError.self) { try Reservation(reserving: .max, atLeast: .max) }
  }

  @Test func partsOutsideAreRefused() throws {
    let reservation = try Reservation(reserving: 4 * unit, atLeast: 4 * unit)
    for (offset, count) in [(4 * unit, unit), (0, 5 * unit), (-unit, unit), (unit, .max), (1, unit)] {
      #expect(throws: StoreError.self) { try reservation.makeArena(offset: offset, count: count) }
    }
  }
}

@Suite struct MemoryFileTests {
  @Test func bytesStayThroughTheMove() throws {
    let file = try MemoryFile()
    try file.write([1, 2, 3], at: 4094)
    let reservation = try Reservation(reserving: 4 << 20, atLeast: 4 << 20)
    try file.map(into: reservation, offset: 2 << 20, count: 2 << 20)
    let start = reservation.base + (2 << 20)
    #expect(start.load(fromByteOffset: 4096, as: UInt8.self) == 3)
    try file.write([9], at: 10_000)
    #expect(start.load(fromByteOffset: 10_000, as: UInt8.self) == 9)
    #expect(try file.size() == 10_001)
    #expect(try file.read(4, at: 4093) == [0, 1, 2, 3])
    #expect(throws: StoreError.self) { try file.grow(to: 3 << 20) }
    #expect(throws: StoreError.self) { try file.write([1], at: .max) }
  }

  @Test func whatWasCutReadsAsZeros() throws {
    let file = try MemoryFile()
    try file.write([UInt8](repeating: 1, count: 20_000), at: 0)
    try file.truncate(to: 5)
    try file.grow(to: 20_000)
    #expect(try file.read(20_000, at: 0).allSatisfy { $0 == 0 } == false)
    #expect(try file.read(20_000, at: 5).allSatisfy { $0 == 0 })
    #expect(throws: StoreError.self) { try file.populate(offset: 19_999, count: 2) }
    try file.populate(offset: 0, count: 20_000)
  }
}
