/// Room in the file, obtained before it is needed. SPEC.md [C-3]
extension StoreCore {
  /// Pages kept free beyond what changed pages will need, so that deleting works on a full disk.
  static let spareReserve = 64

  /// Makes sure that `count` pages can be allocated one by one; grows the file where needed.
  /// - Throws: `noSpace`, `sizeLimit` with nothing changed.
  func reservePages(_ count: Int) throws(StoreError) {
    let available = try freeMap.available(from: pageFloor)
    if available >= UInt64(count) { return }
    try growFile(by: UInt64(count) - available, mapPagesAtEnd: false)
  }

  /// Room for the pages that the next checkpoint will write, before a commit adds to them.
  /// - Parameter drawsOnReserve: the transaction only deletes, and may use what is kept for that.
  func reserveForCommit(drawsOnReserve: Bool) throws(StoreError) {
    if isInMemory { return }
    let needed = memory.arena.count + freeMap.savePageCount + Int(catalog.height) + 4
    do throws(StoreError) {
      try reservePages(needed + Self.spareReserve)
    } catch {
      if drawsOnReserve, try freeMap.available(from: pageFloor) >= UInt64(needed) { return }
      throw error
    }
  }

  /// An extent of exactly `count` pages, growing the file if there is none.
  func allocateRun(_ count: Int, from floor: UInt64) throws(StoreError) -> Range<UInt64> {
    if let extent = try freeMap.allocate(minimum: count, maximum: count, from: max(floor, pageFloor)) { return extent }
    let tail = min(try freeMap.freeTail(), freeMap.fileEnd - min(freeMap.fileEnd, max(floor, pageFloor)))
    try growFile(by: UInt64(count) - min(tail, UInt64(count)), mapPagesAtEnd: true)
    guard let extent = try freeMap.allocate(minimum: count, maximum: count, from: max(floor, pageFloor)) else {
      throw noSpace()
    }
    return extent
  }

  /// Extends the file by at least `count` usable pages, in steps that grow with it.
  private func growFile(by count: UInt64, mapPagesAtEnd: Bool) throws(StoreError) {
    let end = freeMap.fileEnd
    let least = end + count + freeMap.mapPagesNeeded(for: end + count + 8)
    let smallest = UInt64((256 << 10) >> geometry.pageShift), largest = UInt64((64 << 20) >> geometry.pageShift)
    let step = min(max(end / 8, smallest), largest)
    do throws(StoreError) {
      try growFile(to: max(least, end + step), mapPagesAtEnd)
    } catch {
      // A smaller step may still fit.
      guard least < end + step else { throw error }
      try growFile(to: least, mapPagesAtEnd)
    }
  }

  private func growFile(to end: UInt64, _ mapPagesAtEnd: Bool) throws(StoreError) {
    // A zone begins with its map pages, which have to lie in the file.
    let last = end % geometry.zonePages
    let end = last > 0 && last < 8 ? end + 8 : end
    let bytes = end << UInt64(geometry.pageShift)
    if let limit = options.sizeLimit, bytes > limit {
      throw StoreError(
        .sizeLimit, "the store would grow to \(bytes) bytes, beyond its limit of \(limit)",
        remedy: "raise the size limit, or delete something", path: file.path)
    }
    guard end <= memory.firstFrame else {
      throw StoreError(
        .addressSpace,
        "the store would grow beyond the \(memory.firstFrame << UInt64(geometry.pageShift)) bytes of address space it has",
        remedy: "raise the process's limit of address space", path: file.path)
    }
    try file.grow(to: bytes)
    try freeMap.extend(to: end, mapPagesAtEnd: mapPagesAtEnd)
    memory.fileLimit = end
  }

  /// Finds places for the map of zones that the file has had before its map: it grew, and no checkpoint followed. [F-3]
  func placeMapPages() throws(StoreError) {
    while freeMap.needsMapPages {
      if let pages = try freeMap.allocate(minimum: 2, maximum: 2, from: pageFloor) {
        try freeMap.placeMapPages(pages)
      } else {
        try growFile(by: 2, mapPagesAtEnd: false)
      }
    }
  }

  /// A write of something that nothing refers to yet has failed: want of space fails its transaction alone. [C-3]
  func poisonUnlessFull(_ error: StoreError) -> StoreError {
    if error.code != .noSpace, error.code != .sizeLimit { commits.poison(error) }
    return error
  }

  func noSpace() -> StoreError {
    StoreError(
      .noSpace, "no room is left for changed pages", remedy: "free some space on the disk and try again",
      path: file.path)
  }
}
