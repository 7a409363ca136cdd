import RoostKV
import Synchronization

/// An engine store that is open in this process, shared by all containers of its file.
final class OpenFile: Sendable {
  let engine: Store
  /// What the store is named in identifiers.
  let identifier: String
  let numbers: NumberSource
  private let state: Mutex<State>

  struct State {
    /// The generation of the schema that this process knows.
    var generation: UInt64
    /// The digest of that schema.
    var digest: UInt64
    /// The schema's row `current` as it was last read with that generation.
    var row: [UInt8] = []
  }

  /// What opening the file changed in it.
  let report: MigrationReport?
  private let closesEngine: Bool

  init(
    _ engine: Store, identifier: String, nextNumber: UInt64, generation: UInt64, digest: UInt64,
    closesEngine: Bool = true, report: MigrationReport? = nil
  ) {
    self.report = report
    self.closesEngine = closesEngine
    self.engine = engine
    self.identifier = identifier
    numbers = NumberSource(next: nextNumber)
    state = Mutex(State(generation: generation, digest: digest))
  }

  deinit {
    if closesEngine { try? engine.close() }
  }

  var generation: UInt64 { state.withLock(\.generation) }
  var digest: UInt64 { state.withLock(\.digest) }

  /// Whether a row `current` says the generation that this process knows.
  func isKnown(
    _ row: UnsafeRawBufferPointer, _ generation: ([UInt8]) throws -> UInt64
  ) throws -> Bool {
    if state.withLock({ row.elementsEqual($0.row) }) { return true }
    let bytes = Array(row)
    let read = try generation(bytes)
    return state.withLock { state in
      guard state.generation == read else { return false }
      state.row = bytes
      return true
    }
  }

  /// This process has changed what the store knows of its schema.
  func didChangeSchema(generation: UInt64, digest: UInt64) {
    state.withLock { $0 = State(generation: generation, digest: digest) }
  }
}

/// The files that are open in this process. A file has one engine store however many containers it has.
enum OpenFiles {
  private struct Entry {
    weak var file: OpenFile?
    /// Held while the file is being opened.
    let opening = NSLock()
  }

  private static let entries = Mutex<[String: Entry]>([:])

  /// The open file of a configuration, or what `open` makes.
  static func file(_ configuration: ModelConfiguration, _ open: () throws -> OpenFile) throws -> OpenFile {
    if configuration.isStoredInMemoryOnly { return try open() }
    let path = configuration.url.standardizedFileURL.resolvingSymlinksInPath().path
    let key = (configuration.allowsSave ? "w" : "r") + path
    let opening = entries.withLock { entries in
      entries = entries.filter { $0.key == key || $0.value.file != nil }
      if let entry = entries[key] { return entry.opening }
      let entry = Entry()
      entries[key] = entry
      return entry.opening
    }
    return try opening.withLock {
      if let file = entries.withLock({ $0[key]?.file }) { return file }
      let file = try open()
      entries.withLock { $0[key, default: Entry()].file = file }
      return file
    }
  }
}
