/// Writes values into runs of free pages.
struct RunWriter {
  let file: any StorageFile
  let geometry: FileGeometry
  let storeSeed: UInt64

  private static let pieceBytes = 1 << 20

  /// Pages that a value of this length takes; throws `.valueTooLong`.
  func pages(for length: Int) throws(StoreError) -> Int {
    guard let layout = RunLayout(length: UInt64(length)) else {
      throw StoreError(
        .valueTooLong, "a value of \(length) bytes is longer than the format allows",
        remedy: "split it into values of at most 1 TiB")
    }
    return Int(geometry.pages(layout.byteCount))
  }

  /// Writes `value` to the run that begins at `page`. The pages are allocated and hold enough.
  func write(_ value: UnsafeRawBufferPointer, at page: UInt64, salt: UInt64) throws(StoreError) -> RunDescriptor {
    guard let layout = RunLayout(length: UInt64(value.count)) else {
      throw StoreError(.valueTooLong, "the value is too long for a run", remedy: "split the value")
    }
    let seed = RunLayout.seed(storeSeed, page: page, salt: salt)
    var head: [UInt8] = []
    for field in [RunLayout.magic, page, layout.length, salt] { head.append(field: field) }
    for index in 0..<layout.chunkCount {
      let part = layout.chunk(index)
      let chunk = UnsafeRawBufferPointer(rebasing: value[Int(part.lowerBound)..<Int(part.upperBound)])
      head.append(field: XXH3.hash(chunk, seed: seed &+ index &+ 1))
    }
    let hash = head.withUnsafeBytes { XXH3.hash($0, seed: seed) }
    try writePieces(head, value, layout, geometry.offset(page))
    return RunDescriptor(page: page, length: layout.length, salt: salt, hash: hash)
  }

  /// Head and value in writes of at most 1 MiB, the last page filled up with zeros.
  private func writePieces(
    _ head: [UInt8], _ value: UnsafeRawBufferPointer, _ layout: RunLayout, _ start: UInt64
  ) throws(StoreError) {
    var piece = head
    piece.append(contentsOf: repeatElement(0, count: Int(layout.valueOffset) - head.count))
    var taken = min(value.count, max(0, Self.pieceBytes - piece.count))
    piece.append(contentsOf: value[..<taken])
    var offset = start
    while true {
      if taken == value.count {
        let tail = (offset - start + UInt64(piece.count)) % UInt64(geometry.pageSize)
        if tail > 0 { piece.append(contentsOf: repeatElement(0, count: geometry.pageSize - Int(tail))) }
      }
      try piece.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: offset) }
      file.startWriteBack(offset: offset, count: piece.count)
      if taken == value.count { return }
      offset += UInt64(piece.count)
      let next = min(value.count, taken + Self.pieceBytes)
      piece = Array(value[taken..<next])
      taken = next
    }
  }
}
