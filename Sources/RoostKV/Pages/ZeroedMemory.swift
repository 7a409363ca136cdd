#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// Bounds: only allocates; whoever gets the memory keeps its size.

/// Large tables that are mostly zero: the system provides the touched parts only.
enum ZeroedMemory {
  static func allocate(count: Int) -> UnsafeMutableRawPointer? {
    let start = mmap(nil, max(count, 1), PROT_READ | PROT_WRITE, flags, -1, 0)
    return start == MAP_FAILED ? nil : start
  }

  static func free(_ start: UnsafeMutableRawPointer, count: Int) {
    munmap(start, max(count, 1))
  }

  #if canImport(Darwin)
    private static let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
  #else
    private static let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
  #endif
}
