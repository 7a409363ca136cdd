/// A view of the store as of one commit. It sees nothing of later ones, and blocks nobody.
///
/// It ends when it is given up. Until then the store keeps the pages that it can see; `StoreStatistics` shows what that holds
/// back.
public struct ReadTransaction: ~Copyable, ReadOperations, @unchecked Sendable {
  private let hold: SnapshotHold

  init(_ core: StoreCore) throws(StoreError) {
    let hold = core.commits.snapshots.hold(core)
    try core.requireOpen()
    self.hold = hold
  }

  /// What the reading operations work on; not for programs.
  public var _view: _StoreView {
    get throws(StoreError) {
      try hold.requireSameProcess()
      return _StoreView(
        core: hold.core, directory: hold.version.directory, roots: hold.version.roots, holder: .snapshot(hold.version))
    }
  }

  /// The number of the commit that it sees; grows by one with each.
  public var commitNumber: UInt64 { hold.version.commit }
}
