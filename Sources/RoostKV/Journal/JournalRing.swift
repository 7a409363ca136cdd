/// The segments of the journal, in the order of the ring, and where the next group goes. SPEC.md section 10.
///
/// Invariant: the writer is in `segments[current]`, and `position` lies in its group area or at its end. Links from one
/// needed group's segment to the next never change: the ring changes only behind the writer. [J-7]
struct JournalRing {
  struct Segment {
    var header: SegmentHeader
    /// The greatest LSN of a group known to lie in the segment.
    var lastLSN: UInt64 = 0
  }

  let file: any StorageFile
  let storeSeed: UInt64
  var segments: [Segment]
  var current: Int
  /// Where the last group ends.
  var position: UInt64

  static let longestSegment: UInt64 = 1 << 20
  private static let longestRing: UInt64 = 1 << 32

  /// The ring of a new store: the first segment alone.
  /// Its bytes are written by the creation of the store.
  init(newAt offset: UInt64, file: any StorageFile, storeSeed: UInt64) {
    self.file = file
    self.storeSeed = storeSeed
    let header = SegmentHeader(offset: offset, length: FileGeometry.firstSegmentBytes, next: offset, sequence: 1)
    segments = [Segment(header: header)]
    current = 0
    position = header.firstGroup
  }

  /// Walks the ring of an existing store. [O-2]
  init(_ header: Header, file: any StorageFile, fileBytes: UInt64, storeSeed: UInt64) throws(StoreError) {
    self.file = file
    self.storeSeed = storeSeed
    segments = []
    current = 0
    position = header.journalPosition
    let first = header.geometry.headerBytes
    var offset = first
    repeat {
      let segment = try Self.read(offset, file, storeSeed, fileBytes)
      let isAligned = offset == first || offset % UInt64(header.geometry.pageSize) == 0
      let isDisjoint = segments.allSatisfy {
        $0.header.end <= segment.header.offset || segment.header.end <= $0.header.offset
      }
      let hasItsLength = offset != first || segment.header.length == FileGeometry.firstSegmentBytes
      guard isDisjoint, isAligned, hasItsLength, byteCount + segment.header.length <= Self.longestRing else {
        throw Self.damaged("the segments do not form a ring", offset, file)
      }
      segments.append(segment)
      offset = segment.header.next
    } while offset != first
    guard let index = segments.firstIndex(where: { $0.header.firstGroup <= position && position <= $0.header.end })
    else { throw Self.damaged("the header's journal position lies in no segment", position, file) }
    current = index
  }

  static func damaged(_ why: String, _ offset: UInt64, _ file: any StorageFile) -> StoreError {
    StoreError(
      .journalDamaged, "the journal can't be used: \(why)",
      remedy: damageRemedy, path: file.path,
      offset: offset)
  }

  private static func read(
    _ offset: UInt64, _ file: any StorageFile, _ storeSeed: UInt64, _ fileBytes: UInt64
  ) throws(StoreError) -> Segment {
    var copies: [SegmentHeader?] = []
    for copy in SegmentHeader.copyOffsets {
      let (place, overflow) = offset.addingReportingOverflow(copy)
      guard !overflow else { break }
      let bytes = try file.readBytes(SegmentHeader.byteCount, at: place)
      copies.append(bytes.withUnsafeBytes { SegmentHeader($0, at: offset, storeSeed: storeSeed) })
    }
    guard let newest = copies.compactMap({ $0 }).max(by: { $0.sequence < $1.sequence }) else {
      throw damaged("a segment's header isn't what was written", offset, file)
    }
    guard newest.end <= fileBytes else { throw damaged("a segment lies outside the file", offset, file) }
    return Segment(header: newest)
  }

  // MARK: Changes

  /// Writes both copies of every segment header again, also where they look equal. [O-4]
  func level() throws(StoreError) {
    for segment in segments { try writeHeader(segment.header) }
  }

