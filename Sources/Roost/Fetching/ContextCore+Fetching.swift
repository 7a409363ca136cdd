import RoostKV

extension ContextCore {
  /// The objects a descriptor describes, in its order.
  func fetch<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> [T] {
    settle()
    let plan = FetchPlan(descriptor.predicate, try store.entity(T.self))
    let pending = descriptor.includePendingChanges ? pendingChanges(plan.entity) : []
    let window = Window(descriptor)
    if window.isEmpty { return [] }
    var models: [T] = []
    // Records come in the order of their identifiers; unsorted results are complete once there are enough.
    let needed =
      descriptor.sortBy.isEmpty && pending.isEmpty && plan.entity.subentities.isEmpty ? window.end : nil
    try withReading { reading in
      try forEachMatch(plan, reading, includingPending: descriptor.includePendingChanges) { model in
        models.append(model)
        return needed.map { models.count < $0 } ?? true
      }
    }
    for change in pending where change.kind != .deleted {
      if let model = change.model as? T, try plan.accepts(model) { models.append(model) }
    }
    if !(descriptor.sortBy.isEmpty && pending.isEmpty && plan.entity.subentities.isEmpty) {
      models = ResultOrder.sort(models, by: descriptor.sortBy)
    }
    return Array(window.applied(to: models))
  }

  /// How many objects a descriptor describes, without making any where the records alone tell.
  func fetchCount<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> Int {
    settle()
    let entity = try store.entity(T.self)
    let plan = FetchPlan(descriptor.predicate, entity)
    if descriptor.includePendingChanges && !pendingChanges(entity).isEmpty || !plan.compiled.isExact {
      return try fetch(descriptor).count
    }
    let window = Window(descriptor)
    if window.isEmpty { return 0 }
    let count = try withReading { reading -> Int in
      if descriptor.predicate == nil {
        return try entity.family.reduce(0) { sum, member in
          try sum + (member.records.map { try reading.count($0) } ?? 0)
        }
      }
      var count = 0
      try forEachMatchingNumber(plan, reading) { _, _ in
        count += 1
        return true
      }
      return count
    }
    return window.count(of: count)
  }

  /// The identifiers of the objects that a descriptor describes.
  func fetchIdentifiers<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> [PersistentIdentifier] {
    settle()
    let entity = try store.entity(T.self)
    let plan = FetchPlan(descriptor.predicate, entity)
    let isPlain = descriptor.sortBy.isEmpty && plan.compiled.isExact && entity.subentities.isEmpty
    guard isPlain, !descriptor.includePendingChanges || pendingChanges(entity).isEmpty else {
      return try fetch(descriptor).map(\.persistentModelID)
    }
    let window = Window(descriptor)
    if window.isEmpty { return [] }
    var identifiers: [PersistentIdentifier] = []
    try withReading { reading in
      try forEachMatchingNumber(plan, reading) { number, member in
        identifiers.append(member.identifier(number))
        return window.end.map { identifiers.count < $0 } ?? true
      }
    }
    return Array(window.applied(to: identifiers))
  }

  private func pendingChanges(_ entity: EntityBinding) -> [Change] {
    if changes.isEmpty { return [] }
    let family = entity.family
    return changes.values.filter { change in family.contains { $0 === change.entity } }
  }
}

// MARK: - Rows

extension ContextCore {
  /// Calls `body` with each saved object that matches, until it returns false.
  ///
  /// - Parameter includingPending: leaves out objects with unsaved changes, whose values count instead.
  private func forEachMatch<T: PersistentModel>(
    _ plan: FetchPlan<T>, _ reading: any StoreReading, includingPending: Bool, _ body: (T) throws -> Bool
  ) throws {
    let skipsChanged = includingPending && !changes.isEmpty
    for member in plan.entity.family {
      let decide = plan.filter(member)
      let isExactType = member.type == T.self
      var goesOn = true
      try forEachCandidate(plan, member, reading) { view, number in
        if skipsChanged && changes[number] != nil { return true }
        let verdict = decide(view, number)
        if verdict == .no { return true }
        if verdict == .unknown && changes[number] != nil {
          // Saved values decide, not those of the object at hand.
          guard let saved = try savedSelf(view, number, member) as? T, try plan.accepts(saved) else { return true }
        }
        let taken =
          isExactType
          ? try take(view, number, member, as: T.self) : try takeAny(view, number, member) as? T
        guard let model = taken else { return true }
        if verdict == .unknown && changes[number] == nil, try !plan.accepts(model) { return true }
        goesOn = try body(model)
        return goesOn
      }
      if !goesOn { return }
    }
  }

