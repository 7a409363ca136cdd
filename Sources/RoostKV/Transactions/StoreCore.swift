import Synchronization

/// The state of an open store, shared by its transactions.
///
/// Locks, in the order in which they are taken: the writer lock; the checkpoint's monitor; the commit queue's monitor.
/// Fields marked *writer* are used with the writer lock held.
///
/// States of the file's newest headers: `header` is in both slots. A checkpoint makes the next one, see Checkpoint.swift.
final class StoreCore: @unchecked Sendable {
  let file: any StorageFile
  let runtime: any Runtime
  let options: StoreOptions
  let geometry: FileGeometry
  let journalBlock: StoreOptions.JournalBlock
  let storeID: StoreID
  let memory: PageMemory
  /// Nothing reaches the disk: no journal, no checkpoints.
  let isInMemory: Bool
  let limits: TreeLimits
  /// Forks of this process before the store was opened; a child must not use its parent's store.
  let forkCount = ForkCount.current
  let gate = Gate()

  let writerLock: WriterLock
  let commits: CommitQueue
  let checkpoints: CheckpointState

  /// Which slot the header came from; the other one is written first.
  var headerSlot: Int
  // writer
  /// The writer's session, named in every group and run. [J-2, V-1]
  var session: UInt64
  var freeMap: FreeMap
  var limbo = Limbo()
  var ring: JournalRing
  var appended: Version
  var nextLSN: UInt64
  var chain: UInt64
  var nextTableID: UInt64
  var header: Header
  /// The header's bytes as they are in the file, also what this version does not know of.
  var headerBytes: [UInt8]
  /// A header that is being written, and may be in one slot.
  var pendingHeader: Header?
  /// A checkpoint that is in both slots and has still to be taken in.
  var writtenState: FrozenState?
  /// The catalog as of the last freeze.
  var catalog: TreeRoot
  /// What the catalog says: the tables as of the last freeze.
  var frozenTables: [UInt32: FrozenTable] = [:]
  /// Pages and runs that the newest state does not reach, and the last freeze does.
  var freedPages: [FreedPage] = []
  var freedRuns: [Range<UInt64>] = []
  var retired = RetiredFrames()
  /// What the last look at `limbo` found, so that it is not repeated in vain.
  var limboSeen: (bases: Set<UInt32>, generation: UInt32) = ([], 0)
  /// Space is taken only behind this page, while a reader in another process holds a state from before this session.
  var pageFloor: UInt64 = 0
  /// Groups found at open of which it is not known that they are on the disk; `nil` once they are. [O-4]
  var unproven: [JournalReader.Found]? = []
  /// Places of groups that recovery has dropped, to be overwritten before the first write. [O-4]
  var droppedGroups: [UInt64] = []
  /// Transactions behind a gap in the journal that the open was told to give up.
  var givenUp: ClosedRange<UInt64>?
  /// The journal has been given up behind a gap; nothing is written before a checkpoint says so.
  var mustCheckpoint = false
  /// Whether the file is closed with the store: from a successful open to its end.
  var ownsFile = false
  /// Generations that a read-only store tells the writer about.
  var pinnedGenerations: Set<UInt32> = []
  /// Frames that have a page of the file, and are still referred to by their frame number.
  var translation: [PageNumber: FramePlace] = [:]
  var lastSequence: UInt64
  /// The generation and attempt that spilled pages of an open transaction carry.
  var spillStamp: (generation: UInt32, attempt: UInt16)?
  /// Journal bytes since the last freeze.
  var journalBytes: UInt64 = 0
  /// The same as of the last two freezes: what the journal is likely to need until the next ones.
  var journalPeriods: (last: UInt64, before: UInt64) = (0, 0)

  struct FrozenTable: Equatable {
    var name: [UInt8]
    var root: TreeRoot
  }

  /// The page that a frame was written to.
  struct FramePlace {
    var page: UInt64
    var attempt: UInt16
    var generation: UInt32
  }

  /// The store as of the header's state; the journal has not been replayed yet.
  init(_ parts: OpenedParts) {
    file = parts.file
    runtime = parts.runtime
    options = parts.options
    geometry = parts.header.geometry
    journalBlock = parts.header.journalBlock
    storeID = parts.header.storeID
    memory = parts.memory
    isInMemory = parts.isInMemory
    limits = TreeLimits(pageSize: geometry.pageSize)
    session = parts.session
    freeMap = parts.freeMap
    ring = parts.ring
    header = parts.header
    headerBytes = parts.headerBytes
    headerSlot = parts.headerSlot
    let catalog = parts.tables
    let version = Version(
      sequence: 1, lastOwner: memory.arena.newSubtransaction(), commit: header.commit, base: header.generation,
      directory: catalog.directory, roots: catalog.roots)
    appended = version
    nextLSN = header.nextLSN
    chain = header.chain
    nextTableID = header.nextTableID
    self.catalog = header.catalog
    frozenTables = catalog.frozen
    lastSequence = 1
    writerLock = WriterLock(runtime)
    commits = CommitQueue(version, lsn: header.nextLSN - 1, file: file, runtime: runtime)
    checkpoints = CheckpointState(runtime)
  }

  deinit {
    letGo()
  }

  var isReadOnly: Bool { options.access == .readOnly }

  /// What an open gathers before the core exists.
  struct OpenedParts {
    var file: any StorageFile
    var runtime: any Runtime
    var options: StoreOptions
    var header: Header
    var headerBytes: [UInt8]
    var memory: PageMemory
    var isInMemory: Bool
    var session: UInt64
    var freeMap: FreeMap
    var ring: JournalRing
    var tables: CatalogTables
    var headerSlot: Int
  }

  func nextSequence() -> UInt64 {
    lastSequence += 1
    return lastSequence
  }

  /// Bytes of changed pages at which a checkpoint starts by itself.
  ///
  /// Half of the arena is left for transactions at work and for what snapshots pin.
  var memoryBound: Int {
    min(options.memoryBound ?? Self.defaultMemoryBound, memory.arena.cap << geometry.pageShift / 2)
  }

  private static let defaultMemoryBound = min(256 << 20, physicalMemory() / 8)

  /// Bytes of changed pages that only snapshots reach.
  var pinnedBytes: Int { retired.count << geometry.pageShift }

  /// Bytes of changed pages that the file has not.
  var dirtyBytes: Int { (memory.arena.count - retired.count) << geometry.pageShift }
}
