#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// Bounds: reads are cut off at the count, and writes grow it, within the reservation's part.

/// A file's bytes held in memory, which can move into a part of a reservation and be seen there as
/// a file's mapping is. Touching a page beyond the end is as deadly as it is there.
///
/// Not synchronised: its owner has a lock.
package final class AnonymousBytes: @unchecked Sendable {
  package private(set) var count = 0
  private var reservation: Reservation
  private var offset: Int
  private var capacity: Int

  private var base: UnsafeMutableRawPointer { reservation.base + offset }

  /// - Parameter capacity: how many bytes it can hold until it moves.
  package init(capacity: Int = 1 << 30) throws(StoreError) {
    reservation = try Reservation(reserving: capacity, atLeast: 64 << 20)
    offset = 0
    self.capacity = reservation.count
  }

  /// Moves to another place, from which the bytes never move again.
  package func move(into target: Reservation, offset: Int, capacity: Int) throws(StoreError) {
    guard count <= capacity else { throw Self.full(capacity) }
    try target.protect(offset: offset, count: Self.wholePages(count), PROT_READ | PROT_WRITE)
    (target.base + offset).copyMemory(from: base, byteCount: count)
    reservation = target
    self.offset = offset
    self.capacity = capacity
  }

  /// Sets the length; new bytes are zeros.
  package func resize(to newCount: UInt64) throws(StoreError) {
    guard let newCount = Int(exactly: newCount), newCount <= capacity else {
      throw Self.full(capacity)
    }
    let old = Self.wholePages(count)
    let new = Self.wholePages(newCount)
    if newCount < count {
      memset(base + newCount, 0, min(count, new) - newCount)
    }
    if new > old {
      try reservation.protect(offset: offset + old, count: new - old, PROT_READ | PROT_WRITE)
    } else if new < old {
      reservation.releaseMemory(offset: offset + new, count: old - new)
      try reservation.protect(offset: offset + new, count: old - new, PROT_NONE)
    }
    count = newCount
  }

  /// Reads what there is from `place` on; the result is how many bytes.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at place: UInt64) -> Int {
    guard let place = Int(exactly: place), place < count else { return 0 }
    let length = min(buffer.count, count - place)
    buffer.copyMemory(from: UnsafeRawBufferPointer(start: base + place, count: length))
    return length
  }

  /// Writes, extending the bytes where needed.
  package func write(_ bytes: UnsafeRawBufferPointer, at place: UInt64) throws(StoreError) {
    let (end, overflow) = place.addingReportingOverflow(UInt64(bytes.count))
    guard !overflow else { throw Self.full(capacity) }
    guard bytes.count > 0 else { return }
    if end > count { try resize(to: end) }
    UnsafeMutableRawBufferPointer(start: base + Int(place), count: bytes.count).copyMemory(from: bytes)
  }

  private static func wholePages(_ count: Int) -> Int {
    (count + SystemCalls.pageSize - 1) & ~(SystemCalls.pageSize - 1)
  }

  private static func full(_ capacity: Int) -> StoreError {
    StoreError(
      .sizeLimit, "A store in memory can't grow beyond \(capacity) bytes",
      remedy: "open it with a larger maximum size")
  }
}
