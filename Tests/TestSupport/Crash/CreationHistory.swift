import RoostKV

/// Makes a store and commits to it, with a power loss at any moment, and the end of the process at any change of the
/// folder.
///
/// A crash leaves no file of the store's name, or one that opens; and once the first commit is acknowledged, the
/// latter.
package struct CreationHistory {
  private static let name = "store"

  private let findings: CrashFindings
  private let flaw: DriverFlaw?
  private let options = StoreOptions.simulated()
  private let resolver = CrashResolver()

  package init(_ findings: CrashFindings, flaw: DriverFlaw? = nil) {
    self.findings = findings
    self.flaw = flaw
  }

  package func judge() {
    // Creation changes the folder so many times: the process ends after each of them, and another one goes on.
    for changes in 0..<4 { judge(endingAfter: changes) }
  }

  private func judge(endingAfter changes: Int) {
    let runtime = ScheduledRuntime(seed: UInt64(changes))
    let folder = SimulatedFolder(flaw: flaw)
    do {
      try create(in: EndingFolder(folder: folder, changes: changes), runtime)
      if folder.names[Self.name] == nil { try create(in: EndingFolder(folder: folder, changes: Int.max), runtime) }
      let created = folder.moments.count
      guard let medium = folder.names[Self.name] else { throw Complaint("there is no file") }
      let empty = ContentDigest()
      var reference = ReferenceStore()
      reference.tables["t"] = [[1]: [2]]
      let full = ContentDigest(reference)
      let store = try Store.open(SimulatedDisk(medium, in: folder), options, runtime: runtime)
      folder.record()
      try store.write { try $0.put([1], [2], in: try $0.createTable("t")) }
      let acknowledged = folder.moments.count
      folder.record()
      for (index, moment) in folder.moments.enumerated() {
        let isAcknowledged = index >= acknowledged
        let after = index + 1 < folder.moments.count ? folder.moments[index + 1] : nil
        try judge(
          moment, until: after, isAcknowledged ? [full] : index < created ? [empty] : [empty, full], isAcknowledged)
      }
    } catch {
      findings.violated("creation, the process ends after change \(changes) of the folder", "\(error)")
    }
  }

  private func create(in folder: EndingFolder, _ runtime: ScheduledRuntime) throws {
    do {
      try folder.create(Self.name, try Store.emptyFile(options, runtime: runtime), permissions: 0o600, runtime)
    } catch {
      if !folder.hasEnded { throw error }
    }
  }

  /// All crashes from one moment of the folder to the next.
  private func judge(
    _ moment: SimulatedFolder.Moment, until next: SimulatedFolder.Moment?, _ allowed: [ContentDigest],
    _ isAcknowledged: Bool
  ) throws {
    for target in moment.targets[Self.name] ?? [nil] {
      guard let target else {
        if isAcknowledged { throw Complaint("a commit was acknowledged, and the file has no name") }
        continue
      }
      let first = moment.positions[ObjectIdentifier(target)] ?? 0
      let last = max(first, next?.positions[ObjectIdentifier(target)] ?? first)
      var state = DiskState(DiskImage())
      for (position, operation) in target.operations.prefix(last).enumerated() {
        state.apply(operation)
        if position + 1 >= first { try judge(state, allowed) }
      }
    }
  }

  private func judge(_ state: DiskState, _ allowed: [ContentDigest]) throws {
    for choice in CrashStates(state, limit: 40, seed: state.hashSum) {
      resolver.resolve(state, choice)
      let hash = resolver.hash
      let store = try Store.open(
        SimulatedDisk(SimulatedMedium(state.crash(choice))), options, runtime: ScheduledRuntime(seed: hash))
      let found = try store.read { try ContentDigest($0) }
      guard allowed.contains(found) else { throw Complaint("the store opens to a state that is not allowed") }
      guard try store.check().isSound else { throw Complaint("the check finds a problem") }
      findings.record(hash, .content(found))
    }
  }
}

/// A folder whose user ends after some changes of it: what it does then has no effect any more.
private final class EndingFolder: StorageFolder {
  private let folder: SimulatedFolder
  private var left: Int
  var hasEnded: Bool { left < 0 }

  init(folder: SimulatedFolder, changes: Int) {
    self.folder = folder
    left = changes
  }

  private func take() throws(StoreError) {
    left -= 1
    if hasEnded { throw StoreError(.ioError, "The process has ended", remedy: "none") }
  }

  func makeFile(_ name: String, permissions: UInt16) throws(StoreError) -> any StorageFile {
    try take()
    return try folder.makeFile(name, permissions: permissions)
  }

  func name(_ file: String, _ name: String) throws(StoreError) {
    try take()
    try folder.name(file, name)
  }

  func remove(_ name: String) {
    left -= 1
    if !hasEnded { folder.remove(name) }
  }

  func flush() throws(StoreError) {
    try take()
    try folder.flush()
  }
}
