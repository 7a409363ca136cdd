import RoostKV

/// The error of the model layer.
///
/// `code` is for programs; `message` says what happened, `remedy` what to do about it. `entity` and
/// `property` say where, as far as that is known. A failure of the storage engine is in `underlying`.
public struct RoostError: Error, Sendable {
  private final class Details: Sendable {
    let code: Code
    let message: String
    let remedy: String
    let entity: String?
    let property: String?
    let rows: Int?
    let underlying: (any Error)?

    init(
      _ code: Code, _ message: String, _ remedy: String, _ entity: String?, _ property: String?, _ rows: Int?,
      _ underlying: (any Error)?
    ) {
      self.code = code
      self.message = message
      self.remedy = remedy
      self.entity = entity
      self.property = property
      self.rows = rows
      self.underlying = underlying
    }
  }

  // In an object, so that a function that throws costs one register.
  private let details: Details

  /// What kind of failure this is.
  public var code: Code { details.code }
  /// What happened.
  public var message: String { details.message }
  /// What can be done about it.
  public var remedy: String { details.remedy }
  /// The name of the entity concerned.
  public var entity: String? { details.entity }
  /// The name of the property concerned.
  public var property: String? { details.property }
  /// How many records are concerned.
  public var rows: Int? { details.rows }
  /// The error that caused this one: a `StoreError`, or what a program's own code threw.
  public var underlying: (any Error)? { details.underlying }

  package init(
    _ code: Code, _ message: String, remedy: String, entity: String? = nil, property: String? = nil,
    rows: Int? = nil, underlying: (any Error)? = nil
  ) {
    details = Details(code, message, remedy, entity, property, rows, underlying)
  }

  /// The engine's failure, as one of the model layer.
  package init(_ error: StoreError) {
    self.init(.store, error.message, remedy: error.remedy, underlying: error)
  }
}

extension RoostError: CustomStringConvertible {
  public var description: String {
    if let store = underlying as? StoreError, code == .store { return store.description }
    var facts: [String] = []
    if let entity { facts.append(property.map { "\(entity).\($0)" } ?? entity) }
    if let rows { facts.append(rows == 1 ? "1 record" : "\(rows) records") }
    let place = facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))"
    let cause = underlying.map { "; cause: \($0)" } ?? ""
    return "\(message)\(place): \(remedy)\(cause) [\(code)]"
  }
}

extension RoostError {
  /// A kind of failure. The set is open: later versions may add kinds, so a `switch` needs a default.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    public var description: String { rawValue }
  }
}

extension RoostError.Code {
  /// The storage engine failed; `underlying` is its `StoreError`.
  public static let store = Self(rawValue: "store")
  /// A record can't be read; `underlying` is its `RecordFailure`.
  public static let recordDamaged = Self(rawValue: "recordDamaged")

  // MARK: The models

  /// The models can't form a schema.
  public static let invalidSchema = Self(rawValue: "invalidSchema")
  /// The rows that describe the schema make no sense.
  public static let schemaDamaged = Self(rawValue: "schemaDamaged")

  // MARK: Migration

  /// The store holds a schema that is newer than the program's.
  public static let backwardMigration = Self(rawValue: "backwardMigration")
  /// The store's schema is none of the plan's.
  public static let unknownSchema = Self(rawValue: "unknownSchema")
  /// Another container or process has changed the store's schema.
  public static let schemaChanged = Self(rawValue: "schemaChanged")
  /// The plan's versions or stages contradict one another.
  public static let invalidPlan = Self(rawValue: "invalidPlan")
  /// A stage can't be done as records are read.
  public static let stageNotLazy = Self(rawValue: "stageNotLazy")
  /// Records wait for a transform that the program's plan has no longer.
  public static let stageMissing = Self(rawValue: "stageMissing")
  /// A property or model went and one like it came: it may have been renamed.
  public static let possibleRename = Self(rawValue: "possibleRename")
  /// The change would drop values, and no plan says that it may.
  public static let dataLoss = Self(rawValue: "dataLoss")
  /// The change needs a custom stage.
  public static let needsCustomStage = Self(rawValue: "needsCustomStage")
  /// Stored values don't fit the new schema.
  public static let valuesDontFit = Self(rawValue: "valuesDontFit")
}

// MARK: - Errors of schemas

extension RoostError {
  static func duplicateEntity(_ name: String) -> RoostError {
    RoostError(
      .invalidSchema, "Two models are named \(name)",
      remedy: "name one of them otherwise, or leave one out of the schema", entity: name)
  }

  static func duplicateProperty(_ name: String, in entity: String) -> RoostError {
    RoostError(
      .invalidSchema, "Two properties of a model have one name", remedy: "rename one of them", entity: entity,
      property: name)
  }

  static func unknownIndexProperty(in entity: String) -> RoostError {
    RoostError(
      .invalidSchema, "An #Index or #Unique names something that isn't a stored property of the model",
      remedy: "name stored properties of the model itself", entity: entity)
  }

  static func toManyIndex(_ property: String, in entity: String) -> RoostError {
    RoostError(
      .invalidSchema, "A to-many relationship can't be part of an index or uniqueness rule",
      remedy: "leave it out", entity: entity, property: property)
  }

  static func unknownInverse(of property: String, in entity: String) -> RoostError {
    RoostError(
      .invalidSchema, "The inverse given for a relationship isn't a relationship of its destination",
      remedy: "give a relationship of the destination, or none", entity: entity, property: property)
  }

  /// The rows that describe a store's schema make no sense.
  package static func schemaDamaged(_ what: String) -> RoostError {
    RoostError(
      .schemaDamaged, "The store's schema can't be read: \(what)",
      remedy: "check the store with the roost tool, and restore a backup")
  }
}
