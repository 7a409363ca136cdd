/// Yields the valid groups of a journal in order, and judges what lies behind the last. SPEC.md section 10.
struct JournalReader {
  /// A chained group, by its place.
  struct Found {
    var header: GroupHeader
    var segment: Int
    var offset: UInt64
  }

  private(set) var ring: JournalRing
  private let isPadded: Bool
  private let memory: PageMemory
  private var place: (segment: Int, position: UInt64)
  private(set) var nextLSN: UInt64
  private(set) var chain: UInt64
  private(set) var durableLSN: UInt64
  /// The bytes that were read last, of one segment.
  private var window: (start: UInt64, bytes: [UInt8]) = (0, [])
  /// Where groups follow one another more is read than is asked for: the more, the more there were.
  private var readAhead = 4096
  /// Applied groups by their place, with their length.
  private var applied: [UInt64: Int] = [:]
  /// Places of groups that recovery has dropped, once `newestBehindGap` has looked.
  private(set) var dropped: [UInt64] = []

  init(ring: JournalRing, memory: PageMemory, isPadded: Bool, nextLSN: UInt64, chain: UInt64) {
    self.ring = ring
    self.memory = memory
    self.isPadded = isPadded
    place = (ring.current, ring.position)
    self.nextLSN = nextLSN
    self.chain = chain
    durableLSN = nextLSN - 1
  }

  /// Calls `body` with the bytes of every valid group in order; afterwards `ring`, `nextLSN` and `chain` stand behind the
  /// last one. Returns the valid groups beyond the greatest durable LSN that one names. [J-2, J-3]
  mutating func replay(
    _ body: (GroupHeader, [UInt8]) throws(StoreError) -> Void
  ) throws(StoreError) -> [Found] {
    var unproven: [Found] = []
    var runPages: UInt64 = 0
    let chained = try chainedGroups()
    durableLSN = chained.reduce(durableLSN) { max($0, $1.header.durableLSN) }
    for found in chained {
      let group = try bytes(found)
      if found.header.lsn > durableLSN {
        guard try runsAreWhole(group, &runPages) || planted(.runsNotVerified) else { break }
        unproven.append(found)
      }
      try body(found.header, group)
      ring.current = found.segment
      ring.advance(lsn: found.header.lsn, offset: found.offset, length: group.count)
      applied[found.offset] = group.count
      nextLSN = found.header.lsn + 1
      chain = found.header.checksum
    }
    return unproven
  }

  /// Follows LSN and chain. Takes the time of the groups' length.
  private mutating func chainedGroups() throws(StoreError) -> [Found] {
    var groups: [Found] = []
    var lsn = nextLSN, chain = chain
    while let found = try findGroup(lsn, chain) {
      groups.append(found)
      place = (found.segment, found.offset + UInt64(found.header.length))
      lsn += 1
      chain = found.header.checksum
    }
    return groups
  }

  private mutating func findGroup(_ lsn: UInt64, _ chain: UInt64) throws(StoreError) -> Found? {
    for (segment, offset) in candidates() {
      let end = ring.segments[segment].header.end
      // The cheap comparisons come first: a hostile ring shall not make us read and hash it over and over.
      let head = try bytes(at: offset, GroupHeader.byteCount, before: end, ahead: 0)
      let length: UInt32? = head.withUnsafeBytes { head in
        let isNext = head.field(16) == lsn && head.field(32) == chain
        return isNext || planted(.staleGroupAccepted) ? head.field(24) : nil
      }
      guard let length, let header = try group(at: offset, Int(length), before: end)?.header else { continue }
      return Found(header: header, segment: segment, offset: offset)
    }
    return nil
  }

  /// A whole group; `nil` when there is none at the place.
  private mutating func group(
    at offset: UInt64, _ length: Int, before end: UInt64
  ) throws(StoreError) -> (header: GroupHeader, bytes: [UInt8])? {
    let bytes = Array(try self.bytes(at: offset, length, before: end, ahead: readAhead))
    readAhead = min(2 * readAhead, 256 << 10)
    let header = bytes.withUnsafeBytes { GroupHeader($0, at: offset, storeSeed: ring.storeSeed) }
    return header.map { ($0, bytes) }
  }

  private func candidates() -> [(segment: Int, offset: UInt64)] {
    var places = [(segment: place.segment, offset: roundedUp(place.position, to: isPadded ? 4096 : 8) ?? UInt64.max)]
    if places[0].offset > ring.segments[place.segment].header.end { places = [] }
    for step in 1...ring.segments.count {
      let index = (place.segment + step) % ring.segments.count
      places.append((index, ring.segments[index].header.firstGroup))
    }
    return places
  }

