#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// Bounds: parts are compared with the reservation's size before their addresses are formed.

/// A contiguous range of addresses. It takes no memory until parts of it are made usable.
///
/// The engine lays the file's mapping and its own memory side by side in one reservation, so that
/// any page is found by adding to one base address. Everything in it ends with the reservation.
package final class Reservation: @unchecked Sendable {
  /// The first address, a multiple of `granularity`.
  package let base: UnsafeMutableRawPointer
  /// The size in bytes, a multiple of `granularity`.
  package let count: Int

  private let mapped: UnsafeMutableRawBufferPointer

  /// Parts begin and end at multiples of this: the size of a huge page on most machines, and a
  /// multiple of the page size on all.
  package static let granularity = 2 << 20

  /// Reserves `wanted` bytes, or half of that, or a quarter ... but not less than `floor`. Some
  /// machines and limits leave little address space.
  ///
  /// - Throws: `addressSpace` if `floor` bytes can't be had either.
  package init(reserving wanted: Int, atLeast floor: Int) throws(StoreError) {
    let smallest = Self.roundedUp(max(floor, 1))
    var size = max(Self.roundedUp(wanted), smallest)
    while true {
      // One unit more, so that the base can be aligned.
      if let start = Self.reserve(size + Self.granularity) {
        mapped = UnsafeMutableRawBufferPointer(start: start, count: size + Self.granularity)
        base = start.alignedUp(toMultipleOf: Self.granularity)
        count = size
        return
      }
      guard size > smallest else {
        throw StoreError(
          .addressSpace, "This process can't have \(size >> 20) MiB of address space",
          remedy: "raise its limit of address space, or open the store with a smaller maximum size",
          errno: errno)
      }
      size = max(smallest, Self.roundedUp(size / 2))
    }
  }

  deinit {
    munmap(mapped.baseAddress, mapped.count)
  }

  private static func reserve(_ count: Int) -> UnsafeMutableRawPointer? {
    let start = mmap(nil, count, PROT_NONE, MAP_PRIVATE | anonymous | MAP_NORESERVE, -1, 0)
    return start == MAP_FAILED ? nil : start
  }

  /// Rounds to a multiple of `granularity`, down where up would overflow.
  package static func roundedUp(_ bytes: Int) -> Int {
    bytes > Int.max - 2 * granularity
      ? (Int.max - 2 * granularity) & ~(granularity - 1)
      : (bytes + granularity - 1) & ~(granularity - 1)
  }

  #if canImport(Darwin)
    private static let anonymous = MAP_ANON
  #else
    private static let anonymous = MAP_ANONYMOUS
  #endif
}

extension Reservation {
  /// Makes a part readable and writable memory, all zeros. Memory is taken when a byte is first written. A forked child
  /// doesn't get it.
  ///
  /// - Parameter huge: in huge pages where the system offers them and the part is large: the first byte of a huge page
  ///   costs the clearing of it all.
  /// - Throws: `addressSpace` if the system doesn't promise memory that may not be needed.
  package func makeArena(offset: Int, count: Int, huge: Bool = true) throws(StoreError) {
    try protect(offset: offset, count: count, PROT_READ | PROT_WRITE)
    #if os(Linux)
      madvise(base + offset, count, Int32(MADV_DONTFORK))
      if huge, count >= 64 << 20 { madvise(base + offset, count, Int32(MADV_HUGEPAGE)) }
    #endif
  }

  /// Gives memory back to the system; the part then reads as zeros. `offset` and `count` are
  /// multiples of the virtual memory's page size.
  package func releaseMemory(offset: Int, count: Int) {
    guard count > 0, contains(offset, count) else { return }
    #if os(Linux)
      madvise(base + offset, count, Int32(MADV_DONTNEED))
    #else
      // Elsewhere the advice needn't clear the pages; new ones in their place do.
      _ = mmap(
        base + offset, count, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | Self.anonymous | MAP_NORESERVE | MAP_FIXED, -1, 0)
    #endif
  }

  /// Shows the first `count` bytes of a file, read-only.
  package func mapFile(_ descriptor: Int32, path: String, offset: Int, count: Int) throws(StoreError) {
    try checkBounds(offset, count)
    let start = mmap(base + offset, count, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, 0)
    guard start != MAP_FAILED else {
      throw .system(errno, "The file can't be mapped into memory", path: path)
    }
  }

  /// Sets what may be done with a part's bytes (PROT_NONE, PROT_READ ...).
  func protect(offset: Int, count: Int, _ protection: Int32) throws(StoreError) {
    try checkBounds(offset, count)
    guard count == 0 || mprotect(base + offset, count, protection) == 0 else {
      throw .system(errno, "Memory can't be had for \(count >> 20) MiB", path: nil)
    }
  }

  private func contains(_ offset: Int, _ count: Int) -> Bool {
    offset >= 0 && count >= 0 && offset <= self.count && count <= self.count - offset
  }

  private func checkBounds(_ offset: Int, _ count: Int) throws(StoreError) {
    guard contains(offset, count), offset % SystemCalls.pageSize == 0 else {
      throw StoreError(
        .addressSpace, "The part at \(offset) of \(count) bytes lies outside the reserved \(self.count)",
        remedy: "open the store with a larger maximum size")
    }
  }
}
