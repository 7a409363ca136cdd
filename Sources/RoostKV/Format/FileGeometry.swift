/// Where the fixed parts of a file lie, for one page size. SPEC.md sections 3 and 9.
package struct FileGeometry: Sendable, Equatable {
  package static let slotBytes = 512
  package static let slotOffsets: [UInt64] = [0, 4096]
  package static let firstSegmentBytes: UInt64 = 65536
  package static let pageShifts = 12...16

  package let pageShift: Int

  package var pageSize: Int { 1 << pageShift }

  /// Bytes of the header region, which the first journal segment follows.
  package var headerBytes: UInt64 { UInt64(max(16384, pageSize)) }

  /// The first page that is neither header nor first journal segment.
  package var firstPage: UInt64 { (headerBytes + Self.firstSegmentBytes) >> UInt64(pageShift) }

  /// Pages that one free-map page describes.
  package var zonePages: UInt64 { UInt64(pageSize - 64) * 8 }

  /// Free-map pages that one space page lists.
  package var zonesPerSpacePage: Int { (pageSize - 96) / 32 }

  /// The longest key; at least a quarter of a page.
  package var maximumKeyLength: Int { pageSize / 4 }

  /// Key and value together are kept in the leaf up to this many bytes. [T-5]
  package var maximumInlineLength: Int { pageSize / 2 - 64 }

  package init(pageShift: Int) {
    precondition(Self.pageShifts.contains(pageShift))
    self.pageShift = pageShift
  }

  /// Throws `.invalidOption` when `pageSize` is not a power of two from 4,096 to 65,536.
  package init(pageSize: Int) throws(StoreError) {
    guard pageSize > 0, pageSize & (pageSize - 1) == 0, Self.pageShifts.contains(pageSize.trailingZeroBitCount)
    else {
      throw StoreError(
        .invalidOption, "a page size of \(pageSize) bytes isn't possible",
        remedy: "choose a power of two from 4096 to 65536")
    }
    pageShift = pageSize.trailingZeroBitCount
  }

  /// Pages that hold `bytes` bytes.
  func pages(_ bytes: UInt64) -> UInt64 {
    (bytes >> UInt64(pageShift)) + (bytes & UInt64(pageSize - 1) == 0 ? 0 : 1)
  }

  func offset(_ page: UInt64) -> UInt64 { page << UInt64(pageShift) }
}