  /// `count` bytes at a place of the file, fewer where `end` or the file's end comes before. Reads `ahead` bytes at least
  /// when it has to read.
  private mutating func bytes(
    at offset: UInt64, _ count: Int, before end: UInt64, ahead: Int
  ) throws(StoreError) -> ArraySlice<UInt8> {
    guard offset < end else { return [] }
    let count = Int(min(UInt64(count), end - offset))
    if offset < window.start || offset + UInt64(count) > window.start + UInt64(window.bytes.count) {
      let most = Int(min(UInt64(max(count, ahead)), end - offset))
      window = (offset, try ring.file.readBytes(most, at: offset))
    }
    let start = Int(offset - window.start)
    return window.bytes[start..<min(start + count, window.bytes.count)]
  }

  /// The bytes of a chained group. They are read and hashed once more, as beside a writer their place may have been used
  /// anew.
  private mutating func bytes(_ found: Found) throws(StoreError) -> [UInt8] {
    let end = ring.segments[found.segment].header.end
    guard let group = try group(at: found.offset, Int(found.header.length), before: end),
      group.header.checksum == found.header.checksum
    else { throw JournalRing.damaged("a group changed while it was read", found.offset, ring.file) }
    return group.bytes
  }

  /// Whether each run that the group names is as it was written. A group whose runs never reached the disk is no group.
  private func runsAreWhole(_ group: [UInt8], _ pages: inout UInt64) throws(StoreError) -> Bool {
    var runs: [RunDescriptor] = []
    group.withUnsafeBytes { group in
      var records = GroupRecordReader(group)
      while let (_, record) = records.next() {
        if case .putRun(_, let run) = record { runs.append(run) }
      }
    }
    for run in runs {
      pages += UInt64(memory.pages(of: run).count)
      // Runs are disjoint; more pages than the file has are a fraud that would keep us hashing. [V-3]
      guard pages <= memory.fileLimit else { throw JournalRing.damaged("its runs overlap", 0, ring.file) }
      do throws(StoreError) { try memory.verifyWholeRun(run) } catch { return false }
    }
    return true
  }

  /// Forgets the bytes that were read, for a ring that somebody else writes to.
  mutating func readAnew() {
    window = (0, [])
    dropped = []
  }

  /// The error for a missing group that was known to be flushed. [J-4]
  func gap(_ lsn: UInt64) -> StoreError {
    let count = lsn - nextLSN + 1
    return StoreError(
      .journalDamaged,
      "the journal can't be used: transaction \(nextLSN) is missing, though it was on the disk when transaction \(lsn) was written",
      remedy: """
        save all but what is missing with `roost salvage`, or restore the file from a backup; an open with \
        `opensUpToJournalGap` gives up the \(count) transactions from \(nextLSN) to \(lsn)
        """,
      path: ring.file.path, offset: ring.position)
  }

  /// The greatest LSN of a group that shows the first missing one to have been flushed. [J-4] Notes on the way the groups
  /// that are dropped.
  mutating func newestBehindGap() throws(StoreError) -> UInt64? {
    var newest: UInt64?
    var hashed: UInt64 = 0
    let budget = 16 * ring.byteCount
    for segment in ring.segments.indices {
      let segmentOffset = ring.segments[segment].header.offset
      let bytes = try ring.file.readBytes(Int(ring.segments[segment].header.length), at: segmentOffset)
      bytes.withUnsafeBytes { bytes in
        var start = Int(SegmentHeader.groupArea)
        while start + GroupHeader.byteCount <= bytes.count {
          defer { start += 8 }
          guard bytes.field(start + 8) == GroupHeader.magic else { continue }
          let offset = segmentOffset + UInt64(start)
          if let length = applied[offset] {
            // What lies within an applied group is its user's.
            start += length - 8
            continue
          }
          guard let lsn: UInt64 = bytes.field(start + 16), lsn >= nextLSN, hashed < budget,
            let length: UInt32 = bytes.field(start + 24), Int(length) <= bytes.count - start
          else { continue }
          // Only what is hashed counts: behind a torn header may stand anything.
          hashed += UInt64(length)
          let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
          guard let group = GroupHeader(rest, at: offset, storeSeed: ring.storeSeed) else { continue }
          dropped.append(offset)
          if lsn > nextLSN, group.durableLSN >= nextLSN, !planted(.gapTakenForTear) { newest = max(newest ?? 0, lsn) }
        }
      }
    }
    guard hashed < budget else {
      throw JournalRing.damaged("too much of it looks like groups", ring.position, ring.file)
    }
    return newest
  }
}
