/// What a store holds and costs. Counts of pages are in pages of `pageSize` bytes.
public struct StoreStatistics: Sendable, Equatable {
  /// The version of the file format.
  public var formatVersion: UInt32
  /// The number that tells the store from others, as 32 hexadecimal digits.
  public var storeID: String
  /// Bytes a page.
  public var pageSize: Int
  /// Bytes of the file; for a store in memory, of its pages.
  public var fileBytes: UInt64
  /// The newest checkpoint.
  public var generation: UInt32
  /// The newest commit that readers see.
  public var commitNumber: UInt64
  /// Tables, those of the library included.
  public var tableCount: Int
  /// Entries of all tables.
  public var entryCount: Int
  /// Pages in use in the file.
  public var usedPages: UInt64
  /// Pages of the file that may be written.
  public var freePages: UInt64
  /// Bytes that the journal takes in the file.
  public var journalSpace: UInt64
  /// Bytes of the journal's groups since the newest checkpoint.
  public var journalBytes: UInt64
  /// Segments that the journal is made of.
  public var journalSegments: Int
  /// Bytes of changed pages in memory.
  public var dirtyBytes: Int
  /// Bytes of older pages in memory that are kept for snapshots.
  public var pinnedBytes: Int
  /// Bytes in the file that only snapshots still reach.
  public var pinnedFileBytes: UInt64
  /// Snapshots that are held; a cursor of a read transaction counts as one.
  public var snapshotCount: Int
  /// For how long the oldest state that a snapshot holds has been outdated; `nil` when only the newest one is held.
  public var oldestSnapshotAge: Duration?
  /// The oldest commit that a snapshot sees.
  public var oldestSnapshotCommit: UInt64?
  /// Groups written to the journal since the store was opened: one for each commit but large ones.
  public var groupsWritten: UInt64
  /// Flushes since the store was opened.
  public var flushes: UInt64
  /// Bytes written to the journal since the store was opened.
  public var journalBytesWritten: UInt64
  /// The numbers of the transactions that this open has given up, see `StoreOptions.opensUpToJournalGap`: the first is missing from
  /// the journal, the later ones were acknowledged after it.
  public var transactionsGivenUp: ClosedRange<UInt64>?
  /// The row `current` of the library's schema table, as the header has it.
  public var schemaTag: [UInt8]
}

extension StoreCore {
  func statistics() throws(StoreError) -> StoreStatistics {
    try requireOpen()
    try acquireForUpkeep()
    defer { releaseWriter() }
    let visible = commits.visible, counters = commits.statistics
    let snapshots = commits.snapshotStatistics()
    let free = isReadOnly ? 0 : freeMap.availableCount
    let oldest = snapshots.outdatedSince.map { Duration.nanoseconds(Int64(clamping: runtime.now() &- $0)) }
    return StoreStatistics(
      formatVersion: storeFormatVersion, storeID: storeID.description, pageSize: geometry.pageSize,
      fileBytes: try file.size(), generation: header.generation, commitNumber: visible.commit,
      tableCount: visible.directory.ids.count,
      entryCount: Int(clamping: visible.roots.reduce(UInt64(0)) { $0 &+ $1.count }),
      usedPages: memory.fileLimit - min(free, memory.fileLimit), freePages: free,
      journalSpace: isInMemory ? 0 : ring.byteCount, journalBytes: journalBytes,
      journalSegments: isInMemory ? 0 : ring.segments.count, dirtyBytes: dirtyBytes,
      pinnedBytes: pinnedBytes, pinnedFileBytes: limbo.pageCount << UInt64(geometry.pageShift),
      snapshotCount: snapshots.count, oldestSnapshotAge: oldest,
      oldestSnapshotCommit: snapshots.oldestCommit, groupsWritten: counters.groups, flushes: counters.flushes,
      journalBytesWritten: counters.journalBytes, transactionsGivenUp: givenUp, schemaTag: header.tag)
  }
}
