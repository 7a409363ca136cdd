/// What the free map of a damaged file says, as far as it can be read: which pages belong to the newest checkpoint's state.
struct SalvageMap {
  /// What is known of a page by the map.
  enum Use {
    case used, free, unknown
  }

  private let geometry: FileGeometry
  private var zones: [Bitmap?] = []
  private(set) var damagedPages: [UInt64] = []
  /// The map's own pages.
  private(set) var ownPages: [UInt64] = []

  init(_ source: SalvageSource, _ space: TwinReference?) {
    geometry = source.geometry
    guard let space else { return }
    let reader = FileMapPageReader(source.file, geometry, storeSeed: source.storeSeed)
    var next = space
    var visited: Set<UInt64> = []
    while !next.isNone, visited.insert(next.live).inserted {
      ownPages += [next.pageA, next.pageB]
      guard let page = try? reader.mapPage(next, kind: .space, zone: nil) else {
        damagedPages.append(next.live)
        return
      }
      next = page.withUnsafeBytes { bytes in
        let count = min(Int(bytes.field(24, as: UInt16.self) ?? 0), geometry.zonesPerSpacePage)
        for index in 0..<count {
          guard let twin = TwinReference(bytes, at: 96 + index * TwinReference.byteCount) else { continue }
          ownPages += [twin.pageA, twin.pageB]
          let zone = try? reader.mapPage(twin, kind: .freeMap, zone: UInt32(zones.count))
          if zone == nil { damagedPages.append(twin.live) }
          zones.append(zone.map { $0.withUnsafeBytes { Bitmap(UnsafeRawBufferPointer(rebasing: $0[64...])) } })
        }
        return TwinReference(bytes, at: 64) ?? TwinReference()
      }
    }
  }

  /// The reference to the newest first space page among those found by scanning.
  static func newestSpacePage(_ pages: [UInt64], _ source: SalvageSource) -> TwinReference? {
    let reader = FileMapPageReader(source.file, source.geometry, storeSeed: source.storeSeed)
    var newest: TwinReference?
    for number in pages {
      guard let page = source.intactPage(number), PageHeader.kind(page) == .space else { continue }
      var twin = TwinReference(pageA: number, pageB: number)
      (twin.generation, twin.attempt) = (PageHeader.generation(page), PageHeader.attempt(page))
      let bytes = UnsafeRawBufferPointer(start: page, count: source.geometry.pageSize)
      // The first space page is the one whose first zone is zone 0.
      guard let zone = TwinReference(bytes, at: 96), (try? reader.mapPage(zone, kind: .freeMap, zone: 0)) != nil,
        twin.generation > newest?.generation ?? 0
      else { continue }
      newest = twin
    }
    return newest
  }

  func use(_ page: UInt64) -> Use {
    let zone = page / geometry.zonePages
    guard zone < UInt64(zones.count), let bits = zones[Int(zone)] else { return .unknown }
    return bits[Int(page % geometry.zonePages)] ? .used : .free
  }
}
