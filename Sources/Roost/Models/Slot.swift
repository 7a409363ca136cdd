/// The storage of a property that may be a relationship: a value, or what it takes to find one.
///
/// `@Model` sees names, not types. It stores what is surely a scalar plainly and all else in a slot, and
/// leaves the choice between scalar, Codable and relationship to the overloads of `RecordReader.read`,
/// `RecordWriter.write`, `_$resolve`, `_$didChange` and `PropertyDescription.stored`.
public enum Slot<Value> {
  case value(Value)
  /// A to-one relationship not yet followed.
  case one(PersistentIdentifier)
  /// A to-many relationship not yet followed.
  case many([PersistentIdentifier])
  /// A to-many relationship whose members the record does not list; the context finds them.
  case stored
  /// No value: the record was damaged, or stands for an object that no longer exists.
  case missing

  @inlinable public init(_ value: Value) { self = .value(value) }

  /// The value, unless it has yet to be found.
  @inlinable public var loaded: Value? {
    if case .value(let value) = self { return value }
    return nil
  }

  @inlinable public var isLoaded: Bool {
    if case .value = self { return true }
    return false
  }

  /// A loaded value, to be changed in place. The slot is empty meanwhile, so that a collection in it
  /// has a single owner and isn't copied.
  @inlinable public var changeable: Value {
    get { loaded ?? neutralValue() }
    _modify {
      var value = loaded ?? neutralValue()
      self = .missing
      defer { self = .value(value) }
      yield &value
    }
  }
}
