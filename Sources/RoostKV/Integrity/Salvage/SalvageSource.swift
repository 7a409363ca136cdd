/// A damaged file, read page by page. What can't be read or isn't what was written is `nil`; nothing is mapped, so a disk that
/// fails costs the page that it doesn't give, and memory doesn't grow with the file.
///
/// Bounds: a page is used only after its checksum, seeded with the store's id and the page's number, and every offset in it
/// have been checked.
final class SalvageSource {
  let file: any StorageFile
  let geometry: FileGeometry
  let storeSeed: UInt64
  /// Whole pages in the file.
  let pageCount: UInt64
  let fileBytes: UInt64
  private let buffer: UnsafeMutableRawBufferPointer

  init(_ file: any StorageFile, _ geometry: FileGeometry, storeSeed: UInt64) throws(StoreError) {
    self.file = file
    self.geometry = geometry
    self.storeSeed = storeSeed
    fileBytes = try file.size()
    pageCount = min(fileBytes >> UInt64(geometry.pageShift), 1 << 48)
    buffer = .allocate(byteCount: geometry.pageSize, alignment: 4096)
  }

  deinit { buffer.deallocate() }

  /// A page's bytes as they are in the file, valid until the next call.
  func bytes(_ number: UInt64) -> UnsafeRawBufferPointer? {
    guard number < pageCount else { return nil }
    do throws(StoreError) {
      guard try file.read(into: buffer, at: geometry.offset(number)) == buffer.count else { return nil }
    } catch { return nil }
    return UnsafeRawBufferPointer(buffer)
  }

  /// A page that is what was written there at some time. Valid until the next call.
  func intactPage(_ number: UInt64) -> UnsafeRawPointer? {
    guard let page = bytes(number)?.baseAddress else { return nil }
    return isIntact(page, number) ? page : nil
  }

  /// Whether a page's bytes are what was written there at some time.
  func isIntact(_ page: UnsafeRawPointer, _ number: UInt64) -> Bool {
    let size = geometry.pageSize
    guard number > 0, PageHeader.number(page) == number, let kind = PageHeader.kind(page),
      PageHeader.isHashGood(page, pageSize: size, storeSeed: storeSeed, number: number)
    else { return false }
    switch kind {
    case .freeMap, .space: return true
    case .leaf: guard PageHeader.level(page) == 0 else { return false }
    case .branch: guard 1..<TreeRoot.maximumHeight ~= PageHeader.level(page) else { return false }
    }
    return PageCheck.problem(of: page, pageSize: size, children: geometry.firstPage..<1 << 48) == nil
  }

  /// A page as a reference says it has to be.
  enum TreePageReading {
    case page(UnsafeRawPointer)
    /// An intact page, but another one than is referred to.
    case other
    case damaged
  }

  func treePage(_ reference: Reference, level: Int) -> TreePageReading {
    guard let page = intactPage(reference.page) else { return .damaged }
    let kind = level == 0 ? PageKind.leaf : PageKind.branch
    let isMeant =
      PageHeader.place(page) == reference.place && PageHeader.generation(page) == reference.generation
      && PageHeader.kind(page) == kind && PageHeader.level(page) == level
    return isMeant ? .page(page) : .other
  }

  // MARK: Large values

  /// The pages that a run takes; `nil` when they can't be in the file.
  func pages(of run: RunDescriptor) -> Range<UInt64>? {
    guard let layout = RunLayout(length: run.length), run.page >= geometry.firstPage, run.page < pageCount else {
      return nil
    }
    let count = geometry.pages(layout.byteCount)
    return count <= pageCount - run.page ? run.page..<run.page + count : nil
  }

  /// Calls `body` with a large value, each byte of which has been verified; returns false when it can't be read.
  func withValue(
    of run: RunDescriptor, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) -> Bool {
    guard pages(of: run) != nil, let layout = RunLayout(length: run.length) else { return false }
    let start = geometry.offset(run.page)
    let seed = RunLayout.seed(storeSeed, page: run.page, salt: run.salt)
    let head: [UInt8]
    do throws(StoreError) { head = try file.readBytes(Int(layout.headBytes), at: start) } catch { return false }
    let isHead = head.withUnsafeBytes { head in
      head.count == Int(layout.headBytes) && head.field(0) == RunLayout.magic && head.field(8) == run.page
        && head.field(16) == run.length && head.field(24) == run.salt && XXH3.hash(head, seed: seed) == run.hash
    }
    guard isHead else { return false }
    let value = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(run.length), alignment: 64)
    defer { value.deallocate() }
    do throws(StoreError) {
      guard try file.read(into: value, at: start + layout.valueOffset) == value.count else { return false }
    } catch { return false }
    for index in 0..<layout.chunkCount {
      let part = layout.chunk(index)
      let chunk = UnsafeRawBufferPointer(rebasing: value[Int(part.lowerBound)..<Int(part.upperBound)])
      let expected: UInt64? = head.withUnsafeBytes { $0.field(32 + 8 * Int(index)) }
      guard expected == XXH3.hash(chunk, seed: seed &+ index &+ 1) else { return false }
    }
    try body(UnsafeRawBufferPointer(value))
    return true
  }
}
