/// How a store is salvaged.
public struct SalvageOptions: Sendable {
  /// The damaged store's id, 32 hexadecimal digits as `StoreStatistics.storeID` and `roost info` give them. Needed when both
  /// headers are unreadable, for every checksum in the file depends on it.
  public var storeID: String?
  /// Permission bits of the new file, less the process's umask.
  public var fileMode: UInt16 = 0o600

  /// For a store of which at least one header can be read.
  public init() {}

  /// For a store whose id is known from elsewhere.
  public init(storeID: String?) { self.storeID = storeID }
}

/// How far a salvage has come.
public struct SalvageProgress: Sendable {
  /// What is being done.
  public enum Phase: String, Sendable {
    /// Following the trees; `done` counts pages.
    case walking
    /// Looking through pages that no tree leads to; `done` of `total` pages.
    case scanning
    /// Writing the new store; `done` counts entries.
    case writing
  }

  /// What is being done.
  public var phase: Phase
  /// How much of it is done, in what the phase counts.
  public var done: UInt64
  /// How much there is to do, where that is known.
  public var total: UInt64?
}

/// What a salvage has brought back, and what is lost.
public struct SalvageReport: Sendable {
  /// Where the newest state was learned from.
  public enum Origin: String, Sendable {
    /// A header, of which one copy is enough.
    case header
    /// No header could be read: the newest pages that fit together were taken for the newest state.
    case scan
  }

  /// A piece of a table that could not be read where it belongs.
  public struct Loss: Sendable, Hashable {
    /// The unreadable page.
    public var page: UInt64
    /// What is wrong with it, for people.
    public var reason: String
    /// Keys from here on, up to and without `upper`, lay on the page or below it; `nil`: no bound.
    public var lower: [UInt8]?
    /// Where the keys end, see `lower`.
    public var upper: [UInt8]?
    /// Entries that lay there as of the newest checkpoint.
    public var entries: UInt64
    /// How many of `entries` were found elsewhere.
    public var recovered: UInt64
  }

  /// What became of one table.
  public struct TableResult: Sendable {
    /// The name in the new store.
    public var name: String
    /// The id in the damaged store.
    public var id: UInt32
    /// Whether the name is the table's own; else the list of tables has lost it, and the name was made up or is an older one.
    public var isNameKnown: Bool
    /// Entries in the new store.
    public internal(set) var entries: UInt64 = 0
    /// Entries on pages found only by scanning.
    public internal(set) var scanned: UInt64 = 0
    /// Entries of which nothing in the file says that they belong to the newest state: the newest page was taken for each
    /// key, and a key deleted since, or an older value, may be among them.
    public internal(set) var uncertain: UInt64 = 0
    /// Parts of the table that could not be read where they belong.
    public internal(set) var losses: [Loss] = []
    /// Keys whose large value could not be read.
    public internal(set) var lostValues: UInt64 = 0

    /// Entries as of the newest checkpoint that did not come back, large values not counted, as far as that is known.
    public var lostEntries: UInt64 { losses.reduce(0) { $0 &+ ($1.entries - min($1.entries, $1.recovered)) } }
    /// Whether all of the table is known to have come back.
    public var isWhole: Bool { losses.isEmpty && lostValues == 0 && uncertain == 0 }
  }

  /// What became of the commits since the newest checkpoint.
  public struct Journal: Sendable {
    /// Transactions whose changes are in the new store.
    public internal(set) var applied: UInt64 = 0
    /// Numbers of transactions that had been on the disk, or stand before one that had, and are missing.
    public internal(set) var missing: [ClosedRange<UInt64>] = []
    /// Records of applied transactions that could not be carried out: large values that are unreadable, records that make
    /// no sense.
    public internal(set) var lostRecords: UInt64 = 0
    /// Whether every segment of the journal could be found and read.
    public internal(set) var isReadable = true
    /// Whether it is known with which transaction the journal begins. Else the newest unbroken row of them was applied.
    public internal(set) var isStartKnown = true

    /// Whether all of the journal is known to have been carried out.
    public var isWhole: Bool { missing.isEmpty && lostRecords == 0 && isReadable && isStartKnown }
  }

  /// Where the newest state was learned from.
  public internal(set) var origin = Origin.header
  /// The damaged store's id, where it is known; the new store has another one.
  public internal(set) var storeID: String?
  /// Bytes a page, in both stores.
  public internal(set) var pageSize = 0
  /// Header slots that could be read, 0 to 2.
  public internal(set) var headers = 0
  /// The newest checkpoint found.
  public internal(set) var generation: UInt32 = 0
  /// Whether the list of tables could be read whole; else tables without entries may be lost, and names.
  public internal(set) var isCatalogWhole = true
  /// Pages of the input.
  public internal(set) var pages: UInt64 = 0
  /// Pages that the state needs and that could not be read.
  public internal(set) var damagedPages: [UInt64] = []
  /// The tables of the new store, by name.
  public internal(set) var tables: [TableResult] = []
  /// The commits since the newest checkpoint.
  public internal(set) var journal = Journal()

  /// Entries in the new store.
  public var entries: UInt64 { tables.reduce(0) { $0 &+ $1.entries } }

  /// Whether every entry of the newest state is known to have come back. Both header copies need not be readable for that.
  public var isComplete: Bool {
    isCatalogWhole && journal.isWhole && tables.allSatisfy { $0.isWhole }
  }
}

extension SalvageReport.Journal {
  mutating func addMissing(_ range: ClosedRange<UInt64>) { missing.append(range) }
}
