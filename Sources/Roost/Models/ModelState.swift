/// What an object knows of its place in a context. One is stored inline in every model object.
public struct ModelState: ~Copyable {
  /// Nil until the object is registered or somebody asks for its identifier.
  var identifier: PersistentIdentifier?

  /// The context the object belongs to, which it keeps alive.
  private(set) var context: (any ModelContextCore)?

  /// The properties whose next change the context wants to hear of before it happens.
  ///
  /// Empty without a context. `all` while the object is as it was last saved.
  @usableFromInline var watched = PropertyMask()

  /// Made when the object is first read while observation tracking is on.
  private var observers: RegistrarBox?

  var isDeleted = false

  public init() {}

  deinit {
    if let context, let identifier { context.unregister(identifier) }
  }
}

/// Keeps an unobserved object small: a registrar of a resilient library has no fixed size.
private final class RegistrarBox {
  let registrar = ObservationRegistrar()
}

// MARK: - The context's side

extension ModelState {
  /// The properties changed since they were last put under watch. All of them for a new object.
  var changes: PropertyMask {
    context == nil ? PropertyMask() : PropertyMask.all.subtracting(watched)
  }

  var hasChanges: Bool { context != nil && watched != .all }

  /// Makes the object a member of a context: clean if it came from the store, else all changed.
  mutating func register(
    _ identifier: PersistentIdentifier, with context: any ModelContextCore, isNew: Bool
  ) {
    self.identifier = identifier
    self.context = context
    watched = isNew ? PropertyMask() : .all
  }

  /// Makes the object a plain one that keeps its values and identifier; the context forgets it itself.
  mutating func detach() {
    context = nil
    watched = PropertyMask()
  }

  /// Puts every property under watch again, after its changes were saved or undone.
  mutating func markClean() { watched = context == nil ? PropertyMask() : .all }

  /// Counts these properties as changed without telling the context.
  mutating func markChanged(_ properties: PropertyMask) { watched = watched.subtracting(properties) }
}

// MARK: - The generated code's side

extension ModelState {
  public var isRegistered: Bool { context != nil }

  /// Whether the context must hear of this property's coming change.
  @inlinable public func watches(_ index: Int) -> Bool { watched.contains(index) }

  /// The object's registrar, if it was ever read while observation tracking was on.
  public var registrar: ObservationRegistrar? { observers?.registrar }

  mutating func makeRegistrar() -> ObservationRegistrar {
    if let observers { return observers.registrar }
    let box = RegistrarBox()
    observers = box
    return box.registrar
  }
}

extension PersistentModel {
  /// Tells the context that a property is about to change.
  @inlinable
  public func _$willChange(at index: Int) {
    if _$state.watches(index) { _$tellContext(at: index) }
  }

  public func _$tellContext(at index: Int) {
    let context = _$state.context
    context?.willChange(self, at: index)
    _$state.watched.remove(index)
  }

  /// Records a read for the observation tracking that is running.
  public func _$access<Value>(_ keyPath: KeyPath<Self, Value>) {
    let registrar = _$state.makeRegistrar()
    registrar.access(self, keyPath: keyPath)
  }
}
