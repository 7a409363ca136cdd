// How each kind of property is decoded. The generated code calls `read` for every property; the
// overload follows from the type of the storage it assigns to.

extension RecordReader {
  @inlinable
  public borrowing func read<T: PersistentScalar>(_ index: Int) -> T { scalar(index) }

  @inlinable
  public borrowing func read<T: PersistentScalar>(_ index: Int) -> Slot<T> { .value(scalar(index)) }

  @inlinable
  public borrowing func read<T: RawRepresentable>(_ index: Int) -> Slot<T>
  where T.RawValue: PersistentScalar {
    let raw: T.RawValue = scalar(index)
    if let value = T(rawValue: raw) { return .value(value) }
    fail(at: index, "\(raw) is not a raw value of \(T.self)")
    return .missing
  }

  @inlinable
  public borrowing func read<T: RawRepresentable>(_ index: Int) -> Slot<T?>
  where T.RawValue: PersistentScalar {
    let raw: T.RawValue? = scalar(index)
    guard let raw else { return .value(nil) }
    if let value = T(rawValue: raw) { return .value(value) }
    fail(at: index, "\(raw) is not a raw value of \(T.self)")
    return .missing
  }

  @inlinable
  public borrowing func read<T: PersistentModel>(_ index: Int) -> Slot<T> {
    if let identifier = identifier(index) { return .one(identifier) }
    fail(at: index, "the required relationship to \(T.self) is nil")
    return .missing
  }

  @inlinable
  public borrowing func read<T: PersistentModel>(_ index: Int) -> Slot<T?> {
    if let identifier = identifier(index) { return .one(identifier) }
    return .value(nil)
  }

  @inlinable
  public borrowing func read<T: PersistentModel>(_ index: Int) -> Slot<[T]> {
    guard let identifiers = identifiers(index) else { return .stored }
    return identifiers.isEmpty ? .value([]) : .many(identifiers)
  }

  @inlinable
  public borrowing func read<T: PersistentModel>(_ index: Int) -> Slot<[T]?> {
    guard let identifiers = identifiers(index) else { return .stored }
    return .many(identifiers)
  }

  @_disfavoredOverload @inlinable
  public borrowing func read<T: Codable>(_ index: Int) -> Slot<T> {
    if let value = codable(index, as: T.self) { return .value(value) }
    return .missing
  }

  /// Lets the one error about an unsupported type come from `PropertyDescription.stored`.
  @_disfavoredOverload
  public borrowing func read<T>(_ index: Int, _ unsupported: Void = ()) -> Slot<T> { .missing }
}
