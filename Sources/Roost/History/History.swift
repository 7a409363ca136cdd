// The protocols of the history, as SwiftData has them, and what changes are.

/// A place in a store's history: what is newer comes after it.
public protocol HistoryToken: Comparable, Codable, Hashable, Identifiable, Sendable {
  associatedtype TokenType: Hashable
  /// What the token is made of.
  var tokenValue: TokenType? { get }
}

/// One save, as the history has it.
public protocol HistoryTransaction: Hashable, Identifiable, Sendable {
  associatedtype TokenType: HistoryToken
  associatedtype TransactionIdentifier: Hashable, Codable, Sendable
  /// When it was saved, by the system's clock.
  var timestamp: Date { get }
  /// What was changed, by model and kind, in the order of identifiers.
  var changes: [HistoryChange] { get }
  /// The place of the save in the history.
  var token: TokenType { get }
  var transactionIdentifier: TransactionIdentifier { get }
  /// The store that was changed.
  var storeIdentifier: String { get }
  /// The `author` of the context that saved.
  var author: String? { get }
}

/// An object was inserted.
public protocol HistoryInsert<Model>: Sendable {
  associatedtype Model: PersistentModel
  associatedtype ChangeIdentifier: Hashable, Sendable
  associatedtype TransactionIdentifier: Hashable, Codable, Sendable
  var changeIdentifier: ChangeIdentifier { get }
  var transactionIdentifier: TransactionIdentifier { get }
  var changedPersistentIdentifier: PersistentIdentifier { get }
}

/// An object was changed.
public protocol HistoryUpdate<Model>: Sendable {
  associatedtype Model: PersistentModel
  associatedtype ChangeIdentifier: Hashable, Sendable
  associatedtype TransactionIdentifier: Hashable, Codable, Sendable
  var changeIdentifier: ChangeIdentifier { get }
  var transactionIdentifier: TransactionIdentifier { get }
  var changedPersistentIdentifier: PersistentIdentifier { get }
  /// The properties whose saved values changed, relationships among them, as far as the model still has them.
  var updatedAttributes: [any PartialKeyPath<Model> & Sendable] { get }
}

/// An object was deleted.
public protocol HistoryDelete<Model>: Sendable {
  associatedtype Model: PersistentModel
  associatedtype ChangeIdentifier: Hashable, Sendable
  associatedtype TransactionIdentifier: Hashable, Codable, Sendable
  var changeIdentifier: ChangeIdentifier { get }
  var transactionIdentifier: TransactionIdentifier { get }
  var changedPersistentIdentifier: PersistentIdentifier { get }
  /// What is left of the object: the values of its attributes with the option `.preserveValueOnDeletion`.
  var tombstone: HistoryTombstone<Model> { get }
}

/// What a save did to one object.
public enum HistoryChange: Sendable {
  case insert(any HistoryInsert)
  case update(any HistoryUpdate)
  case delete(any HistoryDelete)

  /// The object.
  public var changedPersistentIdentifier: PersistentIdentifier {
    switch self {
    case .insert(let change): change.changedPersistentIdentifier
    case .update(let change): change.changedPersistentIdentifier
    case .delete(let change): change.changedPersistentIdentifier
    }
  }
}

/// The values that outlive a deleted object.
public struct HistoryTombstone<Model: PersistentModel>: Sequence, @unchecked Sendable {
  // Unchecked: the key paths of a model's properties capture nothing.
  private let values: [PartialKeyPath<Model>: any Sendable]

  /// Values that were read from a store's bytes, so that nobody else has them.
  init(_ values: [PartialKeyPath<Model>: Any]) {
    // Bounds: Sendable leaves no trace when a program runs, so that the two dictionaries are laid out alike.
    self.values = unsafeBitCast(values, to: [PartialKeyPath<Model>: any Sendable].self)
  }

  /// A property and its value.
  public typealias Element = (key: PartialKeyPath<Model>, value: any Sendable)

  /// The value of a property; nil when it wasn't kept, and when it was nil.
  public subscript(keyPath: PartialKeyPath<Model>) -> (any Sendable)? {
    values[keyPath]
  }

  /// Goes through the values that were kept, in no order.
  public func makeIterator() -> AnyIterator<Element> {
    var rest = values.makeIterator()
    return AnyIterator { rest.next().map { ($0.key, $0.value) } }
  }
}

/// Which saves are wanted.
public struct HistoryDescriptor<Transaction: HistoryTransaction> {
  /// nil: all of them.
  public var predicate: Predicate<Transaction>?
  /// At most so many; 0: any number.
  public var fetchLimit: UInt64 = 0
  /// Empty: oldest first.
  public var sortBy: [SortDescriptor<Transaction>]

  /// Describes the saves that the predicate accepts.
  public init(predicate: Predicate<Transaction>? = nil, sortBy: [SortDescriptor<Transaction>] = []) {
    self.predicate = predicate
    self.sortBy = sortBy
  }
}
