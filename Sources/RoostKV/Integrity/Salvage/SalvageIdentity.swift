/// Finds out which store a damaged file is: its page size, and the id that every checksum depends on.
///
/// A readable header says both. The fields of an unreadable one are tried: they are right when some page's checksum holds
/// under them, which no wrong id can bring about.
struct SalvageIdentity {
  let source: SalvageSource
  let storeID: StoreID
  /// Readable headers of this store, the newest first.
  let headers: [Header]

  init(_ file: any StorageFile, _ options: SalvageOptions) throws(StoreError) {
    let size = try file.size()
    guard size > 0 else {
      throw StoreError(.emptyFile, "the file is empty", remedy: "there is nothing to salvage in it", path: file.path)
    }
    let slots = try HeaderSlots(file)
    var valid: [Header] = []
    for slot in slots.slots {
      switch slot {
      case .valid(let header): valid.append(header)
      case .newerFormat(let version):
        throw StoreError(
          .newerFormat, "a newer version of the library has written the store (format \(version))",
          remedy: "update the library, or the roost tool", path: file.path)
      case .damaged, .foreign: break
      }
    }
    valid.sort { $0.generation > $1.generation }
    for header in valid {
      let source = try SalvageSource(file, header.geometry, storeSeed: header.storeID.seed)
      let own = valid.filter { $0.storeID == header.storeID && $0.geometry == header.geometry }
      // Two headers of different stores contradict each other; the pages say which one is right.
      guard own.count == valid.count || Self.isProved(source) else { continue }
      (self.source, storeID, headers) = (source, header.storeID, own)
      return
    }
    // A segment header proves the id, and leaves some page sizes open: it is the last resort.
    var lastResort: (SalvageSource, StoreID)?
    for (id, shifts) in try Self.guesses(slots.bytes, options) {
      for shift in shifts {
        let source = try SalvageSource(file, FileGeometry(pageShift: shift), storeSeed: id.seed)
        if Self.isProved(source) {
          (self.source, storeID, headers) = (source, id, [])
          return
        }
        if lastResort == nil, Self.hasFirstSegment(source) { lastResort = (source, id) }
      }
    }
    guard let lastResort else { throw Self.unknown(file, slots, size, options) }
    (source, storeID, headers) = (lastResort.0, lastResort.1, [])
  }

  /// Ids and page sizes to try: as asked for, and what unreadable slots seem to say.
  private static func guesses(
    _ slots: [[UInt8]], _ options: SalvageOptions
  ) throws(StoreError) -> [(StoreID, [Int])] {
    var guesses: [(StoreID, [Int])] = []
    // The usual size first.
    let all = FileGeometry.pageShifts.sorted { $0 == 13 || ($1 != 13 && $0 < $1) }
    if let text = options.storeID {
      guard let id = StoreID(hexadecimal: text) else {
        throw StoreError(
          .invalidOption, "\"\(text)\" is no store id",
          remedy: "give the 32 hexadecimal digits that `roost info` prints")
      }
      guesses.append((id, all))
    }
    for slot in slots {
      slot.withUnsafeBytes { slot in
        guard let id = slot.part(16, 16).flatMap({ StoreID($0) }), id.bytes.contains(where: { $0 != 0 }),
          let shift: UInt8 = slot.field(12), !guesses.contains(where: { $0.0 == id })
        else { return }
        guesses.append((id, [Int(shift)].filter(all.contains) + all.filter { $0 != Int(shift) }))
      }
    }
    return guesses
  }

  /// Whether some page was written under this id and page size.
  private static func isProved(_ source: SalvageSource) -> Bool {
    var number = source.geometry.firstPage
    while number < source.pageCount {
      if source.intactPage(number) != nil { return true }
      number += 1
    }
    return false
  }

  private static func hasFirstSegment(_ source: SalvageSource) -> Bool {
    let start = source.geometry.headerBytes
    return SegmentHeader.copyOffsets.contains { copy in
      let bytes = (try? source.file.readBytes(SegmentHeader.byteCount, at: start + copy)) ?? []
      return bytes.withUnsafeBytes { SegmentHeader($0, at: start, storeSeed: source.storeSeed) } != nil
    }
  }

  private static func unknown(
    _ file: any StorageFile, _ slots: HeaderSlots, _ size: UInt64, _ options: SalvageOptions
  ) -> StoreError {
    let isStore = slots.bytes.contains { $0.starts(with: Header.magic) }
    if !isStore, options.storeID == nil, !hasNumberedPages(file, size) {
      return slots.bytes[0].withUnsafeBytes { ForeignFile.error($0, path: file.path) }
    }
    let why =
      options.storeID == nil
      ? "neither copy of the header can be read, and nothing else tells the store's id, on which every checksum depends"
      : "no page in the file belongs to the store of that id"
    return StoreError(
      .headerDamaged, why, remedy: "give the store's id, which `roost info` prints for any copy or backup of it",
      path: file.path)
  }

  /// Whether some page looks like a store's: it says its own number. Only for the choice of an error.
  private static func hasNumberedPages(_ file: any StorageFile, _ size: UInt64) -> Bool {
    for number in 20..<max(20, min(size / 4096, 4096)) {
      let header = (try? file.readBytes(PageHeader.size, at: number * 4096)) ?? []
      let place: UInt64? = header.withUnsafeBytes { $0.field(PageHeader.placeOffset) }
      guard let place else { continue }
      for shift in FileGeometry.pageShifts where place & Reference.numberMask == (number * 4096) >> UInt64(shift) {
        return true
      }
    }
    return false
  }
}

extension StoreID {
  /// The id whose `description` this is.
  package init?(hexadecimal text: String) {
    let digits = text.utf8.compactMap(\.hexadecimalValue)
    guard digits.count == 32, text.utf8.count == 32 else { return nil }
    let bytes = stride(from: 0, to: 32, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    guard let id = bytes.withUnsafeBytes({ StoreID($0) }) else { return nil }
    self = id
  }
}

extension UInt8 {
  /// The value of an ASCII digit.
  fileprivate var hexadecimalValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x41 + 10
    case 0x61...0x66: self - 0x61 + 10
    default: nil
    }
  }
}
