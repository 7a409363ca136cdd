// Bounds: the header's fields lie within the first 40 bytes of a whole page.

/// What a page is for.
package enum PageKind: UInt8, Sendable {
  case leaf = 1
  case branch = 2
  case freeMap = 3
  case space = 4
}

/// The 40 bytes every page begins with. SPEC section 5.
///
/// All functions take the address of a whole page; the header lies within it.
package enum PageHeader {
  package static let size = 40

  static let hashOffset = 0
  static let placeOffset = 8
  static let generationOffset = 16
  static let kindOffset = 20
  static let levelOffset = 21
  static let prefixOffset = 22
  static let countOffset = 24
  static let unusedOffset = 26
  static let cellAreaOffset = 28
  static let tableOffset = 32

  /// Writes number, stamp, kind, level and table, and zeros for the rest of the header.
  package static func begin(
    _ page: UnsafeMutableRawPointer, number: PageNumber, attempt: UInt16 = 0, generation: UInt32 = 0,
    kind: PageKind, level: Int = 0, table: UInt32 = 0
  ) {
    page.storeBytes(of: 0, as: UInt64.self)
    setIdentity(page, number: number, attempt: attempt, generation: generation)
    page.storeBytes(of: kind.rawValue, toByteOffset: kindOffset, as: UInt8.self)
    page.storeBytes(of: UInt8(truncatingIfNeeded: level), toByteOffset: levelOffset, as: UInt8.self)
    page.storeBytes(of: 0, toByteOffset: prefixOffset, as: UInt16.self)
    page.storeBytes(of: 0, toByteOffset: countOffset, as: UInt64.self)
    page.storeBytes(of: UInt64(table).littleEndian, toByteOffset: tableOffset, as: UInt64.self)
  }

  package static func setIdentity(
    _ page: UnsafeMutableRawPointer, number: PageNumber, attempt: UInt16, generation: UInt32
  ) {
    let place = number & Reference.numberMask | UInt64(attempt) << 48
    page.storeBytes(of: place.littleEndian, toByteOffset: placeOffset, as: UInt64.self)
    page.storeBytes(of: generation.littleEndian, toByteOffset: generationOffset, as: UInt32.self)
  }

  /// Writes the hash; the page is then complete.
  package static func seal(
    _ page: UnsafeMutableRawPointer, pageSize: Int, storeSeed: UInt64, number: PageNumber
  ) {
    let hash = hash(page, pageSize: pageSize, storeSeed: storeSeed, number: number)
    page.storeBytes(of: hash.littleEndian, as: UInt64.self)
  }

  package static func hash(
    _ page: UnsafeRawPointer, pageSize: Int, storeSeed: UInt64, number: PageNumber
  ) -> UInt64 {
    XXH3.hash(
      UnsafeRawBufferPointer(start: page + placeOffset, count: pageSize - placeOffset),
      seed: storeSeed &+ number)
  }

  package static func isHashGood(
    _ page: UnsafeRawPointer, pageSize: Int, storeSeed: UInt64, number: PageNumber
  ) -> Bool {
    UInt64(littleEndian: page.loadUnaligned(as: UInt64.self))
      == hash(page, pageSize: pageSize, storeSeed: storeSeed, number: number)
  }

  @inline(__always)
  package static func place(_ page: UnsafeRawPointer) -> UInt64 { page.load64(placeOffset) }

  package static func number(_ page: UnsafeRawPointer) -> PageNumber { place(page) & Reference.numberMask }

  package static func attempt(_ page: UnsafeRawPointer) -> UInt16 {
    UInt16(truncatingIfNeeded: place(page) >> 48)
  }

  package static func generation(_ page: UnsafeRawPointer) -> UInt32 { page.load32(generationOffset) }

  package static func kind(_ page: UnsafeRawPointer) -> PageKind? {
    PageKind(rawValue: page.load8(kindOffset))
  }

  @inline(__always)
  package static func level(_ page: UnsafeRawPointer) -> Int { Int(page.load8(levelOffset)) }

  @inline(__always)
  package static func count(_ page: UnsafeRawPointer) -> Int { Int(page.load16(countOffset)) }

  /// The prefix's length in a leaf or branch.
  @inline(__always)
  package static func prefix(_ page: UnsafeRawPointer) -> Int { Int(page.load16(prefixOffset)) }

  @inline(__always)
  package static func unused(_ page: UnsafeRawPointer) -> Int { Int(page.load16(unusedOffset)) }

  /// The id of the table that a leaf or branch belongs to.
  package static func table(_ page: UnsafeRawPointer) -> UInt32 { page.load32(tableOffset) }

  /// The cell area's offset in a leaf or branch, the zone of a free map.
  @inline(__always)
  package static func cellArea(_ page: UnsafeRawPointer) -> Int { Int(page.load32(cellAreaOffset)) }
}

// Little-endian loads and stores at any alignment. The caller answers for the bounds.
extension UnsafeRawPointer {
  @inline(__always) func load8(_ offset: Int) -> UInt8 { load(fromByteOffset: offset, as: UInt8.self) }

  @inline(__always) func load16(_ offset: Int) -> UInt16 {
    UInt16(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inline(__always) func load32(_ offset: Int) -> UInt32 {
    UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @inline(__always) func load64(_ offset: Int) -> UInt64 {
    UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}

extension UnsafeMutableRawPointer {
  @inline(__always) func store16(_ value: Int, _ offset: Int) {
    storeBytes(of: UInt16(truncatingIfNeeded: value).littleEndian, toByteOffset: offset, as: UInt16.self)
  }

  @inline(__always) func store32(_ value: Int, _ offset: Int) {
    storeBytes(of: UInt32(truncatingIfNeeded: value).littleEndian, toByteOffset: offset, as: UInt32.self)
  }

  @inline(__always) func store64(_ value: UInt64, _ offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
  }
}
