extension ModelContext {
  /// Posted by a context before it saves, on the thread that saves.
  public static let willSave = Notification.Name("ModelContext.willSave")
  /// Posted by a context after it has saved, on the thread that saves. The user info has the saved objects'
  /// identifiers, under the raw values of `NotificationKey`.
  public static let didSave = Notification.Name("ModelContext.didSave")
  /// Posted when a context couldn't save by itself; the user info has the error under "error". The changes
  /// are kept, and saved with the next ones.
  public static let autosaveFailed = Notification.Name("ModelContext.autosaveFailed")

  /// The keys of the user info of `didSave`.
  public enum NotificationKey: String, Sendable {
    /// The number of the commit.
    case queryGeneration
    /// Always false: the identifiers are listed.
    case invalidatedAllIdentifiers
    case insertedIdentifiers
    case updatedIdentifiers
    case deletedIdentifiers
  }
}

/// What a save did, as `didSave` reports it.
struct SavedChanges {
  var commit: UInt64 = 0
  var inserted: [PersistentIdentifier] = []
  var updated: [PersistentIdentifier] = []
  var deleted: [PersistentIdentifier] = []

  var userInfo: [String: Any] {
    [
      ModelContext.NotificationKey.queryGeneration.rawValue: commit,
      ModelContext.NotificationKey.invalidatedAllIdentifiers.rawValue: false,
      ModelContext.NotificationKey.insertedIdentifiers.rawValue: inserted,
      ModelContext.NotificationKey.updatedIdentifiers.rawValue: updated,
      ModelContext.NotificationKey.deletedIdentifiers.rawValue: deleted,
    ]
  }
}
