// Reading and changing a slot. The overloads tell relationships from values: the most specific that
// fits the property's type is chosen where the model is compiled.

extension PersistentModel {
  /// The object of a to-one relationship. It is looked up each time rather than kept: two objects that
  /// refer to each other would otherwise never be released.
  public func _$resolve<T: PersistentModel>(_ slot: Slot<T?>, at index: Int) -> T? {
    switch slot {
    case .value(let value): value
    case .one(let identifier): _$state.context?.resolve(identifier, as: T.self)
    case .many, .stored, .missing: nil
    }
  }

  /// The object of a required to-one relationship; an empty, deleted one if it no longer exists.
  public func _$resolve<T: PersistentModel>(_ slot: Slot<T>, at index: Int) -> T {
    switch slot {
    case .value(let value): value
    case .one(let identifier): _$state.context?.resolve(identifier, as: T.self) ?? .absent()
    case .many, .stored, .missing: .absent()
    }
  }

  public func _$resolve<T: PersistentModel>(_ slot: Slot<[T]>, at index: Int) -> [T] {
    switch slot {
    case .value(let value): value
    case .many(let identifiers): _$state.context?.resolveMany(identifiers, as: T.self) ?? []
    case .stored: _$state.context?.resolveStored(self, at: index, as: T.self) ?? []
    case .one, .missing: []
    }
  }

  public func _$resolve<T: PersistentModel>(_ slot: Slot<[T]?>, at index: Int) -> [T]? {
    switch slot {
    case .value(let value): value
    case .many(let identifiers): _$state.context?.resolveMany(identifiers, as: T.self)
    case .stored: _$state.context?.resolveStored(self, at: index, as: T.self)
    case .one, .missing: nil
    }
  }

  /// A value that is no relationship is always loaded, save in an object that stands for an absent one.
  @_disfavoredOverload
  public func _$resolve<Value>(_ slot: Slot<Value>, at index: Int) -> Value {
    slot.loaded ?? neutral(Value.self, depth: 0) ?? initialValue(at: index) ?? neutralValue()
  }
}

extension PersistentModel {
  /// The initial value that the property's declaration gives.
  private func initialValue<Value>(at index: Int) -> Value? {
    let properties = Self._$properties
    return properties.indices.contains(index) ? properties[index].defaultValue?() as? Value : nil
  }
}

extension PersistentModel {
  /// Keeps the objects of a to-many relationship, so that the array is built once.
  @inlinable
  public func _$keep<T: PersistentModel>(_ value: [T], in slot: inout Slot<[T]>) {
    if case .value = slot { return }
    if _$state.isRegistered { slot = .value(value) }
  }

  @inlinable
  public func _$keep<T: PersistentModel>(_ value: [T]?, in slot: inout Slot<[T]?>) {
    if case .value = slot { return }
    if _$state.isRegistered { slot = .value(value) }
  }

  @_disfavoredOverload @inlinable
  public func _$keep<Value>(_ value: Value, in slot: inout Slot<Value>) {}
}

extension PersistentModel {
  /// Tells the context that a relationship has changed.
  @inlinable
  public func _$didChange<T: PersistentModel>(_ slot: Slot<T>.Type, at index: Int) {
    _$state.isRegistered ? _$relationshipChanged(at: index) : _$joinContext(at: index)
  }

  @inlinable
  public func _$didChange<T: PersistentModel>(_ slot: Slot<T?>.Type, at index: Int) {
    _$state.isRegistered ? _$relationshipChanged(at: index) : _$joinContext(at: index)
  }

  @inlinable
  public func _$didChange<T: PersistentModel>(_ slot: Slot<[T]>.Type, at index: Int) {
    _$state.isRegistered ? _$relationshipChanged(at: index) : _$joinContext(at: index)
  }

  @inlinable
  public func _$didChange<T: PersistentModel>(_ slot: Slot<[T]?>.Type, at index: Int) {
    _$state.isRegistered ? _$relationshipChanged(at: index) : _$joinContext(at: index)
  }

  @_disfavoredOverload @inlinable
  public func _$didChange<Value>(_ slot: Slot<Value>.Type, at index: Int) {}

  /// A new object that refers to one in a context belongs there too, as the other side then leads to it.
  public func _$joinContext(at index: Int) {
    guard !_$state.isDeleted, Self._$properties.indices.contains(index),
      let access = Self._$properties[index].relationship, case .loaded(let targets) = access.content(self),
      let target = targets.first(where: { $0._$state.isRegistered })
    else { return }
    target._$state.context?.adopt(self, at: index)
  }

  public func _$relationshipChanged(at index: Int) {
    let context = _$state.context
    context?.relationshipChanged(self, at: index)
  }
}
