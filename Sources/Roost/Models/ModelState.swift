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

  /// The object's registrar, if it was ever read while observation tracking was on.
  public internal(set) var registrar: ModelRegistrar?

  var isDeleted = false

  public init() {}

  deinit {
    if let context, let identifier { context.unregister(identifier) }
  }
}

/// An observation registrar behind a reference. `ObservationRegistrar` itself comes from a resilient
/// library: stored inline it has no fixed size, and each copy is a call through its type's metadata.
public final class ModelRegistrar {
  private let registrar = ObservationRegistrar()

  public func access<Model: PersistentModel, Value>(_ model: Model, keyPath: KeyPath<Model, Value>) {
    registrar.access(model, keyPath: keyPath)
  }

  public func willSet<Model: PersistentModel, Value>(_ model: Model, keyPath: KeyPath<Model, Value>) {
    registrar.willSet(model, keyPath: keyPath)
  }

  public func didSet<Model: PersistentModel, Value>(_ model: Model, keyPath: KeyPath<Model, Value>) {
    registrar.didSet(model, keyPath: keyPath)
  }
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

  mutating func makeRegistrar() -> ModelRegistrar {
    if let registrar { return registrar }
    let made = ModelRegistrar()
    registrar = made
    return made
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
