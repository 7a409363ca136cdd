/// A view of the store as of one commit. It sees nothing of later ones, and blocks nobody.
///
/// It ends when it is given up. Until then the store keeps the pages that it can see; `StoreStatistics` shows what that holds
/// back.
public struct ReadTransaction: ~Copyable, ReadOperations, @unchecked Sendable {
  private let snapshot: Snapshot

  init(_ core: StoreCore) throws(StoreError) {
    try core.requireOpen()
    snapshot = Snapshot(core)
  }

  public var _view: _StoreView {
    _StoreView(
      core: snapshot.core, directory: snapshot.version.directory, roots: snapshot.version.roots,
      holder: .snapshot(snapshot))
  }

  /// The number of the commit that it sees; grows by one with each.
  public var commitNumber: UInt64 { snapshot.version.commit }
}

/// A hold on a version, shared by a transaction and its cursors.
final class Snapshot: Sendable {
  let core: StoreCore
  let version: Version

  init(_ core: StoreCore) {
    self.core = core
    version = core.commits.pinVisible()
  }

  deinit {
    core.commits.unpin(version)
  }
}
