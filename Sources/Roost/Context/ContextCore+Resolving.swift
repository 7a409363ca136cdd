import RoostKV

// Finding objects by identifier and following relationships.

extension ContextCore {
  func resolve<T: PersistentModel>(_ identifier: PersistentIdentifier, as type: T.Type) -> T? {
    settle()
    guard let entity = store.bindings.byName[identifier.entityName] else { return nil }
    let model = object(identifier.number, entity)
    return model.flatMap { $0._$state.isDeleted ? nil : $0 as? T }
  }

  func resolveMany<T: PersistentModel>(_ identifiers: [PersistentIdentifier], as type: T.Type) -> [T] {
    settle()
    guard let name = identifiers.first?.entityName, let entity = store.bindings.byName[name] else {
      return []
    }
    return objects(identifiers.map(\.number), entity, as: type)
  }

  func resolveStored<T: PersistentModel>(
    _ model: any PersistentModel, at index: Int, as type: T.Type
  ) -> [T] {
    settle()
    guard let entity = store.bindings.entity(Swift.type(of: model)),
      let number = model._$state.identifier?.number,
      let relationship = entity.relationship(at: index)
    else { return [] }
    return objects(members(of: number, relationship), relationship.destination, as: type)
  }

  /// The members of a relationship, in their order, deleted ones among them.
  func members(of model: any PersistentModel, number: UInt64, _ relationship: Relationship) -> [UInt64] {
    switch relationship.access.content(model) {
    case .loaded(let models): models.compactMap { $0._$state.identifier?.number }
    case .identifiers(let identifiers): identifiers.map(\.number)
    case .stored: members(of: number, relationship)
    }
  }

  /// The members of a to-many relationship that isn't loaded: the stored ones under unsaved changes.
  func members(of owner: UInt64, _ relationship: Relationship) -> [UInt64] {
    let stored = (try? withReading { reading in try reading.members(of: owner, relationship) }) ?? []
    return overlays[LinkKey(owner: owner, relationship: relationship.index)]?.applied(to: stored) ?? stored
  }

  /// The object with this number, registered or read now.
  func object(_ number: UInt64, _ entity: EntityBinding) -> (any PersistentModel)? {
    if let model = registered(number) { return model }
    return try? withReading { reading in try load(number, entity, reading) }
  }

  /// The objects with these numbers, without those that are gone or deleted.
  func objects<T: PersistentModel>(
    _ numbers: [UInt64], _ entity: EntityBinding, as type: T.Type
  ) -> [T] {
    var found: [T] = []
    found.reserveCapacity(numbers.count)
    func take(_ model: (any PersistentModel)?) {
      if let model = model as? T, !model._$state.isDeleted { found.append(model) }
    }
    if numbers.allSatisfy({ registered($0) != nil }) {
      for number in numbers { take(registered(number)) }
      return found
    }
    try? withReading { reading in
      for number in numbers { take(try registered(number) ?? load(number, entity, reading)) }
    }
    return found
  }

  /// One state of the store to read from.
  func withReading<R>(_ body: (any StoreReading) throws -> R) throws -> R {
    if let migration { return try body(migration) }
    let reading = try SnapshotReading(store.engine)
    try store.checkGeneration(reading)
    return try body(reading)
  }

  /// Reads and registers an object of an entity or one that inherits from it.
  private func load(
    _ number: UInt64, _ entity: EntityBinding, _ reading: any StoreReading
  ) throws -> (any PersistentModel)? {
    for member in entity.family {
      let model = try reading.withRecord(number, member) { record -> (any PersistentModel)? in
        materialize(record, number, member)
      }
      if let model { return model }
    }
    return nil
  }

  /// Makes an object of a record. Throws when the record has no value for an attribute that needs one.
  func read<T: PersistentModel>(
    _ view: RecordView, _ number: UInt64, _ entity: EntityBinding, as type: T.Type
  ) throws -> T {
    let before = notes.count
    let model = T(_$record: RecordReader(view, notes: notes))
    // Something was not as it should be, which mostly has a stand-in.
    if notes.count != before { try entity.checkReadable(view, number) }
    return model
  }

  /// Makes an object of a record and registers it.
  func materialize(
    _ record: UnsafeRawBufferPointer, _ number: UInt64, _ entity: EntityBinding
  ) -> (any PersistentModel)? {
    func make<T: PersistentModel>(_ type: T.Type, _ view: RecordView) -> (any PersistentModel)? {
      guard let model = try? read(view, number, entity, as: type) else { return nil }
      register(model, number, of: entity, commit: view.commit)
      return model
    }
    return entity.withView(record) { view in make(entity.type, view) } ?? nil
  }
}

extension ContextCore {
  /// The object with this identifier, or one that stands for it when there is none.
  func model(_ identifier: PersistentIdentifier) -> any PersistentModel {
    settle()
    let entity = store.bindings.byName[identifier.entityName]
    if let entity, identifier.storeIdentifier == store.identifier,
      let model = object(identifier.number, entity)
    {
      return model
    }
    return entity?.type.absent() ?? UnknownModel()
  }
}
