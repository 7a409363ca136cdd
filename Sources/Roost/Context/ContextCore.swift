/// What a context is behind its handle: the registered objects and their unsaved changes.
///
/// Registered objects hold the core; the core holds only those with unsaved changes. So a context whose
/// handle is gone lives as long as its objects need it to follow relationships.
final class ContextCore: ModelContextCore {
  let store: ModelStore
  /// The handle; nil once the program has let go of it.
  weak var handle: ModelContext?

  var identities = IdentityMap()
  /// Objects with unsaved changes, by number.
  var changes: [UInt64: Change] = [:]
  var sequence = 0

  /// Relationships that the program has changed and whose inverses don't follow yet.
  var unsettled: [LinkKey] = []
  /// One of them is such that its settling may change others.
  var hasEntangled = false
  /// Deleted objects whose delete rules haven't been applied yet.
  var unsettledDeletions: [UInt64] = []
  /// Unsaved members of relationships that aren't loaded.
  var overlays: [LinkKey: LinkOverlay] = [:]
  var isSettling = false
  /// Counted in `SettlingFlag`.
  var isFlagged = false

  /// A misuse that could not be thrown where it happened; `save` throws it.
  var misuse: RoostError?

  /// The handle is gone: changes of objects that are still held are no longer tracked.
  var isClosed = false
  var isSaving = false
  let autosave = AutosaveState()
  var conflictPolicy = ModelContext.ConflictPolicy.contextWins
  var author: String?

  /// Takes down what can't be read of records.
  let notes = RecordReader.Notes()

  /// A transaction that a migration has open: reads and writes go there instead of to the store.
  let migration: MigrationTransaction?

  init(_ store: ModelStore, migration: MigrationTransaction? = nil) {
    self.store = store
    self.migration = migration
  }

  // MARK: - Registration

  deinit {
    unsettled = []
    unsettledDeletions = []
    SettlingFlag.lower(self)
  }

  /// The object with this number if it is registered.
  func registered(_ number: UInt64) -> (any PersistentModel)? {
    identities.object(number) as? any PersistentModel
  }

  /// The object with this identifier, if it is one of this store's and registered.
  func registered(_ identifier: PersistentIdentifier) -> (any PersistentModel)? {
    guard identifier.storeIdentifier == store.identifier else { return nil }
    return registered(identifier.number)
  }

  /// Makes an object that was read from the store one of this context.
  func register(_ model: some PersistentModel, _ number: UInt64, of entity: EntityBinding, commit: UInt64) {
    model._$state.register(entity.identifier(number), with: self, isNew: false)
    identities.insert(model, number, commit: commit)
  }

  func unregister(_ identifier: PersistentIdentifier) {
    identities.remove(identifier.number)
  }

  /// The change of a registered object, begun now if it has none.
  func change(of model: any PersistentModel) -> Change? {
    guard !isClosed, let identifier = model._$state.identifier else { return nil }
    if let change = changes[identifier.number] { return change }
    guard let entity = store.bindings.entity(type(of: model)) else { return nil }
    let change = Change(
      model, entity, identifier.number, kind: .updated, clean: entity.snapshot(of: model),
      commit: identities.commit(identifier.number), sequence: nextSequence())
    changes[identifier.number] = change
    scheduleAutosave()
    return change
  }

  func nextSequence() -> Int {
    sequence += 1
    return sequence
  }

  // MARK: - What objects report

  func willChange(_ model: any PersistentModel, at index: Int) {
    guard let change = change(of: model), let relationship = change.entity.relationship(at: index) else {
      return
    }
    beginChange(of: relationship, in: change)
    if relationship.isToMany { change.rearranged.insert(index) }
  }

  func relationshipChanged(_ model: any PersistentModel, at index: Int) {
    guard !isClosed, let number = model._$state.identifier?.number, let change = changes[number] else {
      return
    }
    let key = LinkKey(owner: number, relationship: index)
    // A loop over one array reports it again and again.
    guard unsettled.last != key else { return }
    // `willChange` isn't called where the relationship has followed its other side before.
    if change.entity.relationship(at: index)?.isToMany == true { change.rearranged.insert(index) }
    addUnsettled(key, change.entity)
  }

