// Keeping inverses right. Changes of relationships are noted when they happen and settled together when
// somebody could see that they aren't: before a relationship is read, a fetch, a save.

extension ContextCore {
  var hasUnsettled: Bool { !unsettled.isEmpty || !unsettledDeletions.isEmpty }

  /// Makes inverses and deletions follow what the program did.
  func settle() {
    guard hasUnsettled, !isSettling else { return }
    isSettling = true
    defer {
      isSettling = false
      SettlingFlag.lower(self)
    }
    while hasUnsettled {
      var edits = InverseEdits()
      let keys = unsettled
      unsettled = []
      hasEntangled = false
      for key in Set(keys).count == keys.count ? keys : keys.uniqued() { settle(key, &edits) }
      apply(&edits)
      let deletions = unsettledDeletions
      unsettledDeletions = []
      for number in deletions {
        if let change = changes[number], change.kind == .deleted { applyDeleteRules(of: change, &edits) }
      }
      apply(&edits)
    }
  }

  /// Lets the inverse of one changed relationship follow.
  private func settle(_ key: LinkKey, _ edits: inout InverseEdits) {
    guard let change = changes[key.owner], change.kind != .deleted,
      let relationship = change.entity.relationship(at: key.relationship)
    else { return }
    let members = currentMembers(of: change, relationship)
    let settled = change.settled[key.relationship] ?? []
    change.settled[key.relationship] = members
    guard members != settled, let inverse = relationship.inverseRelationship else { return }
    let (old, new) = (Set(settled), Set(members))
    for number in settled where !new.contains(number) {
      unlink(number, relationship.destination, inverse, from: change.number, &edits)
    }
    for number in members where !old.contains(number) {
      link(number, relationship, inverse, to: change, &edits)
    }
  }

  /// The members of a relationship as the program set them: all of them in this context, none twice.
  private func currentMembers(of change: Change, _ relationship: Relationship) -> [UInt64] {
    switch relationship.access.content(change.model) {
    case .loaded(let models):
      for model in models where model._$state.context !== self { insert(model) }
      let own = models.filter { $0._$state.context === self }
      let numbers = own.map { $0.persistentModelID.number }
      if own.count == models.count, Set(numbers).count == numbers.count { return numbers }
      var seen: Set<UInt64> = []
      let unique = own.filter { seen.insert($0.persistentModelID.number).inserted }
      relationship.access.setContent(change.model, .loaded(unique))
      return unique.map { $0.persistentModelID.number }
    case .identifiers(let identifiers): return identifiers.map(\.number)
    case .stored: return members(of: change.number, relationship)
    }
  }

  // MARK: - The other side

  /// `number` no longer belongs to `owner`: its inverse must not say so.
  private func unlink(
    _ number: UInt64, _ entity: EntityBinding, _ inverse: Relationship, from owner: UInt64,
    _ edits: inout InverseEdits
  ) {
    if inverse.isToMany {
      edits.remove(owner, from: LinkKey(owner: number, relationship: inverse.index), inverse)
    } else if let model = object(number, entity), target(of: model, inverse) == owner {
      setTarget(of: model, inverse, to: nil)
    }
  }

  /// `number` now belongs to `owner`'s relationship: its inverse must say so, and no other owner may.
  private func link(
    _ number: UInt64, _ relationship: Relationship, _ inverse: Relationship, to owner: Change,
    _ edits: inout InverseEdits
  ) {
    if inverse.isToMany {
      edits.add(owner.number, to: LinkKey(owner: number, relationship: inverse.index), inverse)
    } else if let model = object(number, relationship.destination) {
      let former = target(of: model, inverse)
      guard former != owner.number else { return }
      if let former { release(number, from: former, relationship, owner.entity, &edits) }
      setTarget(of: model, inverse, to: owner.model)
    }
  }

  /// `former` loses `number`, which has found another owner.
  private func release(
    _ number: UInt64, from former: UInt64, _ relationship: Relationship, _ entity: EntityBinding,
    _ edits: inout InverseEdits
  ) {
    if relationship.isToMany {
      edits.remove(number, from: LinkKey(owner: former, relationship: relationship.index), relationship)
    } else if let model = object(former, entity), target(of: model, relationship) == number {
      setTarget(of: model, relationship, to: nil)
    }
  }

  /// What a to-one relationship refers to.
  func target(of model: any PersistentModel, _ relationship: Relationship) -> UInt64? {
    switch relationship.access.content(model) {
    case .loaded(let models): models.first?._$state.identifier?.number
    case .identifiers(let identifiers): identifiers.first?.number
    case .stored: nil
    }
  }

  private func setTarget(
    of model: any PersistentModel, _ relationship: Relationship, to target: (any PersistentModel)?
  ) {
    guard let change = change(of: model) else { return }
    beginChange(of: relationship, in: change)
    relationship.access.setContent(model, .loaded(target.map { [$0] } ?? []))
    change.settled[relationship.index] = target?._$state.identifier.map { [$0.number] } ?? []
    model._$state.markChanged(PropertyMask(bits: PropertyMask.bit(relationship.index)))
  }

  // MARK: - To-many sides

  /// Gives to-many relationships their new members, each relationship once.
  private func apply(_ edits: inout InverseEdits) {
    for (key, edit) in edits.take() {
      if let model = registered(key.owner), apply(edit, at: key, to: model) { continue }
      applyUnloaded(key, edit)
    }
  }

