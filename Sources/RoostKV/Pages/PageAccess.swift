// Bounds: the mark table has `firstFrame` bytes, and is read for smaller numbers only. The address of
// a page is used only when its number is marked (it was below the file's limit when it was verified)
// or is a frame's below `frameEnd`, or after `verify` has compared it with the limits.

extension PageMemory {
  /// The page's bytes, verified against the reference.
  ///
  /// The common case is a look at the mark and two comparisons with the page's header, which the
  /// caller reads anyway. They also tell apart two references to one page number with different
  /// stamps, of which the file can't fulfil both.
  ///
  /// - Parameter level: 0 for a leaf, one more than its children for a branch.
  /// - Throws: `pageDamaged`; `ioError` if the disk doesn't give the page.
  @inline(__always)
  package func page(_ reference: Reference, level: Int) throws(StoreError) -> UnsafeRawPointer {
    let number = reference.page
    let page = UnsafeRawPointer(address(number))
    if number < firstFrame {
      let mark = marks[Int(truncatingIfNeeded: number)].load(ordering: .acquiring)
      if mark & Self.pageMark == 0 { return try verify(reference, level: level) }
    } else if number >= frameEnd {
      return try verify(reference, level: level)
    }
    guard Self.isIdentity(of: page, reference, level: level) else {
      return try verify(reference, level: level)
    }
    return page
  }

  /// Whether the header repeats the reference's number and stamp, and has the level and its kind. [P-1]
  @inline(__always)
  private static func isIdentity(of page: UnsafeRawPointer, _ reference: Reference, level: Int) -> Bool {
    let kind = level == 0 ? PageKind.leaf : PageKind.branch
    let expected =
      UInt64(reference.generation) | UInt64(kind.rawValue) << 32
      | UInt64(UInt8(truncatingIfNeeded: level)) << 40
    return page.load64(PageHeader.placeOffset) == reference.place
      && page.load64(PageHeader.generationOffset) & 0xFFFF_FFFF_FFFF == expected
  }

  /// Verifies a page at its first use, or finds out what is wrong with it.
  @inline(never)
  private func verify(_ reference: Reference, level: Int) throws(StoreError) -> UnsafeRawPointer {
    let number = reference.page
    let page = UnsafeRawPointer(address(number))
    if isFrame(number) {
      guard number < frameEnd else { throw .damaged(number, "is named by a reference, but can't exist") }
    } else {
      guard number >= firstFilePage, number < fileLimit else {
        throw .damaged(number, "is named by a reference, but lies outside the file")
      }
      let mark = marks[Int(number)].load(ordering: .acquiring)
      if mark & Self.pageMark == 0 {
        try makeResident(number)
        guard
          PageHeader.isHashGood(page, pageSize: pageSize, storeSeed: storeSeed, number: number)
            || planted(.pageChecksumIgnored)
        else { throw .damaged(number, "doesn't match its checksum") }
      }
    }
    guard level >= 0, level < TreeRoot.maximumHeight, Self.isIdentity(of: page, reference, level: level)
    else { throw .damaged(number, mismatch(page, reference, level: level)) }
    guard !isFrame(number) else { return page }
    let children = min(firstFilePage, fileLimit)..<fileLimit
    if let problem = PageCheck.problem(of: page, pageSize: pageSize, children: children) {
      throw .damaged(number, problem)
    }
    marks[Int(number)].bitwiseOr(Self.pageMark, ordering: .releasing)
    return page
  }

  private func mismatch(_ page: UnsafeRawPointer, _ reference: Reference, level: Int) -> String {
    """
    is not the one referred to: it says page \(PageHeader.number(page)), generation \
    \(PageHeader.generation(page)), attempt \(PageHeader.attempt(page)), level \(PageHeader.level(page)), \
    and should say page \(reference.page), generation \(reference.generation), attempt \
    \(reference.attempt), level \(level)
    """
  }

  /// Brings the page and its neighbours into memory in one call, so that an error of the disk is
  /// thrown rather than raised as a signal at the first touch.
  package func makeResident(_ number: PageNumber) throws(StoreError) {
    let mark = marks[Int(number)].load(ordering: .relaxed)
    guard let file, mark & Self.residentMark == 0 else { return }
    // A neighbour that is copied along may be about to be written, and the copy would stay.
    let window = file.mapsCopies ? 1 : PageNumber(max(1, Self.residentWindow >> pageShift))
    let start = number & ~(window - 1)
    let end = max(number + 1, min(start + window, fileLimit))
    try file.populate(offset: start << UInt64(pageShift), count: Int(end - start) << pageShift)
    for page in start..<end {
      marks[Int(page)].bitwiseOr(Self.residentMark, ordering: .relaxed)
    }
  }

  private static let residentWindow = 64 << 10
}

extension StoreError {
  /// - Parameter problem: goes on the sentence "Page n ...".
  @inline(never)
  static func damaged(_ page: PageNumber, _ problem: String) -> StoreError {
    StoreError(
      .pageDamaged, "Page \(page) \(problem)",
      remedy: damageRemedy, page: page)
  }

  /// A page that passed verification and has changed since, or was made wrong.
  @inline(never)
  static func inconsistent(_ page: UnsafeRawPointer) -> StoreError {
    damaged(PageHeader.number(page), "has offsets that lead out of it")
  }
}
