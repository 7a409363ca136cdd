/// Yields the valid groups of a journal in order, and judges what lies behind the last. SPEC.md section 10.
struct JournalReader {
  private(set) var ring: JournalRing
  private let isPadded: Bool
  private let memory: PageMemory
  private(set) var nextLSN: UInt64
  private(set) var chain: UInt64
  /// Every group to this LSN was known to be flushed.
  private(set) var durableLSN: UInt64
  private var segmentBytes: (index: Int, bytes: [UInt8])?

  init(_ header: Header, ring: JournalRing, memory: PageMemory) {
    self.ring = ring
    self.memory = memory
    isPadded = header.journalBlock == .padded
    nextLSN = header.nextLSN
    chain = header.chain
    durableLSN = header.nextLSN - 1
  }

  /// The next valid group, its bytes with the header; `nil` behind the last. [J-3]
  mutating func next() throws(StoreError) -> (header: GroupHeader, bytes: [UInt8])? {
    for (segment, offset) in candidates() {
      let bytes = try self.bytes(of: segment)
      let start = Int(offset - ring.segments[segment].header.offset)
      guard start < bytes.count else { continue }
      let header = bytes.withUnsafeBytes {
        GroupHeader(UnsafeRawBufferPointer(rebasing: $0[start...]), at: offset, storeSeed: ring.storeSeed)
      }
      guard let header, header.lsn == nextLSN, header.chain == chain else { continue }
      let group = Array(bytes[start..<start + Int(header.length)])
      guard runsAreWhole(group) else { continue }
      ring.current = segment
      ring.advance(lsn: header.lsn, offset: offset, length: group.count)
      nextLSN += 1
      chain = header.checksum
      durableLSN = max(durableLSN, header.durableLSN)
      return (header, group)
    }
    return nil
  }

  private func candidates() -> [(segment: Int, offset: UInt64)] {
    var places = [(segment: ring.current, offset: ring.position)]
    if isPadded, let rounded = roundedUp(ring.position, to: 4096), rounded != ring.position {
      places.append((ring.current, rounded))
    }
    let next = (ring.current + 1) % ring.segments.count
    places.append((next, ring.segments[next].header.firstGroup))
    return places
  }

  /// Segments are read whole; the last one is kept, since groups follow one another.
  private mutating func bytes(of segment: Int) throws(StoreError) -> [UInt8] {
    if let segmentBytes, segmentBytes.index == segment { return segmentBytes.bytes }
    let header = ring.segments[segment].header
    let bytes = try ring.file.readBytes(Int(header.length), at: header.offset)
    segmentBytes = (segment, bytes)
    return bytes
  }

  /// Whether each run that the group names is as it was written. A group whose runs never reached the disk is no group.
  private func runsAreWhole(_ group: [UInt8]) -> Bool {
    group.withUnsafeBytes { group in
      var records = GroupRecordReader(group)
      while let (_, record) = records.next() {
        guard case .putRun(_, let run) = record else { continue }
        do throws(StoreError) { try memory.verifyWholeRun(run) } catch { return false }
      }
      return true
    }
  }

  /// Throws `.journalDamaged` when a group that was known to be flushed is missing. [J-4]
  mutating func checkTail() throws(StoreError) {
    if let lsn = try newestBehindGap() {
      throw JournalRing.damaged(
        "transaction \(nextLSN) is missing, though it was on the disk when transaction \(lsn) was written",
        ring.position, ring.file)
    }
  }

  /// The greatest LSN of a group that shows the first missing one to have been flushed.
  mutating func newestBehindGap() throws(StoreError) -> UInt64? {
    var newest: UInt64?
    for segment in ring.segments.indices {
      let bytes = try self.bytes(of: segment)
      let offset = ring.segments[segment].header.offset
      bytes.withUnsafeBytes { bytes in
        var start = Int(SegmentHeader.groupArea)
        while start + GroupHeader.byteCount <= bytes.count {
          if bytes.field(start + 8) == GroupHeader.magic, let lsn: UInt64 = bytes.field(start + 16), lsn > nextLSN,
            let durable: UInt64 = bytes.field(start + 40), durable >= nextLSN,
            GroupHeader(
              UnsafeRawBufferPointer(rebasing: bytes[start...]), at: offset + UInt64(start), storeSeed: ring.storeSeed)
              != nil
          {
            newest = max(newest ?? 0, lsn)
          }
          start += 8
        }
      }
    }
    return newest
  }
}