  private func forEachMatchingNumber<T: PersistentModel>(
    _ plan: FetchPlan<T>, _ reading: any StoreReading, _ body: (UInt64, EntityBinding) throws -> Bool
  ) throws {
    for member in plan.entity.family {
      let decide = plan.filter(member)
      var goesOn = true
      try forEachCandidate(plan, member, reading) { view, number in
        var isMatch = decide(view, number) == .yes
        if !isMatch && decide(view, number) == .unknown {
          isMatch = try (try takeAny(view, number, member) as? T).map(plan.accepts) ?? false
        }
        if isMatch { goesOn = try body(number, member) }
        return goesOn
      }
      if !goesOn { return }
    }
  }

  /// Calls `body` with each record that may match, in the order of identifiers, until it returns false.
  private func forEachCandidate<T: PersistentModel>(
    _ plan: FetchPlan<T>, _ member: EntityBinding, _ reading: any StoreReading,
    _ body: (RecordView, UInt64) throws -> Bool
  ) throws {
    guard let records = member.records else { return }
    let numbers: [UInt64]
    switch IndexPlan.best(for: plan.compiled.condition, member) {
    case .numbers(let found)?: numbers = found
    case .ranges(let table, let isUnique, let ranges)?:
      numbers = try reading.numbers(in: table, isUnique: isUnique, ranges)
    case nil:
      return try reading.forEach(in: records, .all, reversed: false) { key, record in
        guard let number = RecordKey.number(key) else { return true }
        return try member.withView(record) { try body($0, number) } ?? true
      }
    }
    for number in numbers {
      let goesOn = try reading.withRecord(number, member) { record in
        try member.withView(record) { try body($0, number) } ?? true
      }
      if goesOn == false { return }
    }
  }
}

// MARK: - Objects

extension ContextCore {
  /// The object of a record whose class is exactly `T`: the registered one, brought up to date, or a new one.
  private func take<T: PersistentModel>(
    _ view: RecordView, _ number: UInt64, _ entity: EntityBinding, as type: T.Type
  ) throws -> T {
    if let object = identities.object(number) {
      // Objects are registered under the number of a record of their own entity.
      let model = unsafeDowncast(object, to: T.self)
      if view.commit > identities.commit(number) { try refresh(model, view, number, entity) }
      return model
    }
    let model = try read(view, number, entity, as: type)
    register(model, number, of: entity, commit: view.commit)
    return model
  }

  private func takeAny(
    _ view: RecordView, _ number: UInt64, _ entity: EntityBinding
  ) throws -> any PersistentModel {
    func open<M: PersistentModel>(_ type: M.Type) throws -> any PersistentModel {
      try take(view, number, entity, as: type)
    }
    return try open(entity.type)
  }

  /// An object of a record that belongs to no context.
  private func savedSelf(
    _ view: RecordView, _ number: UInt64, _ entity: EntityBinding
  ) throws -> any PersistentModel {
    func open<M: PersistentModel>(_ type: M.Type) throws -> any PersistentModel {
      try read(view, number, entity, as: type)
    }
    return try open(entity.type)
  }

  /// Brings an object up to date with what others have saved; its unsaved changes stay.
  private func refresh(
    _ model: some PersistentModel, _ view: RecordView, _ number: UInt64, _ entity: EntityBinding
  ) throws {
    try entity.checkReadable(view, number)
    guard let change = changes[number] else {
      model._$refresh(RecordReader(view, notes: notes), .all)
      return identities.setCommit(view.commit, number)
    }
    model._$refresh(RecordReader(view, notes: notes), PropertyMask.all.subtracting(change.unsaved))
  }
}

// MARK: - Limits

/// The part of a result that limit and offset leave.
private struct Window {
  let start: Int
  /// Nil: to the end.
  let end: Int?

  init<T>(_ descriptor: FetchDescriptor<T>) {
    start = max(descriptor.fetchOffset ?? 0, 0)
    let start = start
    end = descriptor.fetchLimit.map { limit in
      let (end, overflows) = start.addingReportingOverflow(max(limit, 0))
      return overflows ? .max : end
    }
  }

  var isEmpty: Bool { end.map { $0 <= start } ?? false }

  func applied<Element>(to elements: [Element]) -> ArraySlice<Element> {
    elements.prefix(end ?? elements.count).dropFirst(start)
  }

  func count(of all: Int) -> Int { max(min(all, end ?? all) - start, 0) }
}
