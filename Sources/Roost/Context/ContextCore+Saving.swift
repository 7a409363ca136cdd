import RoostKV

extension ContextCore {
  /// Stores all changes as one commit.
  func save() throws {
    settle()
    if let misuse {
      self.misuse = nil
      throw misuse
    }
    guard !changes.isEmpty else { return }
    guard migration != nil || store.allowsSave else { throw RoostError.readOnly(store.configuration) }
    if let handle, !autosave.isExiting {
      NotificationCenter.default.post(name: ModelContext.willSave, object: handle)
    }
    settle()
    isSaving = true
    defer { isSaving = false }
    let ordered = changes.values.sorted { $0.sequence < $1.sequence }
    try validate(ordered)
    var saving = SaveTransaction(store, policy: conflictPolicy)
    let outcome = try writing { transaction in try saving.run(ordered, &transaction) }
    if let limit = outcome.numberLimit { store.numbers.didStore(limit: limit) }
    let saved = takeOver(outcome, ordered)
    if let handle, !autosave.isExiting {
      NotificationCenter.default.post(name: ModelContext.didSave, object: handle, userInfo: saved.userInfo)
    }
  }

  /// Runs `body` in a transaction of its own, or in the migration's.
  private func writing<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
    if let migration { return try migration.write(body) }
    return try store.engine.write(.durable, body)
  }

  // MARK: - After the commit

  /// Lets objects know that they are saved.
  private func takeOver(_ outcome: SaveTransaction.Outcome, _ ordered: [Change]) -> SavedChanges {
    var saved = SavedChanges()
    saved.commit = outcome.commit
    changes = [:]
    overlays = [:]
    let upserts = Dictionary(
      outcome.upserts.map { ($0.change.number, $0) }, uniquingKeysWith: { first, _ in first })
    for change in ordered {
      if change.kind == .deleted || outcome.lost.contains(where: { $0 === change }) {
        forget(change)
        if !change.isNew { saved.deleted.append(change.identifier) }
      } else if let upsert = upserts[change.number] {
        saved.updated.append(takeOver(upsert, outcome))
      } else {
        if change.isNew {
          saved.inserted.append(change.identifier)
        } else {
          saved.updated.append(change.identifier)
        }
        didSave(change, commit: outcome.commit)
      }
    }
    for (entity, number) in outcome.touched {
      saved.updated.append(entity.identifier(number))
      if registered(number) != nil { identities.setCommit(outcome.commit, number) }
    }
    return saved
  }

  private func didSave(_ change: Change, commit: UInt64) {
    identities.setCommit(commit, change.number)
    change.model._$state.markClean()
    for relationship in change.entity.relationships {
      releaseTargets(of: change.model, relationship)
    }
  }

  /// Refers to a to-one relationship's object by identifier again, so that objects that refer to each other
  /// can be released.
  private func releaseTargets(of model: any PersistentModel, _ relationship: Relationship) {
    guard !relationship.isToMany, case .loaded(let models) = relationship.access.content(model),
      let identifier = models.first?._$state.identifier
    else { return }
    relationship.access.replaceContent(model, .identifiers([identifier]))
  }

  /// The object is no longer the context's and keeps its values.
  private func forget(_ change: Change) {
    change.model._$state.isDeleted = true
    change.model._$state.detach()
    identities.remove(change.number)
  }

  /// A new object turned out to be an existing row: that row's object takes over its values, or, if the
  /// row has none at hand, the new object becomes the row's.
  private func takeOver(_ upsert: SaveTransaction.Upsert, _ outcome: SaveTransaction.Outcome)
    -> PersistentIdentifier
  {
    let change = upsert.change
    let identifier = change.entity.identifier(upsert.existing)
    if let model = registered(upsert.existing) {
      _ = change.entity.withView(upsert.record) { view in
        model._$refresh(RecordReader(view, notes: notes), .all)
      }
      model._$state.markClean()
      identities.setCommit(outcome.commit, upsert.existing)
      forget(change)
      return identifier
    }
    identities.remove(change.number)
    change.model._$state.register(identifier, with: self, isNew: false)
    identities.insert(change.model, upsert.existing, commit: outcome.commit)
    for relationship in change.entity.relationships {
      if relationship.isToMany {
        relationship.access.replaceContent(change.model, .stored)
      } else {
        releaseTargets(of: change.model, relationship)
      }
    }
    return identifier
  }

  // MARK: - Validation

  private func validate(_ ordered: [Change]) throws {
    for change in ordered {
      if change.kind == .deleted {
        try checkDenied(change)
      } else {
        try checkRelationships(of: change)
      }
    }
  }

  /// A `.deny` relationship keeps its object from being deleted while it has members.
  private func checkDenied(_ change: Change) throws {
    for relationship in change.entity.relationships where relationship.deleteRule == .deny && !change.isNew {
      let members = members(of: change.model, number: change.number, relationship).filter { number in
        guard let model = object(number, relationship.destination) else { return false }
        return !model._$state.isDeleted
      }
      guard members.isEmpty else {
        throw RoostError.deletionDenied(
          change.entity.name, change.number, by: relationship.name, members: members)
      }
    }
  }

  private func checkRelationships(of change: Change) throws {
    for relationship in change.entity.relationships {
      if !relationship.isToMany {
        guard !relationship.isOptional, target(of: change.model, relationship) == nil else { continue }
        throw RoostError.missingRequired(change.entity.name, change.number, property: relationship.name)
      }
      guard relationship.minimumCount > 0 || relationship.maximumCount > 0 else { continue }
      let count = members(of: change.model, number: change.number, relationship).count
      if count < relationship.minimumCount
        || relationship.maximumCount > 0 && count > relationship.maximumCount
      {
        throw RoostError.memberCount(
          change.entity.name, change.number, property: relationship.name, count: count,
          allowed: relationship.minimumCount...max(relationship.minimumCount, relationship.maximumCount))
      }
    }
  }
}
