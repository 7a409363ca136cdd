/// A header slot that has been checked: where a state of the store lies in the file. SPEC.md section 4.
package struct Header: Equatable, Sendable {
  package var geometry: FileGeometry
  package var journalBlock: StoreOptions.JournalBlock
  package var storeID: StoreID
  package var generation: UInt32
  package var commit: UInt64
  /// The first group to replay, the chain value of the one before it, and its place.
  package var nextLSN: UInt64
  package var chain: UInt64
  package var journalPosition: UInt64
  package var pageCount: UInt64
  package var catalog: TreeRoot
  package var nextTableID: UInt64
  package var space: TwinReference
  /// The row `current` of the schema table, whole; a slot keeps its first 256 bytes and the length.
  package var tag: [UInt8]
  /// Features that a writer has to know and this build does not.
  package var writerFeatures: UInt16 = 0

  static let magic: [UInt8] = [0x8A, 0x52, 0x4F, 0x4F, 0x53, 0x54, 0x0D, 0x0A]
  static let tagBytes = 256
  private static let checksumOffset = 504

  /// The slot's 512 bytes.
  func encoded() -> [UInt8] {
    var slot = [UInt8](repeating: 0, count: FileGeometry.slotBytes)
    slot.withUnsafeMutableBytes { slot in
      Self.magic.withUnsafeBytes { slot.setPart(0, $0) }
      slot.setField(8, storeFormatVersion)
      slot.setField(12, UInt8(geometry.pageShift))
      slot.setField(13, journalBlock.rawValue)
      storeID.bytes.withUnsafeBytes { slot.setPart(16, $0) }
      slot.setField(32, UInt64(generation))
      slot.setField(40, commit)
      slot.setField(48, nextLSN)
      slot.setField(56, chain)
      slot.setField(64, journalPosition)
      slot.setField(72, pageCount)
      catalog.reference.write(to: slot, at: 80)
      slot.setField(104, catalog.height)
      slot.setField(112, nextTableID)
      space.write(to: slot, at: 120)
      slot.setField(152, UInt16(clamping: tag.count))
      tag.prefix(Self.tagBytes).withUnsafeBytes { slot.setPart(154, $0) }
      let checksum = XXH3.hash(UnsafeRawBufferPointer(rebasing: slot[..<Self.checksumOffset]))
      slot.setField(Self.checksumOffset, checksum)
    }
    return slot
  }
}

/// The 16 random bytes that tell one store from another.
package struct StoreID: Hashable, Sendable {
  package let bytes: [UInt8]

  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }

  package init(_ high: UInt64, _ low: UInt64) {
    var bytes: [UInt8] = []
    bytes.append(field: high)
    bytes.append(field: low)
    self.bytes = bytes
  }

  /// The seed that every other hash in the store starts from.
  package var seed: UInt64 { bytes.withUnsafeBytes { XXH3.hash($0) } }

  package var description: String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}

/// What a slot's bytes turn out to be.
enum HeaderSlot {
  case valid(Header)
  case newerFormat(UInt32)
  /// The magic is there, the rest isn't right.
  case damaged
  /// Not the beginning of a store.
  case foreign

  init(_ slot: UnsafeRawBufferPointer) {
    guard let magic = slot.part(0, 8), magic.elementsEqual(Header.magic) else {
      self = .foreign
      return
    }
    guard let body = slot.part(0, 504), let checksum: UInt64 = slot.field(504), checksum == XXH3.hash(body),
      let version: UInt32 = slot.field(8)
    else {
      self = .damaged
      return
    }
    guard version == storeFormatVersion else {
      self = version > storeFormatVersion ? .newerFormat(version) : .damaged
      return
    }
    // Features that a reader has to know: none in this version. [H-2]
    guard slot.field(14, as: UInt16.self) == 0 else {
      self = .newerFormat(version)
      return
    }
    self = Header(fields: slot).map { .valid($0) } ?? .damaged
  }
}

extension Header {
  /// The fields of a slot with a good checksum; `nil` when one is out of its range. [H-1]
  fileprivate init?(fields slot: UnsafeRawBufferPointer) {
    guard let shift: UInt8 = slot.field(12), FileGeometry.pageShifts.contains(Int(shift)),
      let block = slot.field(13, as: UInt8.self).flatMap(StoreOptions.JournalBlock.init(rawValue:)),
      let storeID = slot.part(16, 16).flatMap({ StoreID($0) }),
      let generation = slot.field(32, as: UInt64.self).flatMap({ UInt32(exactly: $0) }), generation > 0,
      let commit: UInt64 = slot.field(40), commit < 1 << 63, let nextLSN: UInt64 = slot.field(48), nextLSN > 0,
      nextLSN < 1 << 63,
      let chain: UInt64 = slot.field(56), let position: UInt64 = slot.field(64),
      let pageCount: UInt64 = slot.field(72), let catalog = Reference(slot, at: 80),
      let height: UInt8 = slot.field(104), let nextTableID: UInt64 = slot.field(112),
      let space = TwinReference(slot, at: 120), let tagLength: UInt16 = slot.field(152),
      let tag = slot.part(154, min(Int(tagLength), Header.tagBytes))
    else { return nil }
    let geometry = FileGeometry(pageShift: Int(shift))
    guard height <= TreeRoot.maximumHeight, (height == 0) == (catalog.page == 0),
      pageCount >= geometry.firstPage, pageCount <= 1 << 48, catalog.page < pageCount,
      height == 0 || catalog.page >= geometry.firstPage, nextTableID <= 1 << 32,
      position < UInt64.max - UInt64(UInt32.max), position % 8 == 0, space.lies(in: geometry.firstPage..<pageCount)
    else { return nil }
    self.init(
      geometry: geometry, journalBlock: block, storeID: storeID, generation: generation, commit: commit,
      nextLSN: nextLSN, chain: chain, journalPosition: position, pageCount: pageCount,
      catalog: TreeRoot(reference: catalog, height: height), nextTableID: nextTableID, space: space,
      tag: Array(tag), writerFeatures: slot.field(410) ?? 0)
  }
}
