/// A store: tables of sorted key-value entries in one file.
///
/// Any number of threads and tasks may use a store at once. Readers see the state of one commit and block nobody; writers
/// take turns. One process at a time has a store open for writing, others may read beside it.
public final class Store: Sendable {
  let core: StoreCore

  init(_ core: StoreCore) { self.core = core }

  deinit {
    core.abandon()
  }

  /// Opens the store at `path`, or makes one there. Costs the same for any size of store; after a crash it takes the time to
  /// read the journal, which is bounded.
  ///
  /// A file that cannot be opened is not touched.
  /// - Throws: `notFound`, `notAStore`, `emptyFile`, `truncated`, `newerFormat`, `wrongPageSize`, `locked`, `lockTimeout`,
  ///   `headerDamaged`, `pageDamaged`, `catalogDamaged`, `journalDamaged`, `invalidOption`, `ioError` …
  public static func open(_ path: String, _ options: StoreOptions = StoreOptions()) throws(StoreError) -> Store {
    Store(try StoreCore.open(path, try options.validated(), SystemRuntime()))
  }

  /// Opens the store in a file that the caller has opened, which may be a simulated one.
  package static func open(
    _ file: any StorageFile, _ options: StoreOptions, runtime: any Runtime = SystemRuntime()
  ) throws(StoreError) -> Store {
    Store(try StoreCore.open(file, try options.validated(), runtime))
  }

  /// The bytes of a new, empty store.
  package static func emptyFile(
    _ options: StoreOptions, runtime: any Runtime = SystemRuntime()
  ) throws(StoreError) -> [UInt8] {
    try NewStore(options, runtime).bytes()
  }

  /// Makes a store in memory alone, which is gone when the last reference to it is.
  public static func inMemory(_ options: StoreOptions = StoreOptions()) throws(StoreError) -> Store {
    Store(try StoreCore.inMemory(try options.validated(), SystemRuntime()))
  }

  /// The file's absolute path; `nil` for a store in memory.
  public var path: String? { core.isInMemory ? nil : core.file.path }
  /// Whether it was opened for reading only.
  public var isReadOnly: Bool { core.isReadOnly }
  /// Bytes a page.
  public var pageSize: Int { core.geometry.pageSize }
  /// Bytes of the longest key: a quarter of a page.
  public var maximumKeyLength: Int { core.limits.maximumKey }

  // MARK: Reading

  /// Runs `body` on a view of the newest commit.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    try body(try ReadTransaction(core))
  }

  /// The same for a body that suspends; the view stays as it is meanwhile.
  public func read<R>(_ body: (borrowing ReadTransaction) async throws -> R) async throws -> R {
    try await body(try ReadTransaction(core))
  }

  /// A view of the newest commit that lasts as long as it is held.
  public func snapshot() throws(StoreError) -> ReadTransaction { try ReadTransaction(core) }

  /// For a store opened read-only: takes in what the writer has committed since. Views that exist stay as they are.
  public func refresh() throws(StoreError) {
    try core.requireOpen()
    if core.isReadOnly { try core.refresh() }
  }

  // MARK: Writing

  /// Runs `body` as a transaction: commits when it returns, rolls back when it throws. Blocks its thread while another
  /// writer is at work, and until the commit is durable.
  public func write<R>(
    _ durability: Durability = .durable, _ body: (inout WriteTransaction) throws -> R
  ) throws -> R {
    var transaction = try beginWrite()
    let result = try body(&transaction)
    try transaction.commit(durability) as Void
    return result
  }

  /// The same, but suspends the task where the other would block. Commits of tasks share flushes.
  /// - Throws: also `cancelled`, when the task is cancelled while it waits for its turn; once `body` runs, it runs to its end.
  public func write<R: Sendable>(
    _ durability: Durability = .durable, _ body: @Sendable (inout WriteTransaction) throws -> R
  ) async throws -> R {
    var transaction = WriteTransaction(try await core.beginWriteAsync())
    let result = try body(&transaction)
    try await transaction.commit(durability)
    return result
  }

  /// Begins a transaction by hand. Waits for the writer before it, at most `StoreOptions.lockTimeout`.
  /// - Throws: `lockTimeout`, `readOnly`, `closed`, `suspended`, and the error of a write or flush that failed before.
  public func beginWrite() throws(StoreError) -> WriteTransaction { WriteTransaction(try core.beginWrite()) }

  /// A transaction that, however large, leaves the file with the very bytes it had when it is given up: what it writes ahead
  /// goes behind the file's end, which is cut off again.
  package func beginWriteKeepingFile() throws(StoreError) -> WriteTransaction {
    WriteTransaction(try core.beginWrite(keepsFile: true))
  }

  // MARK: Upkeep

  /// Makes every commit so far durable.
  public func flush() throws(StoreError) {
    try core.requireOpen()
    if core.isInMemory || core.isReadOnly { return }
    try core.commits.flushAll()
  }

  /// Brings the trees in the file up to date, so that the journal is empty. Happens by itself; readers and writers go on
  /// meanwhile.
  public func checkpoint() throws(StoreError) {
    try core.requireOpen()
    if core.isReadOnly { return }
    try core.checkpoint()
  }

  /// Checkpoints and gives the file's locks back, for instance before the system suspends the process: until `resume`, other
  /// processes may write the store, and every call here throws `suspended`. Waits for open transactions, snapshots and cursors.
  /// - Throws: `lockTimeout` when they don't end within `StoreOptions.lockTimeout`; the store then stays as it was.
  public func suspend() throws(StoreError) { try core.suspend() }

  /// Takes the file's locks again and sees what others have committed meanwhile. Nothing happens unless the store is suspended.
  /// - Throws: `lockTimeout` while another process writes, `fileReplaced`, and what `open` throws; the store then stays suspended.
  public func resume() throws(StoreError) { try core.resume() }

  /// Checkpoints, gives unused space at the file's end back, and lets go of the file. Later calls throw `closed`. Views that are
  /// still held stay valid; the file stays locked until the last of them ends. A store that is given up without `close` loses
  /// nothing: its next open replays the journal.
  public func close() throws(StoreError) { try core.close() }

  // MARK: Looking in

  /// Walks the whole store and reports everything that is wrong with it. Reads every page and value from the file; others go on
  /// meanwhile. O(size of the store).
  public func check() throws(StoreError) -> CheckReport { try StoreCheck.run(core) }

  /// What the store holds and costs at the moment.
  public func stats() throws(StoreError) -> StoreStatistics { try core.statistics() }
}
