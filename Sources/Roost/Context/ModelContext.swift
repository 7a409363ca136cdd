/// The place where objects are fetched, changed and saved.
///
/// A context belongs to one thread or actor at a time, and so do its objects. What a context has fetched is
/// the same object each time. Changes stay in the context until `save()`, or until the context saves by
/// itself (see `autosaveEnabled`).
///
/// Objects keep the store open; the context saves or discards their changes when it is released.
public final class ModelContext: Equatable {
  let core: ContextCore
  /// Nil for a container's main context, which the container owns.
  private let strongContainer: ModelContainer?
  private weak var weakContainer: ModelContainer?

  /// A context of its own, which saves when told to.
  public convenience init(_ container: ModelContainer) {
    self.init(ContextCore(container.store), container: container, isMain: false)
  }

  init(_ core: ContextCore, container: ModelContainer?, isMain: Bool) {
    self.core = core
    strongContainer = isMain ? nil : container
    weakContainer = container
    core.handle = self
    core.autosave.isMain = isMain
    core.autosave.isEnabled = isMain
  }

  deinit {
    core.close()
  }

  public static func == (a: ModelContext, b: ModelContext) -> Bool { a === b }

  /// The container of the context's store.
  public var container: ModelContainer {
    strongContainer ?? weakContainer ?? ModelContainer(core.store)
  }

  /// Whether the context saves by itself: once per turn of the main actor in which something changed, and
  /// when it is released. On for a container's main context, off for others.
  public var autosaveEnabled: Bool {
    get { core.autosave.isEnabled }
    set {
      core.autosave.isEnabled = newValue
      if newValue && core.hasChanges { core.scheduleAutosave() }
    }
  }

  /// Who makes the changes, for the store's history.
  public var author: String? {
    get { core.author }
    set { core.author = newValue }
  }

  /// What happens when a save would overwrite a property that another context has saved since this one
  /// read it. Properties that only one of them changed are merged in any case.
  public enum ConflictPolicy: Sendable {
    /// This context's value is saved.
    case contextWins
    /// The saved value stays.
    case storeWins
    /// The save throws.
    case fails
  }

  /// What to do about conflicts.
  public var conflictPolicy: ConflictPolicy {
    get { core.conflictPolicy }
    set { core.conflictPolicy = newValue }
  }

  // MARK: - Changes

  /// Whether there is anything to save.
  public var hasChanges: Bool {
    core.settle()
    return core.hasChanges
  }

  /// Objects inserted and not saved yet, in the order of insertion.
  public var insertedModelsArray: [any PersistentModel] {
    core.settle()
    return core.changes(of: .inserted).map(\.model)
  }

  /// Saved objects with unsaved changes, in the order in which they were first changed.
  public var changedModelsArray: [any PersistentModel] {
    core.settle()
    return core.changes(of: .updated).map(\.model)
  }

  /// Objects deleted, whose deletion isn't saved yet.
  public var deletedModelsArray: [any PersistentModel] {
    core.settle()
    return core.changes(of: .deleted).map(\.model)
  }

  /// Inserts an object and all objects that it reaches. They have their final identifiers from then on.
  ///
  /// What can't be inserted, an object of another context or of a model that the schema doesn't have, makes
  /// the next `save()` throw.
  public func insert<T: PersistentModel>(_ model: T) {
    core.insert(model)
  }

  /// Marks an object deleted; its relationships' delete rules apply. The deletion is stored by the next save.
  public func delete<T: PersistentModel>(_ model: T) {
    core.delete(model)
  }

  /// Marks all objects deleted that the predicate accepts.
  ///
  /// - Throws: what `fetch` throws.
  public func delete<T: PersistentModel>(
    model: T.Type, where predicate: Predicate<T>? = nil, includeSubclasses: Bool = true
  ) throws {
    for object in try fetch(FetchDescriptor<T>(predicate: predicate)) {
      if includeSubclasses || Swift.type(of: object) == T.self { core.delete(object) }
    }
  }

  /// Makes relationships' other sides and deletions follow what was changed.
  public func processPendingChanges() {
    core.settle()
  }

  /// Stores all changes as one commit, which is durable when this returns.
  ///
  /// - Throws: `RoostError` when the changes can't be stored as they are, `StoreError` when the store
  ///   can't write. The context keeps its changes then and the store is as it was.
  public func save() throws {
    try core.save()
  }

  /// Gives up all changes since the last save: inserted objects are no longer the context's, changed and
  /// deleted ones are as they were.
  public func rollback() {
    core.rollback()
  }

  /// Runs `block` and saves.
  ///
  /// - Throws: what `block` or `save()` throws. What was changed stays changed in the context.
  public func transaction(block: () throws -> Void) throws {
    try block()
    try save()
  }

  // MARK: - Objects by identifier

  /// The object with this identifier if the context has it at hand.
  public func registeredModel<T: PersistentModel>(for identifier: PersistentIdentifier) -> T? {
    core.registered(identifier) as? T
  }

  /// The object with this identifier. When there is none, an object of its model that is deleted and has
  /// neutral values; when the schema hasn't its model either, a deleted object of no model that can be named.
  public func model(for identifier: PersistentIdentifier) -> any PersistentModel {
    core.model(identifier)
  }
}

extension ModelContext: CustomDebugStringConvertible {
  public var debugDescription: String {
    "ModelContext(\(core.identities.count) objects, \(core.changes.count) with changes)"
  }
}

extension PersistentModel {
  /// The context that the object belongs to; nil before it is inserted, after its deletion was saved and
  /// when the context is gone.
  public var modelContext: ModelContext? {
    (_$state.context as? ContextCore)?.handle
  }
}
