/// Names one of two pages that are written alternately, and the stamp of the live one. SPEC.md section 2.
package struct TwinReference: Equatable, Sendable {
  static let byteCount = 32

  var pageA: UInt64 = 0
  var pageB: UInt64 = 0
  var bIsLive = false
  var generation: UInt32 = 0
  var attempt: UInt16 = 0
  /// For a free-map page: free pages in its zone.
  var freeCount: UInt32 = 0

  var isNone: Bool { pageA == 0 }
  var live: UInt64 { bIsLive ? pageB : pageA }
  var spare: UInt64 { bIsLive ? pageA : pageB }

  /// Whether it names two pages of a range. [S-5]
  func lies(in pages: Range<UInt64>) -> Bool { pageA != pageB && pages.contains(pageA) && pages.contains(pageB) }

  /// The reference after the spare twin has been written with this stamp.
  func swapped(generation: UInt32, attempt: UInt16) -> TwinReference {
    var next = self
    next.bIsLive.toggle()
    next.generation = generation
    next.attempt = attempt
    return next
  }

  init(pageA: UInt64, pageB: UInt64) {
    self.pageA = pageA
    self.pageB = pageB
  }

  init() {}

  /// `nil` when the bytes do not suffice.
  init?(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard let a: UInt64 = bytes.field(offset), let b: UInt64 = bytes.field(offset + 8),
      let generation: UInt32 = bytes.field(offset + 16), let attempt: UInt16 = bytes.field(offset + 20),
      let free: UInt32 = bytes.field(offset + 24)
    else { return nil }
    pageA = a & TwinReference.pageMask
    pageB = b & TwinReference.pageMask
    bIsLive = b >> 63 != 0
    self.generation = generation
    self.attempt = attempt
    freeCount = free
  }

  private static let pageMask: UInt64 = (1 << 48) - 1

  func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
    bytes.setField(offset, pageA)
    bytes.setField(offset + 8, pageB | (bIsLive ? 1 << 63 : 0))
    bytes.setField(offset + 16, generation)
    bytes.setField(offset + 20, attempt)
    bytes.setField(offset + 22, UInt16(0))
    bytes.setField(offset + 24, freeCount)
    bytes.setField(offset + 28, UInt32(0))
  }
}
