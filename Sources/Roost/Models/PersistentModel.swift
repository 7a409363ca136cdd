/// A class whose objects can be kept in a store. `@Model` writes the conformance.
///
/// The requirements with a `_$` prefix are the contract between the code that `@Model` generates
/// and this library; programs don't call them.
public protocol PersistentModel: AnyObject, Observable, Hashable, Identifiable, SendableMetatype {
  /// Makes an object of a stored record. Never traps: what can't be decoded is noted in the reader.
  init(_$record: borrowing RecordReader)

  /// Writes every stored property, in declaration order, an inherited one before the class's own.
  func _$encode(_ writer: inout RecordWriter)

  /// Replaces the values of the properties in `properties` by the record's and tells observers.
  ///
  /// Neither the context nor a property's own `didSet` hears of it.
  func _$refresh(_ reader: borrowing RecordReader, _ properties: PropertyMask)

  /// The model's stored properties, inherited ones first; a property's place here is its index.
  static var _$properties: [PropertyDescription] { get }

  /// The indexes and uniqueness rules that `#Index` and `#Unique` declare, inherited ones first.
  static var _$indexes: [IndexDescription] { get }

  /// The entity's name in the store: the class's name without what it is nested in.
  static var _$entityName: String { get }

  /// The name the entity had in the previous version of the schema, if it was renamed; its own name says
  /// that the model is new.
  static var _$originalName: String? { get }

  /// The model class this one inherits from.
  static var _$superentity: (any PersistentModel.Type)? { get }

  var _$state: ModelState { get set }
}

extension PersistentModel {
  public static var _$originalName: String? { nil }

  /// The object's identifier. It is temporary until the object is inserted into a context and never
  /// changes after that.
  public var persistentModelID: PersistentIdentifier {
    if let identifier = _$state.identifier { return identifier }
    let identifier = PersistentIdentifier.temporary(entityName: Self._$entityName)
    _$state.identifier = identifier
    return identifier
  }

  public var id: PersistentIdentifier { persistentModelID }

  /// Whether the object has been inserted, or a property was set, since the context last saved.
  /// False for an object that belongs to no context.
  public var hasChanges: Bool { _$state.hasChanges }

  /// Whether the object has been deleted from its context. Stays true after the deletion is saved;
  /// the object then keeps the values it had.
  public var isDeleted: Bool { _$state.isDeleted }

  public static func == (lhs: Self, rhs: Self) -> Bool { lhs === rhs }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
