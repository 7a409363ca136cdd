/// How a store is opened or made.
public struct StoreOptions: Sendable {
  /// What may be done with the store.
  public enum Access: Sendable {
    /// Read and write; takes the store's writer lock. One writer at a time, over all processes.
    case readWrite
    /// Read only; works beside a writer in another process and on read-only media, and writes nothing.
    case readOnly
  }

  /// What the disk promises of a sector.
  public enum JournalBlock: UInt8, Sendable {
    /// A 512-byte sector holds its old or its new content after a power loss, and its neighbours are unchanged.
    case sector = 0
    /// Journal writes are padded to 4 KiB, for disks that cannot promise that of 512 bytes.
    case padded = 1
  }

  /// Where the pages that are read lie.
  public enum PageAccess: Sendable {
    /// In the system's page cache, mapped into the process. A disk that fails when it is asked again for a page which the
    /// system has dropped meanwhile ends the process by a signal, as with every engine that maps its file.
    case mapped
    /// In memory of the process, read page by page at their first use and kept while the store is open. For media that may
    /// fail or vanish: every such failure is thrown. Costs as much memory as is read.
    case copied
  }

  /// What may be done with the store.
  public var access: Access = .readWrite
  /// Where the pages that are read lie.
  public var pageAccess: PageAccess = .mapped
  /// Makes the store if there is none.
  public var createIfMissing = true
  /// Bytes a page, a power of two from 4,096 to 65,536. Used when a store is made, ignored when it exists,
  /// unless `requirePageSize` is set.
  public var pageSize = 8192
  /// Opening a store with another page size than `pageSize` throws `.wrongPageSize`.
  public var requirePageSize = false
  /// What the disk promises of a sector. Used when a store is made.
  public var journalBlock: JournalBlock = .sector
  /// Journal bytes at whose half a checkpoint starts; twice as many block writers.
  public var journalBound = 32 << 20
  /// Bytes of changed pages in memory at whose half a checkpoint starts, and which block writers until it ends; `nil`: 256 MiB,
  /// or an eighth of the machine's memory if that is less.
  public var memoryBound: Int?
  /// The file never grows beyond this many bytes; `nil`: only the disk limits it.
  public var sizeLimit: UInt64?
  /// Opens a store whose journal has lost a transaction that was on the disk, up to that one: later ones are given up, though
  /// they were acknowledged; `StoreStatistics.transactionsGivenUp` says which. Otherwise such an open throws `.journalDamaged`,
  /// and the error says how many there are. `Store.salvage` brings back more.
  public var opensUpToJournalGap = false
  /// How long to wait for another process's writer lock at open, and for this process's writers in `write`.
  public var lockTimeout: Duration = .seconds(5)
  /// Bytes of address space to reserve for the file and changed pages; a store can't grow beyond it.
  package var addressSpace = 1 << 40
  /// Permission bits of a new file, less the process's umask.
  public var fileMode: UInt16 = 0o600

  /// The defaults, for reading and writing.
  public init() {}

  /// The defaults, with what may be done with the store.
  public init(access: Access) { self.access = access }
}

extension StoreOptions {
  func validated() throws(StoreError) -> StoreOptions {
    _ = try FileGeometry(pageSize: pageSize)
    guard journalBound >= 64 << 10, journalBound <= 1 << 30, memoryBound ?? Int.max >= 1 << 20 else {
      throw StoreError(
        .invalidOption, "the journal's or the memory's bound is out of range",
        remedy: "choose a journal bound from 64 KiB to 1 GiB and a memory bound of at least 1 MiB")
    }
    return self
  }
}

/// When a commit returns.
public enum Durability: Sendable {
  /// When it is on the disk: it survives a power loss.
  case durable
  /// When it is in the journal's file: it survives a crash of the process, and a power loss only after a later
  /// durable commit, `flush()` or checkpoint. Never leaves the store inconsistent.
  case relaxed
}
