// Bounds: each function reads or writes the size that its type has, at an address that its caller has
// found to have as much.

/// The number of a page: below `PageMemory.firstFrame` a page of the file, from there on a frame.
package typealias PageNumber = UInt64

/// What names a page: where it is, and the state it must be in. SPEC section 2.
///
/// A reference to a frame has the frame's number, and a stamp of zero.
package struct Reference: Equatable, Sendable {
  /// Page number in bits 0-47, attempt in bits 48-63, as in the file.
  package var place: UInt64
  /// Entries in bits 0-62; bit 63: some value in the subtree lies in a run.
  package var contents: UInt64
  package var generation: UInt32

  /// No page: an empty tree.
  package static let none = Reference(place: 0, contents: 0, generation: 0)

  /// Bytes of a stored reference.
  package static let size = 24

  static let numberMask: UInt64 = (1 << 48) - 1
  static let runsBit: UInt64 = 1 << 63

  @inline(__always)
  init(place: UInt64, contents: UInt64, generation: UInt32) {
    self.place = place
    self.contents = contents
    self.generation = generation
  }

  @inline(__always)
  package init(
    page: PageNumber, attempt: UInt16 = 0, generation: UInt32 = 0, count: UInt64, hasRuns: Bool
  ) {
    place = page & Self.numberMask | UInt64(attempt) << 48
    contents = count & ~Self.runsBit | (hasRuns ? Self.runsBit : 0)
    self.generation = generation
  }

  @inline(__always) package var page: PageNumber { place & Self.numberMask }
  @inline(__always) package var attempt: UInt16 { UInt16(truncatingIfNeeded: place >> 48) }
  @inline(__always) package var isNone: Bool { page == 0 }

  /// Entries in the subtree.
  @inline(__always) package var count: UInt64 {
    get { contents & ~Self.runsBit }
    set { contents = newValue & ~Self.runsBit | contents & Self.runsBit }
  }

  /// Whether some value in the subtree may lie in a run.
  @inline(__always) package var hasRuns: Bool {
    get { contents & Self.runsBit != 0 }
    set { contents = newValue ? contents | Self.runsBit : contents & ~Self.runsBit }
  }

  /// Reads the 24 bytes at `bytes`, which need no alignment.
  @inline(__always)
  package init(loading bytes: UnsafeRawPointer) {
    place = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    contents = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    generation = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
  }

  /// Writes 24 bytes at `bytes`, which need no alignment.
  @inline(__always)
  package func store(to bytes: UnsafeMutableRawPointer) {
    bytes.storeBytes(of: place.littleEndian, as: UInt64.self)
    bytes.storeBytes(of: contents.littleEndian, toByteOffset: 8, as: UInt64.self)
    bytes.storeBytes(of: UInt64(generation).littleEndian, toByteOffset: 16, as: UInt64.self)
  }
}

/// The root of a tree with its height: 0 empty, 1 the root is a leaf.
package struct TreeRoot: Equatable, Sendable {
  package var reference: Reference
  package var height: UInt8
  /// The id that new pages of the tree carry in their headers.
  package var table: UInt32

  @inline(__always)
  package init(reference: Reference, height: UInt8, table: UInt32 = 0) {
    self.reference = reference
    self.height = height
    self.table = table
  }

  package static let empty = TreeRoot(reference: .none, height: 0)

  package static func empty(table: UInt32) -> TreeRoot {
    TreeRoot(reference: .none, height: 0, table: table)
  }

  /// Entries in the tree.
  package var count: UInt64 { reference.count }

  /// A tree is at most this high ([T-7]), so that a hostile file can't send us in circles.
  package static let maximumHeight = 32
}

/// What a leaf or a journal record says about a value that lies in a run. SPEC section 8.
package struct RunDescriptor: Equatable, Hashable, Sendable {
  /// The run's first page.
  package var page: PageNumber
  /// The value's length in bytes.
  package var length: UInt64
  package var salt: UInt64
  /// The hash of the run head.
  package var hash: UInt64

  /// Bytes of a stored descriptor.
  package static let size = 32

  package init(page: PageNumber, length: UInt64, salt: UInt64, hash: UInt64) {
    self.page = page
    self.length = length
    self.salt = salt
    self.hash = hash
  }

  /// Reads the 32 bytes at `bytes`, which need no alignment.
  package init(loading bytes: UnsafeRawPointer) {
    page = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    length = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    salt = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
    hash = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
  }

  /// Writes 32 bytes at `bytes`, which need no alignment.
  package func store(to bytes: UnsafeMutableRawPointer) {
    bytes.storeBytes(of: page.littleEndian, as: UInt64.self)
    bytes.storeBytes(of: length.littleEndian, toByteOffset: 8, as: UInt64.self)
    bytes.storeBytes(of: salt.littleEndian, toByteOffset: 16, as: UInt64.self)
    bytes.storeBytes(of: hash.littleEndian, toByteOffset: 24, as: UInt64.self)
  }
}
