#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Bytes of memory that this process may count on: the machine's, or the limit of its control group.
package func physicalMemory() -> Int {
  let pages = sysconf(Int32(_SC_PHYS_PAGES)), size = sysconf(Int32(_SC_PAGESIZE))
  let machine = pages > 0 && size > 0 ? pages.multipliedReportingOverflow(by: size).partialValue : 1 << 30
  return min(machine, controlGroupLimit() ?? Int.max)
}

/// The limit in the file of version 2 control groups, where there is one.
private func controlGroupLimit() -> Int? {
  guard let file = fopen("/sys/fs/cgroup/memory.max", "re") else { return nil }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 64)
  guard fgets(&line, Int32(line.count), file) != nil else { return nil }
  let digits = line.prefix { $0 >= 48 && $0 <= 57 }.map { UInt8(bitPattern: $0) }
  return Int(String(decoding: digits, as: UTF8.self))
}
