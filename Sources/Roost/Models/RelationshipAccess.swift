/// Reaches a relationship of an object without following it and without telling the context.
package struct RelationshipAccess {
  package enum Content {
    /// The objects, already found.
    case loaded([any PersistentModel])
    /// Their identifiers.
    case identifiers([PersistentIdentifier])
    /// The record doesn't list them.
    case stored

    package var identifiers: [PersistentIdentifier]? {
      switch self {
      case .loaded(let models): models.map { $0.persistentModelID }
      case .identifiers(let identifiers): identifiers
      case .stored: nil
      }
    }
  }

  /// A change of the members of a to-many relationship.
  package struct MemberEdit {
    package var removed: Set<ObjectIdentifier> = []
    package var added: [any PersistentModel] = []
  }

  package let destination: any PersistentModel.Type
  package let isToMany: Bool

  /// What the object's slot holds.
  package let content: (any PersistentModel) -> Content

  /// Puts other content into the slot and tells observers.
  package let setContent: (any PersistentModel, Content) -> Void

  /// Takes members out of a loaded to-many relationship and puts others behind the rest, in place, and
  /// tells observers. False, with nothing done, when the relationship isn't loaded.
  package let edit: (_ model: any PersistentModel, _ edit: MemberEdit) -> Bool

  /// Exchanges content for its equivalent, identifiers for objects say, behind the observers' backs.
  package let replaceContent: (any PersistentModel, Content) -> Void
}

extension RelationshipAccess {
  init<Root: PersistentModel, Value, Target: PersistentModel>(
    to destination: Target.Type, isToMany: Bool,
    keyPath: KeyPath<Root, Value>, storage: ReferenceWritableKeyPath<Root, Slot<Value>>,
    content: @escaping (Slot<Value>) -> Content, slot: @escaping (Content) -> Slot<Value>,
    edit: @escaping (inout Slot<Value>, MemberEdit) -> Void = { _, _ in }
  ) {
    self.destination = destination
    self.isToMany = isToMany
    self.content = { model in
      guard let model = model as? Root else { return .identifiers([]) }
      return content(model[keyPath: storage])
    }
    replaceContent = { model, content in
      guard let model = model as? Root else { return }
      model[keyPath: storage] = slot(content)
    }
    self.edit = { model, changes in
      guard isToMany, let model = model as? Root, model[keyPath: storage].isLoaded else { return false }
      if changes.removed.isEmpty && changes.added.isEmpty { return true }
      let registrar = model._$state.registrar
      registrar?.willSet(model, keyPath: keyPath)
      edit(&model[keyPath: storage], changes)
      registrar?.didSet(model, keyPath: keyPath)
      return true
    }
    setContent = { model, content in
      guard let model = model as? Root else { return }
      let registrar = model._$state.registrar
      registrar?.willSet(model, keyPath: keyPath)
      model[keyPath: storage] = slot(content)
      registrar?.didSet(model, keyPath: keyPath)
    }
  }
}

extension RelationshipAccess {
  init<Root: PersistentModel, Target: PersistentModel>(
    toOne keyPath: KeyPath<Root, Target>, storage: ReferenceWritableKeyPath<Root, Slot<Target>>
  ) {
    self.init(
      to: Target.self, isToMany: false, keyPath: keyPath, storage: storage,
      content: { slot in
        switch slot {
        case .value(let model): .loaded([model])
        case .one(let identifier): .identifiers([identifier])
        case .many, .stored, .missing: .identifiers([])
        }
      },
      slot: { content in
        switch content {
        case .loaded(let models): (models.first as? Target).map(Slot.value) ?? .missing
        case .identifiers(let identifiers): identifiers.first.map(Slot.one) ?? .missing
        case .stored: .missing
        }
      })
  }

  init<Root: PersistentModel, Target: PersistentModel>(
    toOne keyPath: KeyPath<Root, Target?>, storage: ReferenceWritableKeyPath<Root, Slot<Target?>>
  ) {
    self.init(
      to: Target.self, isToMany: false, keyPath: keyPath, storage: storage,
      content: { slot in
        switch slot {
        case .value(let model): .loaded(model.map { [$0] } ?? [])
        case .one(let identifier): .identifiers([identifier])
        case .many, .stored, .missing: .identifiers([])
        }
      },
      slot: { content in
        switch content {
        case .loaded(let models): .value(models.first as? Target)
        case .identifiers(let identifiers): identifiers.first.map(Slot.one) ?? .value(nil)
        case .stored: .value(nil)
        }
      })
  }

  init<Root: PersistentModel, Target: PersistentModel>(
    toMany keyPath: KeyPath<Root, [Target]>, storage: ReferenceWritableKeyPath<Root, Slot<[Target]>>
  ) {
    self.init(
      to: Target.self, isToMany: true, keyPath: keyPath, storage: storage,
      content: { slot in
        switch slot {
        case .value(let models): .loaded(models)
        case .many(let identifiers): .identifiers(identifiers)
        case .stored: .stored
        case .one, .missing: .identifiers([])
        }
      },
      slot: { content in
        switch content {
        case .loaded(let models): .value(models.compactMap { $0 as? Target })
        case .identifiers(let identifiers): .many(identifiers)
        case .stored: .stored
        }
      }, edit: { slot, edit in slot.changeable.apply(edit) })
  }

  init<Root: PersistentModel, Target: PersistentModel>(
    toMany keyPath: KeyPath<Root, [Target]?>, storage: ReferenceWritableKeyPath<Root, Slot<[Target]?>>
  ) {
    self.init(
      to: Target.self, isToMany: true, keyPath: keyPath, storage: storage,
      content: { slot in
        switch slot {
        case .value(let models): .loaded(models ?? [])
        case .many(let identifiers): .identifiers(identifiers)
        case .stored: .stored
        case .one, .missing: .identifiers([])
        }
      },
      slot: { content in
        switch content {
        case .loaded(let models): .value(models.compactMap { $0 as? Target })
        case .identifiers(let identifiers): .many(identifiers)
        case .stored: .stored
        }
      },
      edit: { slot, edit in
        if slot.changeable == nil { slot.changeable = [] }
        slot.changeable?.apply(edit)
      })
  }
}

extension Array where Element: PersistentModel {
  /// Leaves out members that are there already.
  fileprivate mutating func apply(_ edit: RelationshipAccess.MemberEdit) {
    if !edit.removed.isEmpty { removeAll { edit.removed.contains(ObjectIdentifier($0)) } }
    let added = edit.added.compactMap { $0 as? Element }
    guard added.count > 4 else {
      for member in added where !contains(where: { $0 === member }) { append(member) }
      return
    }
    var present = Set(map { ObjectIdentifier($0) })
    for member in added where present.insert(ObjectIdentifier(member)).inserted { append(member) }
  }
}
