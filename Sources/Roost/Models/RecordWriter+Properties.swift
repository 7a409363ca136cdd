// How each kind of property is encoded: the counterpart of `RecordReader.read`.

extension RecordWriter {
  @inlinable
  public mutating func write<T: PersistentScalar>(_ value: T, at index: Int) { scalar(value, at: index) }

  @inlinable
  public mutating func write<T: PersistentScalar>(_ slot: Slot<T>, at index: Int) {
    if case .value(let value) = slot { scalar(value, at: index) }
  }

  @inlinable
  public mutating func write<T: RawRepresentable>(_ slot: Slot<T>, at index: Int)
  where T.RawValue: PersistentScalar {
    if case .value(let value) = slot { scalar(value.rawValue, at: index) }
  }

  @inlinable
  public mutating func write<T: RawRepresentable>(_ slot: Slot<T?>, at index: Int)
  where T.RawValue: PersistentScalar {
    if case .value(let value) = slot { scalar(value?.rawValue, at: index) }
  }

  @inlinable
  public mutating func write<T: PersistentModel>(_ slot: Slot<T>, at index: Int) {
    switch slot {
    case .value(let value): identifier(value.persistentModelID, at: index)
    case .one(let target): identifier(target, at: index)
    case .many, .stored, .missing: identifier(nil, at: index)
    }
  }

  @inlinable
  public mutating func write<T: PersistentModel>(_ slot: Slot<T?>, at index: Int) {
    switch slot {
    case .value(let value): identifier(value?.persistentModelID, at: index)
    case .one(let target): identifier(target, at: index)
    case .many, .stored, .missing: identifier(nil, at: index)
    }
  }

  @inlinable
  public mutating func write<T: PersistentModel>(_ slot: Slot<[T]>, at index: Int) {
    guard takesMembers else { return unchangedIdentifiers(at: index) }
    switch slot {
    case .value(let value): identifiers(value.map(\.persistentModelID), at: index)
    case .many(let targets): identifiers(targets, at: index)
    case .stored: unchangedIdentifiers(at: index)
    case .one, .missing: identifiers([], at: index)
    }
  }

  @inlinable
  public mutating func write<T: PersistentModel>(_ slot: Slot<[T]?>, at index: Int) {
    guard takesMembers else { return unchangedIdentifiers(at: index) }
    switch slot {
    case .value(let value): identifiers(value?.map(\.persistentModelID) ?? [], at: index)
    case .many(let targets): identifiers(targets, at: index)
    case .stored: unchangedIdentifiers(at: index)
    case .one, .missing: identifiers([], at: index)
    }
  }

  @_disfavoredOverload @inlinable
  public mutating func write<T: Codable>(_ slot: Slot<T>, at index: Int) {
    if case .value(let value) = slot { codable(value, at: index) }
  }

  /// Lets the one error about an unsupported type come from `PropertyDescription.stored`.
  @_disfavoredOverload
  public mutating func write<T>(_ slot: Slot<T>, at index: Int, _ unsupported: Void = ()) {}
}
