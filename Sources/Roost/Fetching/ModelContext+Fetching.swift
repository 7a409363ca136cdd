extension ModelContext {
  /// The objects that match, each the same object as before if the context has it.
  ///
  /// The result is what filtering all objects by the predicate and sorting them would give.
  ///
  /// - Throws: `RoostError` when `T` is none of the container's models, what the predicate throws, and
  ///   `StoreError` when the store can't be read.
  /// - Complexity: O(matching rows) with an index for the predicate, otherwise O(rows).
  public func fetch<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> [T] {
    try core.fetch(descriptor)
  }

  /// How many objects match, with regard to limit and offset.
  ///
  /// - Complexity: O(1) without a predicate. Makes no objects unless there are unsaved changes or the
  ///   predicate can't be decided from records.
  public func fetchCount<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> Int {
    try core.fetchCount(descriptor)
  }

  /// The identifiers of the objects that match.
  public func fetchIdentifiers<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws
    -> [PersistentIdentifier]
  {
    try core.fetchIdentifiers(descriptor)
  }

  /// Calls `block` with each object that matches, keeping only so many at a time.
  ///
  /// - Parameters:
  ///   - batchSize: how many objects are fetched at a time.
  ///   - allowEscapingMutations: whether `block` may leave objects with unsaved changes behind.
  /// - Throws: what `fetch` and `block` throw, and `RoostError` when objects were changed that may not be.
  public func enumerate<T: PersistentModel>(
    _ descriptor: FetchDescriptor<T>, batchSize: Int = 5000, allowEscapingMutations: Bool = false,
    block: (T) throws -> Void
  ) throws {
    let identifiers = try fetchIdentifiers(descriptor)
    let entity = try core.store.entity(T.self)
    let known = core.changes.count
    for start in stride(from: 0, to: identifiers.count, by: max(batchSize, 1)) {
      let batch = identifiers[start..<min(start + max(batchSize, 1), identifiers.count)]
      for model in core.objects(batch.map(\.number), entity, as: T.self) { try block(model) }
      guard allowEscapingMutations || core.changes.count <= known else {
        throw RoostError(
          .invalidFetch, "Objects were changed while they were enumerated, and not saved",
          remedy: "save in the block, or pass allowEscapingMutations: true", entity: entity.name)
      }
    }
  }
}
