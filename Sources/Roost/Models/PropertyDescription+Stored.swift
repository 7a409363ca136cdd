// Finds a property's kind. The overload is chosen where the model is compiled, by the types of the
// property and of its storage.

extension PropertyDescription {
  private init<Root: PersistentModel, Value>(
    _ name: String, _ keyPath: KeyPath<Root, Value>, at index: Int, kind: Kind,
    metadata: PropertyMetadata, default initial: (() -> Value)?,
    encodeDefault: ((inout RecordWriter) -> Void)? = nil, relationship: RelationshipAccess? = nil
  ) {
    self.name = name
    self.index = index
    self.keyPath = keyPath
    self.valueType = Value.self
    self.kind = kind
    self.isOptional = Value.self is any ExpressibleByNilLiteral.Type
    self.metadata = metadata
    self.defaultValue = initial.map { initial in { initial() } }
    self.encodeDefault = encodeDefault
    self.relationship = relationship
  }

  public static func stored<Root: PersistentModel, Value: PersistentScalar>(
    _ name: String, _ keyPath: KeyPath<Root, Value>, _ storage: ReferenceWritableKeyPath<Root, Value>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> Value)? = nil
  ) -> PropertyDescription {
    PropertyDescription(
      name, keyPath, at: index, kind: .scalar(Value.self), metadata: metadata, default: initial,
      encodeDefault: initial.map { initial in { $0.write(initial(), at: index) } })
  }

  public static func stored<Root: PersistentModel, Value: PersistentScalar>(
    _ name: String, _ keyPath: KeyPath<Root, Value>,
    _ storage: ReferenceWritableKeyPath<Root, Slot<Value>>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> Value)? = nil
  ) -> PropertyDescription {
    PropertyDescription(
      name, keyPath, at: index, kind: .scalar(Value.self), metadata: metadata, default: initial,
      encodeDefault: initial.map { initial in { $0.write(initial(), at: index) } })
  }

  public static func stored<Root: PersistentModel, Value: RawRepresentable>(
    _ name: String, _ keyPath: KeyPath<Root, Value>,
    _ storage: ReferenceWritableKeyPath<Root, Slot<Value>>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> Value)? = nil
  ) -> PropertyDescription where Value.RawValue: PersistentScalar {
    PropertyDescription(
      name, keyPath, at: index, kind: .rawRepresentable(Value.RawValue.self), metadata: metadata,
      default: initial,
      encodeDefault: initial.map { initial in { $0.write(Slot(initial()), at: index) } })
  }

  public static func stored<Root: PersistentModel, Value: RawRepresentable>(
    _ name: String, _ keyPath: KeyPath<Root, Value?>,
    _ storage: ReferenceWritableKeyPath<Root, Slot<Value?>>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> Value?)? = nil
  ) -> PropertyDescription where Value.RawValue: PersistentScalar {
    PropertyDescription(
      name, keyPath, at: index, kind: .rawRepresentable(Value.RawValue.self), metadata: metadata,
      default: initial,
      encodeDefault: initial.map { initial in { $0.write(Slot(initial()), at: index) } })
  }

  @_disfavoredOverload
  public static func stored<Root: PersistentModel, Value: Codable>(
    _ name: String, _ keyPath: KeyPath<Root, Value>,
    _ storage: ReferenceWritableKeyPath<Root, Slot<Value>>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> Value)? = nil
  ) -> PropertyDescription {
    PropertyDescription(
      name, keyPath, at: index, kind: .codable, metadata: metadata, default: initial,
      encodeDefault: initial.map { initial in { $0.write(Slot(initial()), at: index) } })
  }

  @available(
    *, unavailable,
    message: "a model's stored property must be of a standard type, Codable, or another model"
  )
  @_disfavoredOverload
  public static func stored<Root: PersistentModel, Value>(
    _ name: String, _ keyPath: KeyPath<Root, Value>,
    _ storage: ReferenceWritableKeyPath<Root, Slot<Value>>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> Value)? = nil,
    _ unsupported: Void = ()
  ) -> PropertyDescription {
    PropertyDescription(
      name, keyPath, at: index, kind: .codable, metadata: metadata, default: initial)
  }
}

extension PropertyDescription {
  public static func stored<Root: PersistentModel, Target: PersistentModel>(
    _ name: String, _ keyPath: KeyPath<Root, Target>,
    _ storage: ReferenceWritableKeyPath<Root, Slot<Target>>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> Target)? = nil
  ) -> PropertyDescription {
    PropertyDescription(
      name, keyPath, at: index, kind: .toOne(Target.self), metadata: metadata, default: initial,
      relationship: RelationshipAccess(toOne: keyPath, storage: storage))
  }

  public static func stored<Root: PersistentModel, Target: PersistentModel>(
    _ name: String, _ keyPath: KeyPath<Root, Target?>,
    _ storage: ReferenceWritableKeyPath<Root, Slot<Target?>>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> Target?)? = nil
  ) -> PropertyDescription {
    PropertyDescription(
      name, keyPath, at: index, kind: .toOne(Target.self), metadata: metadata, default: initial,
      relationship: RelationshipAccess(toOne: keyPath, storage: storage))
  }

  public static func stored<Root: PersistentModel, Target: PersistentModel>(
    _ name: String, _ keyPath: KeyPath<Root, [Target]>,
    _ storage: ReferenceWritableKeyPath<Root, Slot<[Target]>>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> [Target])? = nil
  ) -> PropertyDescription {
    PropertyDescription(
      name, keyPath, at: index, kind: .toMany(Target.self), metadata: metadata, default: initial,
      relationship: RelationshipAccess(toMany: keyPath, storage: storage))
  }

  public static func stored<Root: PersistentModel, Target: PersistentModel>(
    _ name: String, _ keyPath: KeyPath<Root, [Target]?>,
    _ storage: ReferenceWritableKeyPath<Root, Slot<[Target]?>>,
    at index: Int, _ metadata: PropertyMetadata, default initial: (() -> [Target]?)? = nil
  ) -> PropertyDescription {
    PropertyDescription(
      name, keyPath, at: index, kind: .toMany(Target.self), metadata: metadata, default: initial,
      relationship: RelationshipAccess(toMany: keyPath, storage: storage))
  }
}
