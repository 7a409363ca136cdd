/// The journal's bytes: segment headers and group headers. SPEC.md section 10.

/// The header of a journal segment.
struct SegmentHeader: Equatable, Sendable {
  static let byteCount = 64
  static let copyOffsets: [UInt64] = [0, 4096]
  /// Where groups begin in a segment.
  static let groupArea: UInt64 = 8192
  private static let magic: UInt64 = 0x4745_5354_534F_4F52  // "ROOSTSEG"

  var offset: UInt64
  var length: UInt64
  var next: UInt64
  var sequence: UInt64

  func encoded(storeSeed: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    for field in [Self.magic, offset, length, next, sequence, 0, 0] { bytes.append(field: field) }
    bytes.append(field: bytes.withUnsafeBytes { XXH3.hash($0, seed: storeSeed &+ offset) })
    return bytes
  }

  /// `nil` when the bytes are not a valid header of the segment at `offset`.
  init?(_ bytes: UnsafeRawBufferPointer, at offset: UInt64, storeSeed: UInt64) {
    guard let magic: UInt64 = bytes.field(0), magic == Self.magic, let own: UInt64 = bytes.field(8),
      own == offset, let length: UInt64 = bytes.field(16), let next: UInt64 = bytes.field(24),
      let sequence: UInt64 = bytes.field(32), let body = bytes.part(0, 56),
      bytes.field(56) == XXH3.hash(body, seed: storeSeed &+ offset),
      length > Self.groupArea, length <= UInt64(UInt32.max), !offset.addingReportingOverflow(length).overflow
    else { return nil }
    self.init(offset: offset, length: length, next: next, sequence: sequence)
  }

  init(offset: UInt64, length: UInt64, next: UInt64, sequence: UInt64) {
    self.offset = offset
    self.length = length
    self.next = next
    self.sequence = sequence
  }

  var end: UInt64 { offset + length }
  var firstGroup: UInt64 { offset + Self.groupArea }
}

/// The header of a journal group: one committed transaction.
struct GroupHeader: Equatable, Sendable {
  static let byteCount = 64
  static let magic: UInt64 = 0x5052_4754_534F_4F52  // "ROOSTGRP"

  var checksum: UInt64
  var lsn: UInt64
  var length: UInt32
  var chain: UInt64
  var durableLSN: UInt64
  var session: UInt64
  var commit: UInt64

  /// The header of a self-valid group: magic, length and checksum hold. `bytes` begin at `offset` in the file and
  /// end with its segment.
  init?(_ bytes: UnsafeRawBufferPointer, at offset: UInt64, storeSeed: UInt64) {
    guard let magic: UInt64 = bytes.field(8), magic == Self.magic, let checksum: UInt64 = bytes.field(0),
      let lsn: UInt64 = bytes.field(16), let length: UInt32 = bytes.field(24),
      length >= UInt32(Self.byteCount), length % 8 == 0, let body = bytes.part(8, Int(length) - 8),
      checksum == XXH3.hash(body, seed: storeSeed &+ offset) || planted(.groupChecksumIgnored),
      let chain: UInt64 = bytes.field(32), let durable: UInt64 = bytes.field(40),
      let session: UInt64 = bytes.field(48), let commit: UInt64 = bytes.field(56), durable < lsn, lsn < 1 << 63
    else { return nil }
    self.checksum = checksum
    self.lsn = lsn
    self.length = length
    self.chain = chain
    durableLSN = durable
    self.session = session
    self.commit = commit
  }

  /// Fills in the header of `group`, whose records are in place and whose length is a multiple of 8, as it will lie at
  /// `offset`; returns its checksum, the chain value of the next group.
  static func seal(
    _ group: inout [UInt8], lsn: UInt64, chain: UInt64, durableLSN: UInt64, session: UInt64, commit: UInt64,
    offset: UInt64, storeSeed: UInt64
  ) -> UInt64 {
    group.withUnsafeMutableBytes { group in
      group.setField(8, magic)
      group.setField(16, lsn)
      group.setField(24, UInt32(group.count))
      group.setField(28, UInt32(0))
      group.setField(32, chain)
      group.setField(40, durableLSN)
      group.setField(48, session)
      group.setField(56, commit)
      let body = UnsafeRawBufferPointer(rebasing: group[8...])
      let checksum = XXH3.hash(body, seed: storeSeed &+ offset)
      group.setField(0, checksum)
      return checksum
    }
  }
}