  /// Changes a loaded relationship in place; false if it isn't loaded.
  private func apply(_ edit: InverseEdits.Edit, at key: LinkKey, to model: any PersistentModel) -> Bool {
    guard let change = loadedChange(edit, of: model) else { return false }
    var members = RelationshipAccess.MemberEdit()
    members.removed = Set(edit.removed.compactMap { registered($0).map { ObjectIdentifier($0) } })
    members.added = edit.added.compactMap { registered($0) }
    guard edit.relationship.access.edit(model, members) else { return false }
    guard var settled = change.settled[key.relationship] ?? (change.isNew ? [] : nil) else { return true }
    // Only these edits are settled: the program may have changed other members meanwhile.
    if !edit.removed.isEmpty { settled.removeAll { edit.removed.contains($0) } }
    let known = edit.added.count < 5 ? nil : Set(settled)
    settled += edit.added.filter { !(known?.contains($0) ?? settled.contains($0)) }
    change.settled[key.relationship] = settled
    return true
  }

  /// The change of an object whose loaded relationship is about to follow its other side.
  ///
  /// The members' own records say whose they are where the other side is to one object: such a
  /// relationship is not looked through for what it was, so that adding to a large one costs little.
  private func loadedChange(_ edit: InverseEdits.Edit, of model: any PersistentModel) -> Change? {
    let relationship = edit.relationship
    guard relationship.access.edit(model, RelationshipAccess.MemberEdit()), let change = change(of: model) else {
      return nil
    }
    if relationship.inverseRelationship?.isToMany == false {
      change.followed.insert(relationship.index)
    } else {
      beginChange(of: relationship, in: change)
      model._$state.markChanged(PropertyMask(bits: PropertyMask.bit(relationship.index)))
    }
    return change
  }

  private func applyUnloaded(_ key: LinkKey, _ edit: InverseEdits.Edit) {
    var overlay = overlays[key] ?? LinkOverlay()
    for number in edit.removed { overlay.remove(number) }
    for number in edit.added { overlay.add(number) }
    overlays[key] = overlay
    // Slots that hold identifiers are loaded anew, through the overlay.
    if let model = registered(key.owner), case .identifiers = edit.relationship.access.content(model) {
      edit.relationship.access.setContent(model, .stored)
    }
  }

  // MARK: - Beginning a change

  /// Notes what a relationship was before its first change.
  func beginChange(of relationship: Relationship, in change: Change) {
    guard !change.isNew, change.settled[relationship.index] == nil,
      // The object's own, where it is of a class that inherits the one that was asked for.
      let relationship = change.entity.relationship(at: relationship.index)
    else { return }
    let members: [UInt64]
    switch relationship.access.content(change.model) {
    case .loaded(let models): members = models.compactMap { $0._$state.identifier?.number }
    case .identifiers(let identifiers): members = identifiers.map(\.number)
    case .stored: members = self.members(of: change.number, relationship)
    }
    change.settled[relationship.index] = members
    guard relationship.isToMany else { return }
    let overlay = overlays[LinkKey(owner: change.number, relationship: relationship.index)]
    change.stored[relationship.index] =
      overlay.map { overlay in
        members.filter { !overlay.added.contains($0) } + overlay.removed
      } ?? members
  }

  // MARK: - Deletions

  /// What deleting an object does to those it refers to.
  private func applyDeleteRules(of change: Change, _ edits: inout InverseEdits) {
    for relationship in change.entity.relationships where relationship.deleteRule != .noAction {
      let members = self.members(of: change.model, number: change.number, relationship)
      if relationship.deleteRule == .cascade {
        for number in members {
          if let model = object(number, relationship.destination) { delete(model) }
        }
      }
      guard let inverse = relationship.inverseRelationship, relationship.deleteRule != .deny else { continue }
      for number in members {
        unlink(number, relationship.destination, inverse, from: change.number, &edits)
      }
    }
  }
}

/// What inverses have to change, gathered so that each is changed once.
private struct InverseEdits {
  struct Edit {
    let relationship: Relationship
    var removed: Set<UInt64> = []
    var added: [UInt64] = []
  }

  private var edits: [LinkKey: Edit] = [:]
  private var order: [LinkKey] = []

  mutating func add(_ member: UInt64, to key: LinkKey, _ relationship: Relationship) {
    edit(key, relationship) { edit in
      edit.removed.remove(member)
      edit.added.append(member)
    }
  }

  mutating func remove(_ member: UInt64, from key: LinkKey, _ relationship: Relationship) {
    edit(key, relationship) { edit in
      edit.added.removeAll { $0 == member }
      edit.removed.insert(member)
    }
  }

  private mutating func edit(_ key: LinkKey, _ relationship: Relationship, _ body: (inout Edit) -> Void) {
    if edits[key] == nil {
      edits[key] = Edit(relationship: relationship)
      order.append(key)
    }
    body(&edits[key, default: Edit(relationship: relationship)])
  }

  /// All edits in the order in which they were asked for; none are left.
  mutating func take() -> [(LinkKey, Edit)] {
    defer {
      edits = [:]
      order = []
    }
    return order.compactMap { key in edits[key].map { (key, $0) } }
  }
}

extension Array where Element: Hashable {
  fileprivate func uniqued() -> [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
