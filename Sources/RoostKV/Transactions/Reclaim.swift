/// Giving back what no snapshot can reach any more.
extension StoreCore {
  /// With the writer lock held.
  func reclaim() throws(StoreError) {
    var versions = commits.heldVersions()
    if let frozen = checkpoints.frozenVersion {
      // The checkpoint that is being written reads the frames of its freeze.
      versions.append(frozen)
      versions.sort { $0.sequence < $1.sequence }
    }
    for frame in retired.drain(versions, owner: { memory.arena.owner($0) }) {
      memory.arena.free(frame)
      translation[frame] = nil
    }
    if isInMemory { return try reclaimRunsInMemory() }
    try reclaimPages(planted(.snapshotsForgotten) ? [header.generation] : Set(versions.map(\.base)))
  }

  private func reclaimPages(_ bases: Set<UInt32>) throws(StoreError) {
    if pageFloor > 0, !(try file.isPinnedElsewhere(generations: 0...UInt64(header.generation) - 1)) { pageFloor = 0 }
    guard !limbo.extents.isEmpty, limboSeen.bases != bases || limboSeen.generation != header.generation else { return }
    limboSeen = (bases, header.generation)
    let freed = try limbo.drain(bases: Array(bases)) { (generations) throws(StoreError) in
      try file.isPinnedElsewhere(generations: generations)
    }
    for pages in freed { try freeMap.release(pages) }
  }

  /// In memory there are no generations: a run waits until no snapshot holds frames of an older state.
  private func reclaimRunsInMemory() throws(StoreError) {
    guard retired.count == 0 else { return }
    for pages in freedRuns {
      try freeMap.setReachable(pages, false)
      try freeMap.release(pages)
      memory.clearMarks(pages: pages)
    }
    freedRuns = []
  }

  func retire(_ frames: [PageNumber], sequence: UInt64) { retired.add(frames, until: sequence) }
}
