/// References and run descriptors in checked buffers.

extension Reference {
  /// `nil` when the buffer ends before the reference does.
  init?(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard let part = bytes.part(offset, Self.size), let address = part.baseAddress else { return nil }
    self.init(loading: address)
  }

  func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
    bytes.setField(offset, place)
    bytes.setField(offset + 8, contents)
    bytes.setField(offset + 16, UInt64(generation))
  }
}

/// What the catalog says of a table. SPEC.md section 7.
struct CatalogRow: Equatable {
  static let byteCount = 32

  var id: UInt32
  var root: TreeRoot

  init(id: UInt32, root: TreeRoot) {
    self.id = id
    self.root = root
  }

  /// `nil` when the bytes are no row.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.byteCount, let id: UInt32 = bytes.field(0), let height: UInt8 = bytes.field(4),
      height <= TreeRoot.maximumHeight, let reference = Reference(bytes, at: 8),
      (height == 0) == reference.isNone
    else { return nil }
    self.init(id: id, root: TreeRoot(reference: height == 0 ? .none : reference, height: height, table: id))
  }

  func encoded() -> [UInt8] {
    var row = [UInt8](repeating: 0, count: Self.byteCount)
    row.withUnsafeMutableBytes { row in
      row.setField(0, id)
      row.setField(4, root.height)
      root.reference.write(to: row, at: 8)
    }
    return row
  }
}
