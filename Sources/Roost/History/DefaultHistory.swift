/// A place in the history of a store: the number of a commit.
public struct DefaultHistoryToken: HistoryToken {
  let store: String
  let commit: UInt64

  init(store: String, commit: UInt64) {
    self.store = store
    self.commit = commit
  }

  /// The number of the commit by the store's identifier.
  public var tokenValue: [String: Int64]? { [store: Int64(clamping: commit)] }

  /// The token itself.
  public var id: Self { self }

  /// Tokens of one store are in the order of its commits.
  public static func < (a: Self, b: Self) -> Bool { (a.store, a.commit) < (b.store, b.commit) }
}

/// One save of a context.
public struct DefaultHistoryTransaction: HistoryTransaction {
  let row: HistoryRow
  let reader: HistoryReader
  /// The place of the save in the history.
  public let token: DefaultHistoryToken

  /// When it was saved, by the system's clock.
  public var timestamp: Date { Date(timeIntervalSinceReferenceDate: row.date) }
  /// The number of the commit.
  public var transactionIdentifier: Int64 { Int64(clamping: token.commit) }
  /// The store that was changed.
  public var storeIdentifier: String { token.store }
  /// The `author` of the context that saved.
  public var author: String? { row.author }
  /// The number of the commit.
  public var id: Int64 { transactionIdentifier }

  /// What was changed, insertions before updates before deletions for each model. Those of models that the
  /// container doesn't have are left out. Made anew with each call, in O(changes).
  public var changes: [HistoryChange] { reader.changes(of: row, token.commit) }

  public static func == (a: Self, b: Self) -> Bool { a.token == b.token }
  public func hash(into hasher: inout Hasher) { hasher.combine(token) }
}

/// A save's insertion of an object.
public struct DefaultHistoryInsert<Model: PersistentModel>: HistoryInsert {
  /// The place among the save's changes.
  public let changeIdentifier: Int64
  /// The number of the commit.
  public let transactionIdentifier: Int64
  /// The object.
  public let changedPersistentIdentifier: PersistentIdentifier
}

/// A save's change of an object.
public struct DefaultHistoryUpdate<Model: PersistentModel>: HistoryUpdate, @unchecked Sendable {
  // Unchecked: the key paths of a model's properties capture nothing.
  /// The place among the save's changes.
  public let changeIdentifier: Int64
  /// The number of the commit.
  public let transactionIdentifier: Int64
  /// The object.
  public let changedPersistentIdentifier: PersistentIdentifier
  let keyPaths: [PartialKeyPath<Model>]

  /// The properties whose saved values changed, as far as the model still has them. O(properties changed).
  public var updatedAttributes: [any PartialKeyPath<Model> & Sendable] {
    // Bounds: Sendable leaves no trace when a program runs, so that these are the same references.
    unsafeBitCast(keyPaths, to: [any PartialKeyPath<Model> & Sendable].self)
  }

  /// Whether the property was changed.
  public func containsAttribute(_ keyPath: PartialKeyPath<Model>) -> Bool { keyPaths.contains(keyPath) }
}

/// A save's deletion of an object.
public struct DefaultHistoryDelete<Model: PersistentModel>: HistoryDelete {
  /// The place among the save's changes.
  public let changeIdentifier: Int64
  /// The number of the commit.
  public let transactionIdentifier: Int64
  /// The object.
  public let changedPersistentIdentifier: PersistentIdentifier
  /// What is left of the object.
  public let tombstone: HistoryTombstone<Model>
}
