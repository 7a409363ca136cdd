/// What to fetch, in which order, and how many.
public struct FetchDescriptor<T: PersistentModel>: Equatable, @unchecked Sendable {
  // Sendable by hand: key paths and predicates are immutable, only the type system doesn't know of
  // the key paths.

  /// Which objects; `nil`: all of `T`.
  public var predicate: Predicate<T>?
  /// The order, the first descriptor weighing most. Objects that all of them find equal come in the
  /// order of their identifiers, so that the same store always gives the same result.
  public var sortBy: [SortDescriptor<T>]
  /// At most so many; `nil`: all. Zero or less gives none.
  public var fetchLimit: Int?
  /// Leaves out so many at the beginning.
  public var fetchOffset: Int?
  /// Lays the context's unsaved changes over the store's content. Without it the result has saved
  /// objects only, chosen by their saved values.
  public var includePendingChanges = true
  /// Accepted for compatibility; objects are always read whole, since a record is one value.
  public var propertiesToFetch: [PartialKeyPath<T>] = []
  /// To-one relationships whose objects are read together with the result.
  public var relationshipKeyPathsForPrefetching: [PartialKeyPath<T>] = []

  public init(predicate: Predicate<T>? = nil, sortBy: [SortDescriptor<T>] = []) {
    self.predicate = predicate
    self.sortBy = sortBy
  }

  /// Predicates have no equality of their own: two descriptors with predicates are equal when these
  /// read the same.
  public static func == (a: Self, b: Self) -> Bool {
    a.sortBy == b.sortBy && a.fetchLimit == b.fetchLimit && a.fetchOffset == b.fetchOffset
      && a.includePendingChanges == b.includePendingChanges && a.propertiesToFetch == b.propertiesToFetch
      && a.relationshipKeyPathsForPrefetching == b.relationshipKeyPathsForPrefetching
      && a.predicateText == b.predicateText
  }

  private var predicateText: String? { predicate.map { String(describing: $0.expression) } }
}
