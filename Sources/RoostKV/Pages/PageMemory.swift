import Synchronization

/// All pages of a store at one base address: the file's mapping, and behind it the arena of frames.
///
/// A page is found by adding to `base`. A page of the file is verified at its first use in this
/// process and marked; a frame was made by us and is trusted, as far as memory can be.
///
/// Bounds: every page number is compared with the limits of the part it lies in before its address
/// is used. What lies *in* a page is read with offsets that are compared with the page's size each
/// time, also after verification, for the bytes of a mapped file may change under us.
package final class PageMemory: @unchecked Sendable {
  package let reservation: Reservation
  package let file: (any StorageFile)?
  /// The address of page 0 of the file.
  package let base: UnsafeMutableRawPointer
  package let pageShift: Int
  package let pageSize: Int
  /// The first page of the file that is neither header nor first journal segment: no reference leads before it.
  package let firstFilePage: PageNumber
  /// The number of the arena's first frame. Numbers below are pages of the file.
  package let firstFrame: PageNumber
  /// The number behind the arena's last frame.
  package let frameEnd: PageNumber
  package let storeSeed: UInt64
  package let arena: FrameArena

  /// One byte a page, of the bits `pageMark`, `chunkMark`, `residentMark`.
  let marks: UnsafeMutablePointer<Atomic<UInt8>>

  private let limit: Atomic<UInt64>

  /// Lays out the reservation and maps the file into it.
  ///
  /// - Parameters:
  ///   - fileBytes: the part for the file, a multiple of `Reservation.granularity`; the rest is the
  ///     arena. An in-memory store has none, but page 0 stays unused there too.
  ///   - pageSize: a power of two from 4,096 to 65,536.
  package init(
    reservation: Reservation, fileBytes: Int, pageSize: Int, storeSeed: UInt64, file: (any StorageFile)?
  ) throws(StoreError) {
    guard pageSize >= 4096, pageSize <= 65536, pageSize & (pageSize - 1) == 0, fileBytes >= 0,
      fileBytes % Reservation.granularity == 0, fileBytes < reservation.count
    else {
      throw StoreError(
        .invalidOption, "Pages of \(pageSize) bytes can't be laid out in \(reservation.count) bytes",
        remedy: "choose a page size that is a power of two from 4,096 to 65,536")
    }
    self.reservation = reservation
    self.file = file
    base = reservation.base
    self.pageSize = pageSize
    pageShift = pageSize.trailingZeroBitCount
    self.storeSeed = storeSeed
    firstFilePage = FileGeometry(pageShift: pageShift).firstPage
    // Page number 0 means "no page", so an arena without a file part in front begins at 1.
    firstFrame = PageNumber(max(1, fileBytes >> pageShift))
    frameEnd = PageNumber(reservation.count >> pageShift)
    limit = Atomic(0)
    let markCount = Int(firstFrame)
    guard let bytes = ZeroedMemory.allocate(count: markCount) else {
      throw StoreError(
        .addressSpace, "Memory for the marks of \(markCount) pages can't be had",
        remedy: "open the store with a smaller maximum size")
    }
    marks = bytes.bindMemory(to: Atomic<UInt8>.self, capacity: markCount)
    arena = try FrameArena(firstFrame: firstFrame, frameEnd: frameEnd)
    try reservation.makeArena(offset: fileBytes, count: reservation.count - fileBytes)
    if let file, fileBytes > 0 {
      try file.map(into: reservation, offset: 0, count: fileBytes)
    }
  }

  deinit {
    ZeroedMemory.free(UnsafeMutableRawPointer(marks), count: Int(firstFrame))
  }

  /// File page numbers below this one may be used. Set before a state is published that names them.
  package var fileLimit: PageNumber {
    get { limit.load(ordering: .acquiring) }
    set { limit.store(min(newValue, firstFrame), ordering: .releasing) }
  }

  /// Whether the bytes lie in the store's pages.
  package func holds(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress else { return false }
    return start >= UnsafeRawPointer(base) && start < UnsafeRawPointer(base + reservation.count)
  }

  /// Whether the number is a frame's.
  @inline(__always)
  package func isFrame(_ page: PageNumber) -> Bool { page >= firstFrame }

  /// The address of a page whose number is known to be in range.
  @inline(__always)
  package func address(_ page: PageNumber) -> UnsafeMutableRawPointer {
    base + Int(truncatingIfNeeded: page) &<< pageShift
  }

  /// The address of a frame.
  @inline(__always)
  package func frame(_ number: PageNumber) -> UnsafeMutableRawPointer {
    precondition(number >= firstFrame && number < frameEnd)
    return address(number)
  }
}

// MARK: - Marks

extension PageMemory {
  /// The page's hash and structure are verified.
  static let pageMark: UInt8 = 1
  /// The chunk of a run that begins in the page is verified.
  static let chunkMark: UInt8 = 2
  /// The page was brought into memory once.
  static let residentMark: UInt8 = 4

  /// Forgets what was verified: the pages are about to get, or have got, other content.
  package func clearMarks(pages: Range<PageNumber>) {
    for page in pages.clamped(to: 0..<firstFrame) {
      marks[Int(page)].store(0, ordering: .releasing)
    }
  }

  /// Whether the chunk of a run that begins in this page was verified.
  package func isChunkVerified(_ page: PageNumber) -> Bool {
    page < firstFrame && marks[Int(page)].load(ordering: .acquiring) & Self.chunkMark != 0
  }

  package func markChunkVerified(_ page: PageNumber) {
    guard page < firstFrame else { return }
    marks[Int(page)].bitwiseOr(Self.chunkMark, ordering: .releasing)
  }
}
