import Synchronization

/// Says whether any context has relationship changes whose other side doesn't follow yet: one load decides
/// for the reads of all objects, which almost always find that there is none.
@usableFromInline
enum SettlingFlag {
  @usableFromInline static let raised = Atomic<Int>(0)

  static func raise(_ core: ContextCore) {
    guard !core.isFlagged else { return }
    core.isFlagged = true
    raised.add(1, ordering: .relaxed)
  }

  static func lower(_ core: ContextCore) {
    guard core.isFlagged, !core.hasUnsettled else { return }
    core.isFlagged = false
    raised.subtract(1, ordering: .relaxed)
  }
}

// The overloads tell relationships from other values, where the model is compiled.

extension PersistentModel {
  /// Called before a relationship is read: what was done to its other side has to show.
  @inlinable
  public func _$willRead<T: PersistentModel>(_ slot: Slot<T>.Type, at index: Int) { _$settle() }

  @inlinable
  public func _$willRead<T: PersistentModel>(_ slot: Slot<T?>.Type, at index: Int) { _$settle() }

  @inlinable
  public func _$willRead<T: PersistentModel>(_ slot: Slot<[T]>.Type, at index: Int) { _$settle() }

  @inlinable
  public func _$willRead<T: PersistentModel>(_ slot: Slot<[T]?>.Type, at index: Int) { _$settle() }

  @_disfavoredOverload @inlinable
  public func _$willRead<Value>(_ slot: Slot<Value>.Type, at index: Int) {}

  /// Called before a relationship is changed: what was done before has to be settled before.
  @inlinable
  public func _$willChange<T: PersistentModel>(_ slot: Slot<T>.Type, at index: Int) {
    _$settle(changing: index)
  }

  @inlinable
  public func _$willChange<T: PersistentModel>(_ slot: Slot<T?>.Type, at index: Int) {
    _$settle(changing: index)
  }

  @inlinable
  public func _$willChange<T: PersistentModel>(_ slot: Slot<[T]>.Type, at index: Int) {
    _$settle(changing: index)
  }

  @inlinable
  public func _$willChange<T: PersistentModel>(_ slot: Slot<[T]?>.Type, at index: Int) {
    _$settle(changing: index)
  }

  @_disfavoredOverload @inlinable
  public func _$willChange<Value>(_ slot: Slot<Value>.Type, at index: Int) {}
}

extension PersistentModel {
  @usableFromInline @inline(__always)
  func _$settle() {
    if SettlingFlag.raised.load(ordering: .relaxed) != 0 { _$settleContext(changing: nil) }
  }

  @usableFromInline @inline(__always)
  func _$settle(changing index: Int) {
    if SettlingFlag.raised.load(ordering: .relaxed) != 0 { _$settleContext(changing: index) }
  }

  @usableFromInline
  func _$settleContext(changing index: Int?) {
    guard let context = _$state.context as? ContextCore, let number = _$state.identifier?.number else {
      return
    }
    if let index, context.canWait(changing: LinkKey(owner: number, relationship: index), of: self) { return }
    context.settle()
  }
}

extension ContextCore {
  /// Whether a relationship may be changed before what waits is settled, so that loops settle once.
  ///
  /// That is so when nothing else waits, and for many objects of one owner: changes of different
  /// to-one relationships to a to-many one don't affect one another.
  fileprivate func canWait(changing key: LinkKey, of model: any PersistentModel) -> Bool {
    guard unsettledDeletions.isEmpty else { return false }
    if unsettled == [key] { return true }
    return !hasEntangled && !isEntangling(key.relationship, store.bindings.entity(type(of: model)))
  }

  /// Whether settling a relationship may change others of its kind.
  func isEntangling(_ index: Int, _ entity: EntityBinding?) -> Bool {
    guard let relationship = entity?.relationship(at: index) else { return false }
    return relationship.isToMany || relationship.inverseRelationship?.isToMany == false
  }
}
