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
    var saving = SaveTransaction(store, policy: conflictPolicy, author: author)
    let outcome = try writing { transaction in try saving.run(ordered, &transaction) }
    if let limit = outcome.numberLimit { store.numbers.didStore(limit: limit) }
    let saved = takeOver(outcome, ordered)
    if let handle, !autosave.isExiting {
      NotificationCenter.default.post(name: ModelContext.didSave, object: handle, userInfo: saved.userInfo)
    }
  }

  /// Runs `body` in a transaction of its own, or in the migration's.
  func writing<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
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
    let lost = Set(outcome.lost.map(\.number))
    let upserts = Dictionary(
      outcome.upserts.map { ($0.change.number, $0) }, uniquingKeysWith: { first, _ in first })
    var known = upserts.isEmpty ? [] : Set(ordered.map(\.number))
    for change in ordered {
      if change.kind == .deleted || lost.contains(change.number) {
        forget(change.model, change.number)
        if !change.isNew { saved.deleted.append(change.identifier) }
      } else if let upsert = upserts[change.number] {
        takeOver(upsert)
        // Those of the save itself are reported as inserted, and stored ones with changes once.
        if !known.contains(upsert.existing) { saved.updated.append(change.entity.identifier(upsert.existing)) }
        known.insert(upsert.existing)
      } else {
        if change.isNew {
          saved.inserted.append(change.identifier)
        } else {
          saved.updated.append(change.identifier)
        }
        didSave(change, commit: outcome.commit)
      }
    }
    for (entity, number) in outcome.cascaded where !lost.contains(number) {
      saved.deleted.append(entity.identifier(number))
      if let model = registered(number) { forget(model, number) }
    }
    for row in outcome.touched {
      saved.updated.append(row.entity.identifier(row.number))
      guard let model = registered(row.number) else { continue }
      // Others had changed it and this context hasn't seen that yet: let the next fetch find it.
      let isStale = row.former > identities.commit(row.number)
      if isStale || !outcome.upserts.isEmpty { forgetMembers(of: model, row.entity) }
      if !isStale { identities.setCommit(outcome.commit, row.number) }
    }
    reread(outcome, ordered)
    if !saved.deleted.isEmpty { forgetDeletedMembers(saved.deleted) }
    return saved
  }

  /// Gives objects the values that were stored where they have others. What objects had unsaved is saved.
  private func reread(_ outcome: SaveTransaction.Outcome, _ ordered: [Change]) {
    if !outcome.upserts.isEmpty {
      // Relationships may hold new objects for which rows stand now.
      for change in ordered where change.model._$state.context === self {
        forgetMembers(of: change.model, change.entity)
      }
    }
    for (number, row) in outcome.reread {
      guard let model = registered(number) else { continue }
      identities.setCommit(outcome.commit, number)
      let isRead = row.entity.withView(row.record) { view in
        model._$refresh(RecordReader(view, notes: notes), .all)
        model._$state.markClean()
        return true
      }
      if isRead != true { forgetMembers(of: model, row.entity) }
    }
  }

  /// Takes deleted objects out of loaded relationships without an inverse, which nothing else tells of them.
  private func forgetDeletedMembers(_ deleted: [PersistentIdentifier]) {
    let entities = Set(deleted.map(\.entityName))
    let relationships = store.bindings.entities.flatMap(\.relationships).filter { relationship in
      relationship.isToMany && relationship.inverseRelationship == nil
        && relationship.destination.family.contains { entities.contains($0.name) }
    }
    guard !relationships.isEmpty else { return }
    for case let model as any PersistentModel in identities.objects() {
      guard let entity = store.bindings.entity(type(of: model)) else { continue }
      for relationship in relationships where relationship.source === entity {
        guard case .loaded(let members) = relationship.access.content(model),
          members.contains(where: { $0._$state.isDeleted })
        else { continue }
        relationship.access.setContent(model, .stored)
      }
    }
  }

  /// Lets loaded to-many relationships be read anew.
  private func forgetMembers(of model: any PersistentModel, _ entity: EntityBinding) {
    for relationship in entity.relationships where relationship.isToMany {
      if case .stored = relationship.access.content(model) { continue }
      relationship.access.setContent(model, .stored)
    }
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
  private func forget(_ model: any PersistentModel, _ number: UInt64) {
    model._$state.isDeleted = true
    model._$state.detach()
    identities.remove(number)
  }

  /// A new object turned out to be an existing row: that row's object takes over its values, or, if the
  /// row has none at hand, the new object becomes the row's. Either is then read anew.
  private func takeOver(_ upsert: SaveTransaction.Upsert) {
    let change = upsert.change
    if registered(upsert.existing) != nil { return forget(change.model, change.number) }
    identities.remove(change.number)
    change.model._$state.register(change.entity.identifier(upsert.existing), with: self, isNew: false)
    identities.insert(change.model, upsert.existing, commit: 0)
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
