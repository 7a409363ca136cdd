/// Kinds of page, as stored. SPEC.md section 5.
enum MapPageKind: UInt8 {
  case freeMap = 3
  case space = 4
}

/// Reads and verifies free-map and space pages.
protocol MapPageReader: AnyObject {
  /// The live twin's bytes, checked against the reference. [P-2]
  func mapPage(_ twin: TwinReference, kind: MapPageKind, zone: UInt32?) throws(StoreError) -> [UInt8]
}

/// Reads map pages from a file.
final class FileMapPageReader: MapPageReader {
  private let file: any StorageFile
  private let geometry: FileGeometry
  private let storeSeed: UInt64

  init(_ file: any StorageFile, _ geometry: FileGeometry, storeSeed: UInt64) {
    self.file = file
    self.geometry = geometry
    self.storeSeed = storeSeed
  }

  func mapPage(_ twin: TwinReference, kind: MapPageKind, zone: UInt32?) throws(StoreError) -> [UInt8] {
    let number = twin.live
    let damaged = StoreError(
      .pageDamaged, "a page of the free map isn't what was written", remedy: damageRemedy, path: file.path,
      page: number)
    guard number >= geometry.firstPage, number < 1 << 48 else { throw damaged }
    let page = try file.readBytes(geometry.pageSize, at: geometry.offset(number))
    let isIntact = page.withUnsafeBytes { bytes in
      bytes.count == geometry.pageSize
        && bytes.field(0) == XXH3.hash(UnsafeRawBufferPointer(rebasing: bytes[8...]), seed: storeSeed &+ number)
        && bytes.field(8) == number | UInt64(twin.attempt) << 48
        && bytes.field(16) == twin.generation && bytes.field(20) == kind.rawValue
        && (zone == nil || bytes.field(28) == zone)
    }
    guard isIntact else { throw damaged }
    return page
  }
}

/// Makes the bytes of free-map and space pages.
struct MapPageSealer {
  let geometry: FileGeometry
  let storeSeed: UInt64

  func page(
    _ kind: MapPageKind, _ twin: TwinReference, zone: UInt32, count: Int,
    _ fill: (UnsafeMutableRawBufferPointer) -> Void
  ) -> [UInt8] {
    let number = twin.live
    var page = [UInt8](repeating: 0, count: geometry.pageSize)
    page.withUnsafeMutableBytes { bytes in
      bytes.setField(8, number | UInt64(twin.attempt) << 48)
      bytes.setField(16, twin.generation)
      bytes.setField(20, kind.rawValue)
      bytes.setField(24, UInt16(count))
      bytes.setField(28, zone)
      fill(bytes)
      let body = UnsafeRawBufferPointer(rebasing: bytes[8...])
      bytes.setField(0, XXH3.hash(body, seed: storeSeed &+ number))
    }
    return page
  }
}