  private func addUnsettled(_ key: LinkKey, _ entity: EntityBinding) {
    unsettled.append(key)
    hasEntangled = hasEntangled || isEntangling(key.relationship, entity)
    SettlingFlag.raise(self)
  }

  // MARK: - Inserting

  /// Inserts an object that the other side of its relationship leads to.
  func adopt(_ model: any PersistentModel, at index: Int) {
    guard !isClosed, let entity = store.bindings.entity(type(of: model)),
      entity.relationship(at: index)?.inverseRelationship != nil
    else { return }
    insert(model)
  }

  /// Inserts an object and all that it reaches.
  func insert(_ root: any PersistentModel) {
    var waiting = [root]
    while let model = waiting.popLast() {
      guard insertOne(model) else { continue }
      for relationship in store.bindings.entity(type(of: model))?.relationships ?? [] {
        if case .loaded(let members) = relationship.access.content(model), !members.isEmpty {
          waiting.append(contentsOf: members.reversed())
        }
      }
    }
    scheduleAutosave()
  }

  /// Inserts one object; false if there was nothing to do.
  private func insertOne(_ model: any PersistentModel) -> Bool {
    if let context = model._$state.context {
      if context === self {
        if let change = model._$state.identifier.flatMap({ changes[$0.number] }), change.kind == .deleted {
          undelete(change)
        }
      } else {
        note(.otherContext(type(of: model)._$entityName))
      }
      return false
    }
    guard !isClosed else { return false }
    guard let entity = store.bindings.entity(type(of: model)) else {
      note(.modelNotInSchema(type(of: model), known: store.bindings.entities.map(\.name)))
      return false
    }
    let number = store.numbers.next()
    model._$state.isDeleted = false
    model._$state.register(entity.identifier(number), with: self, isNew: true)
    identities.insert(model, number, commit: 0)
    changes[number] = Change(
      model, entity, number, kind: .inserted, clean: nil, commit: 0, sequence: nextSequence())
    for relationship in entity.relationships {
      if case .loaded(let members) = relationship.access.content(model), members.isEmpty { continue }
      addUnsettled(LinkKey(owner: number, relationship: relationship.index), entity)
    }
    return true
  }

  /// Keeps the first misuse for `save` to throw.
  func note(_ error: RoostError) {
    if misuse == nil { misuse = error }
  }

  // MARK: - Deleting

  /// Marks an object deleted. Its delete rules are applied when changes are next settled.
  func delete(_ model: any PersistentModel) {
    guard let context = model._$state.context else { return }
    guard context === self else {
      return note(.otherContext(type(of: model)._$entityName))
    }
    guard let change = change(of: model), change.kind != .deleted else { return }
    change.kind = .deleted
    model._$state.isDeleted = true
    unsettledDeletions.append(change.number)
    SettlingFlag.raise(self)
    scheduleAutosave()
  }

  private func undelete(_ change: Change) {
    change.kind = change.isNew ? .inserted : .updated
    change.model._$state.isDeleted = false
    unsettledDeletions.removeAll { $0 == change.number }
    for relationship in change.entity.relationships {
      change.settled[relationship.index] = []
      addUnsettled(LinkKey(owner: change.number, relationship: relationship.index), change.entity)
    }
  }

  // MARK: - State

  var hasChanges: Bool { changes.values.contains { !($0.isNew && $0.kind == .deleted) } || misuse != nil }

  /// The changes of one kind, oldest first, without objects that came and went unsaved.
  func changes(of kind: Change.Kind) -> [Change] {
    changes.values.filter { $0.kind == kind && !($0.isNew && kind == .deleted) }
      .sorted { $0.sequence < $1.sequence }
  }
}