  /// Writes both copies, each followed by a flush. [J-1]
  private func writeHeader(_ header: SegmentHeader) throws(StoreError) {
    let bytes = header.encoded(storeSeed: storeSeed)
    for copy in SegmentHeader.copyOffsets {
      try bytes.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: header.offset + copy) }
      if !planted(.ringLinkedUnflushed) { try file.flushForUpkeep() }
    }
  }

  /// Puts a segment into the ring behind the writer's. Its space is allocated and holds nothing that is needed.
  mutating func insert(offset: UInt64, length: UInt64) throws(StoreError) {
    let new = SegmentHeader(
      offset: offset, length: length, next: segments[current].header.next, sequence: nextSequence)
    try prewrite(new)
    try writeHeader(new)
    segments.insert(Segment(header: new), at: current + 1)
    try link(current, to: offset)
  }

  /// A header at the same place from an earlier life of the pages must not win, so sequences grow over the whole ring.
  private var nextSequence: UInt64 { segments.reduce(0) { max($0, $1.header.sequence) } + 1 }

  private mutating func link(_ index: Int, to next: UInt64) throws(StoreError) {
    var header = segments[index].header
    header.next = next
    header.sequence = nextSequence
    try writeHeader(header)
    segments[index].header = header
  }

  /// Writes zeros, so that later group writes change no allocation. Small writes, since large ones make the kernel keep
  /// the range in large units, each of which a small write then dirties whole.
  private func prewrite(_ header: SegmentHeader) throws(StoreError) {
    let zeros = [UInt8](repeating: 0, count: 16384)
    var offset = header.offset
    while offset < header.end {
      let count = Int(min(UInt64(zeros.count), header.end - offset))
      try zeros.withBytes { (bytes) throws(StoreError) in
        try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
      }
      offset += UInt64(count)
    }
  }

  /// Takes the segment behind `segments[index]` out; returns its place. Not the first one, nor the writer's.
  mutating func removeSegment(after index: Int) throws(StoreError) -> SegmentHeader {
    let victim = (index + 1) % segments.count
    precondition(victim != current && victim != 0)
    let removed = segments[victim].header
    try link(index, to: removed.next)
    segments.remove(at: victim)
    if victim < current { current -= 1 }
    return removed
  }

  // MARK: Places for groups

  /// Where a group of `length` bytes can go without a new segment, moving the writer there. `step` is what groups are
  /// aligned to, `oldestNeeded` the least next LSN of any header that may be read, `positions` their journal positions.
  /// Also returned when there is none: the places passed over so far. [J-3, J-7]
  mutating func place(
    _ length: Int, step: UInt64, oldestNeeded: UInt64, positions: [UInt64]
  ) -> (offset: UInt64?, passedOver: [Range<UInt64>]) {
    var passedOver: [Range<UInt64>] = []
    let here = segments[current].header
    if let start = roundedUp(position, to: step), start < here.end {
      if fits(length, start, here) { return (start, []) }
      passedOver.append(start..<min(here.end, start + UInt64(GroupHeader.byteCount)))
    }
    for index in (current + 1..<current + segments.count).map({ $0 % segments.count }) {
      let header = segments[index].header
      let isNeeded =
        segments[index].lastLSN >= oldestNeeded
        || positions.contains { header.firstGroup <= $0 && $0 <= header.end }
      if isNeeded { continue }
      if fits(length, header.firstGroup, header) {
        current = index
        position = header.firstGroup
        return (position, passedOver)
      }
      passedOver.append(header.firstGroup..<header.firstGroup + UInt64(GroupHeader.byteCount))
    }
    return (nil, passedOver)
  }

  /// Moves the writer into the segment just inserted behind it.
  mutating func enterNext() -> UInt64 {
    current = (current + 1) % segments.count
    position = segments[current].header.firstGroup
    return position
  }

  private func fits(_ length: Int, _ start: UInt64, _ header: SegmentHeader) -> Bool {
    start <= header.end && UInt64(length) <= header.end - start
  }

  /// Takes in that a group lies at `offset`.
  mutating func advance(lsn: UInt64, offset: UInt64, length: Int) {
    position = offset + UInt64(length)
    segments[current].lastLSN = lsn
  }

  /// Bytes of a segment that a group of `length` needs: the ring doubles, within bounds.
  func newSegmentLength(for length: Int, pageSize: Int) -> UInt64 {
    let total = segments.reduce(0) { $0 + $1.header.length }
    let wanted = max(min(total, Self.longestSegment), SegmentHeader.groupArea + UInt64(length))
    return (wanted + UInt64(pageSize) - 1) / UInt64(pageSize) * UInt64(pageSize)
  }

  var byteCount: UInt64 { segments.reduce(0) { $0 + $1.header.length } }

  /// The pages of every segment but the first.
  func pages(_ geometry: FileGeometry) -> [Range<UInt64>] {
    segments.dropFirst().map { segment in
      let first = segment.header.offset >> UInt64(geometry.pageShift)
      return first..<first + geometry.pages(segment.header.length)
    }
  }
}
