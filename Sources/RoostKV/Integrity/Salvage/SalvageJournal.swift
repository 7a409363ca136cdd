/// The groups of a damaged file's journal that belong to the newest state, in order.
///
/// With a header the row of groups begins at a known place, as in recovery; groups behind a missing one that had been on
/// the disk count too, since each record says what the newest state holds of its key. Without a header the newest unbroken row
/// is taken: carrying out again what the trees hold already changes nothing, as long as the row goes to the newest group.
struct SalvageJournal {
  struct Group {
    var header: GroupHeader
    var offset: UInt64
  }

  private let source: SalvageSource
  private(set) var report = SalvageReport.Journal()
  /// Every group found, by number.
  private var found: [UInt64: [Group]] = [:]
  /// What is to be applied.
  private(set) var groups: [Group] = []

  /// Follows the ring as far as its headers can be read. The first segment's place needs no header.
  static func ring(_ source: SalvageSource) -> (segments: [SegmentHeader], isWhole: Bool) {
    let start = source.geometry.headerBytes
    var segments: [SegmentHeader] = []
    var offsets: Set<UInt64> = []
    var offset = start
    repeat {
      guard let header = header(at: offset, source), header.end <= source.fileBytes, offsets.insert(offset).inserted,
        segments.count < 1 << 16
      else {
        if segments.isEmpty {
          segments = [
            SegmentHeader(offset: start, length: FileGeometry.firstSegmentBytes, next: start, sequence: 0)
          ]
        }
        return (segments, false)
      }
      segments.append(header)
      offset = header.next
    } while offset != start
    return (segments, true)
  }

  private static func header(at offset: UInt64, _ source: SalvageSource) -> SegmentHeader? {
    SegmentHeader.copyOffsets.compactMap { copy -> SegmentHeader? in
      let (place, overflow) = offset.addingReportingOverflow(copy)
      guard !overflow, let bytes = try? source.file.readBytes(SegmentHeader.byteCount, at: place) else { return nil }
      return bytes.withUnsafeBytes { SegmentHeader($0, at: offset, storeSeed: source.storeSeed) }
    }.max { $0.sequence < $1.sequence }
  }

  /// - Parameter isWhole: whether `segments` are known to be all of the ring.
  init(_ source: SalvageSource, header: Header?, segments: [SegmentHeader], isWhole: Bool) throws(StoreError) {
    self.source = source
    report.isReadable = isWhole
    for segment in segments { collect(segment) }
    if let header { try order(from: header.nextLSN, chain: header.chain) } else { orderNewest() }
  }

  // MARK: Finding groups

  private mutating func collect(_ segment: SegmentHeader) {
    guard segment.end <= source.fileBytes, segment.length > SegmentHeader.groupArea,
      let bytes = try? source.file.readBytes(Int(segment.length), at: segment.offset)
    else {
      report.isReadable = false
      return
    }
    bytes.withUnsafeBytes { bytes in
      // Like recovery: what looks like groups without being any shall not keep us hashing for ever.
      var budget = 16 * bytes.count
      var start = Int(SegmentHeader.groupArea)
      while start + GroupHeader.byteCount <= bytes.count, budget > 0 {
        guard bytes.field(start + 8) == GroupHeader.magic else {
          start += 8
          continue
        }
        budget -= Int(bytes.field(start + 24, as: UInt32.self) ?? 0)
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
        let offset = segment.offset + UInt64(start)
        guard let header = GroupHeader(rest, at: offset, storeSeed: source.storeSeed) else {
          start += 8
          continue
        }
        found[header.lsn, default: []].append(Group(header: header, offset: offset))
        // What lies within a group is its user's.
        start += Int(header.length)
      }
      if budget <= 0 { report.isReadable = false }
    }
  }

  // MARK: Order

  private func group(_ lsn: UInt64, chain: UInt64) -> Group? {
    found[lsn]?.first { $0.header.chain == chain }
  }

  private mutating func order(from next: UInt64, chain: UInt64) throws(StoreError) {
    var lsn = next
    var chain = chain
    var chained: [Group] = []
    while let group = group(lsn, chain: chain) {
      chained.append(group)
      lsn += 1
      chain = group.header.checksum
    }
    let durable = chained.reduce(next - 1) { max($0, $1.header.durableLSN) }
    guard try take(chained, durable: durable) else { return }
    try takeBehindGap(lsn)
  }

