import Foundation
import RoostKV

/// A simulated folder: names that are durable, and changes of names that may be.
///
/// A power loss keeps any of the changes since the last flush. Used by one thread.
package final class SimulatedFolder: StorageFolder, @unchecked Sendable {
  /// A moment between two calls.
  package struct Moment {
    /// What each name may lead to after a power loss: one of these files; nil: there is none.
    package var targets: [String: [SimulatedMedium?]]
    /// How much had happened to each file.
    package var positions: [ObjectIdentifier: Int]
  }

  private let flaw: DriverFlaw?
  /// What the system shows.
  package private(set) var names: [String: SimulatedMedium] = [:]
  private var durable: [String: SimulatedMedium] = [:]
  private var pending: [(name: String, target: SimulatedMedium?)] = []
  private var media: [SimulatedMedium] = []
  package private(set) var moments: [Moment] = []

  package init(flaw: DriverFlaw? = nil) {
    self.flaw = flaw
    record()
  }

  package func makeFile(_ name: String, permissions: UInt16) throws(StoreError) -> any StorageFile {
    guard names[name] == nil else {
      throw StoreError(.fileExists, "There is a file of that name", remedy: "choose another name", path: name)
    }
    let medium = SimulatedMedium()
    media.append(medium)
    change(name, to: medium)
    return SimulatedDisk(medium, in: self)
  }

  package func name(_ file: String, _ name: String) throws(StoreError) {
    guard names[name] == nil, let medium = names[file] else { return }
    change(name, to: medium)
  }

  package func remove(_ name: String) {
    if names[name] != nil { change(name, to: nil) }
  }

  package func flush() throws(StoreError) {
    if flaw == .folderFlushForgotten { return }
    durable = names
    pending = []
    record()
  }

  private func change(_ name: String, to target: SimulatedMedium?) {
    record()
    names[name] = target
    pending.append((name, target))
    record()
  }

  /// Notes the moment, with what has happened to the files by now.
  package func record() {
    var targets: [String: [SimulatedMedium?]] = [:]
    for name in Set(durable.keys).union(pending.map(\.name)) {
      targets[name] = [durable[name]] + pending.filter { $0.name == name }.map(\.target)
    }
    let positions = media.map { (ObjectIdentifier($0), $0.operationCount) }
    moments.append(Moment(targets: targets, positions: Dictionary(uniqueKeysWithValues: positions)))
  }
}