  /// Takes groups up to the first that recovery would drop: not known to have been flushed, and a large value of it was not.
  /// Returns whether all were taken.
  private mutating func take(_ chained: [Group], durable: UInt64) throws(StoreError) -> Bool {
    for group in chained {
      if group.header.lsn > durable, try !areRunsWhole(group) { return false }
      groups.append(group)
    }
    return true
  }

  /// The first missing group had been on the disk when some later one says so; then all that was flushed counts.
  private mutating func takeBehindGap(_ missing: UInt64) throws(StoreError) {
    let later = found.lazy.filter { $0.key > missing }.flatMap(\.value)
    let proof = later.map(\.header.durableLSN).filter { $0 >= missing }
    guard let durable = proof.max() else { return }
    var previous: Group?
    var gap = missing
    // Only numbers that were found are looked at: a hostile durable number may be huge.
    for lsn in found.keys.filter({ $0 > missing && $0 <= durable }).sorted() {
      let next = found[lsn + 1] ?? []
      let options = found[lsn] ?? []
      let isBehind = previous.map { $0.header.lsn + 1 == lsn } ?? false
      let group =
        options.first { isBehind && $0.header.chain == previous?.header.checksum }
        ?? options.first { option in next.contains { $0.header.chain == option.header.checksum } } ?? options.first
      guard let group else { continue }
      if lsn > gap { report.addMissing(gap...lsn - 1) }
      gap = lsn + 1
      groups.append(group)
      previous = group
    }
    if gap <= durable { report.addMissing(gap...durable) }
    try takeTail(after: durable, previous)
  }

  /// Groups beyond the greatest one known to have been flushed, as long as they are chained.
  private mutating func takeTail(after durable: UInt64, _ previous: Group?) throws(StoreError) {
    var lsn = durable + 1
    var chain = previous?.header.lsn == durable ? previous?.header.checksum : nil
    var tail: [Group] = []
    while let options = found[lsn], let group = options.first(where: { chain == nil || $0.header.chain == chain }) {
      tail.append(group)
      chain = group.header.checksum
      lsn += 1
    }
    _ = try take(tail, durable: durable)
  }

  private mutating func orderNewest() {
    report.isStartKnown = found.isEmpty
    guard let newest = found.keys.max(),
      let last = found[newest]?.max(by: { $0.header.durableLSN < $1.header.durableLSN })
    else { return }
    var chained = [last]
    var first = last
    while let before = found[first.header.lsn - 1]?.first(where: { $0.header.checksum == first.header.chain }) {
      chained.append(before)
      first = before
    }
    // All of it, also behind a large value that can't be read: the trees may hold later groups already.
    groups = chained.reversed()
  }

  // MARK: Reading groups

  /// A group's bytes; `nil` when they can't be read again.
  func bytes(_ group: Group) -> [UInt8]? {
    guard let bytes = try? source.file.readBytes(Int(group.header.length), at: group.offset) else { return nil }
    let again = bytes.withUnsafeBytes { GroupHeader($0, at: group.offset, storeSeed: source.storeSeed) }
    return again == group.header ? bytes : nil
  }

  private func areRunsWhole(_ group: Group) throws(StoreError) -> Bool {
    guard let bytes = bytes(group) else { return false }
    var pages: UInt64 = 0
    for run in Self.runs(bytes) {
      // Runs are disjoint; more pages than the file has are a fraud. [V-3]
      guard let own = source.pages(of: run), own.count <= source.pageCount - pages else { return false }
      pages += UInt64(own.count)
      guard try source.withValue(of: run, { (_) throws(StoreError) in }) else { return false }
    }
    return true
  }

  private static func runs(_ group: [UInt8]) -> [RunDescriptor] {
    group.withUnsafeBytes { group in
      var runs: [RunDescriptor] = []
      var records = GroupRecordReader(group)
      while let (_, record) = records.next() {
        if case .putRun(_, let run) = record { runs.append(run) }
      }
      return runs
    }
  }

  /// Names that tables were given by any group in the file, the newest of each.
  func names() -> [UInt32: [UInt8]] {
    var names: [UInt32: [UInt8]] = [:]
    for lsn in found.keys.sorted() {
      for group in found[lsn] ?? [] {
        guard let bytes = bytes(group) else { continue }
        bytes.withUnsafeBytes { bytes in
          var records = GroupRecordReader(bytes)
          while let (id, record) = records.next() {
            switch record {
            case .createTable(let name), .renameTable(let name): names[id] = Array(name)
            default: break
            }
          }
        }
      }
    }
    return names
  }
}
