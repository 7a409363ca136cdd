extension RoostError.Code {
  // MARK: Contexts

  /// A model that the container's schema doesn't have was inserted or fetched.
  public static let modelNotInSchema = Self(rawValue: "modelNotInSchema")
  /// An object of one context was given to another.
  public static let otherContext = Self(rawValue: "otherContext")
  /// The store was opened for reading only.
  public static let readOnly = Self(rawValue: "readOnly")
  /// Objects would have the same values where they must differ.
  public static let uniqueCollision = Self(rawValue: "uniqueCollision")
  /// A `.deny` relationship still has members.
  public static let deletionDenied = Self(rawValue: "deletionDenied")
  /// A required relationship has no object, or a to-many relationship too few or too many.
  public static let invalidRelationship = Self(rawValue: "invalidRelationship")
  /// A value's own encoding threw.
  public static let valueNotEncodable = Self(rawValue: "valueNotEncodable")
  /// Another context has saved a property that this one has changed too.
  public static let conflict = Self(rawValue: "conflict")
  /// A fetch asks for something contradictory.
  public static let invalidFetch = Self(rawValue: "invalidFetch")

  // MARK: Configurations

  /// The configuration can't be used.
  public static let invalidConfiguration = Self(rawValue: "invalidConfiguration")
}

extension RoostError {
  static func modelNotInSchema(_ type: any PersistentModel.Type, known: [String]) -> RoostError {
    RoostError(
      .modelNotInSchema,
      "\(String(reflecting: type)) is not one of the container's models (\(known.joined(separator: ", ")))",
      remedy: "list it when the container is made; of a model with several versions, use the one listed",
      entity: type._$entityName)
  }

  static func otherContext(_ entity: String) -> RoostError {
    RoostError(
      .otherContext, "An object that belongs to another context was inserted, deleted or referred to",
      remedy: "fetch it in this context by its persistentModelID", entity: entity)
  }

  static func readOnly(_ configuration: ModelConfiguration) -> RoostError {
    RoostError(
      .readOnly, "The store \(configuration.name) is open for reading only",
      remedy: "open it with a configuration whose allowsSave is true")
  }

  static func notWritable(_ entity: String) -> RoostError {
    RoostError(
      .schemaChanged, "The store has no table for a model", remedy: "open the container anew", entity: entity)
  }

  static func unencodable(_ entity: String, property: String?, reason: String) -> RoostError {
    RoostError(
      .valueNotEncodable, "A value can't be encoded: \(reason)",
      remedy: "correct the type's encode(to:), or store another value", entity: entity, property: property)
  }

  static func uniqueCollision(_ entity: String, properties: [String], numbers: [UInt64]) -> RoostError {
    RoostError(
      .uniqueCollision,
      "An object has the unique values of others (objects \(list(numbers)))",
      remedy: "give it other values, or change or delete the others first", entity: entity,
      property: properties.isEmpty ? nil : properties.joined(separator: ", "), rows: numbers.count)
  }

  static func deletionDenied(
    _ entity: String, _ number: UInt64, by property: String, members: [UInt64]
  ) -> RoostError {
    RoostError(
      .deletionDenied,
      "Object \(number) can't be deleted: the rule is .deny, and it still has objects \(list(members))",
      remedy: "delete those, or take them out of the relationship, first", entity: entity, property: property,
      rows: members.count)
  }

  static func missingRequired(_ entity: String, _ number: UInt64, property: String) -> RoostError {
    RoostError(
      .invalidRelationship, "Object \(number) has nothing in a relationship that isn't optional",
      remedy: "set it, delete the object too (deleteRule: .cascade), or make the relationship optional",
      entity: entity, property: property)
  }

  static func memberCount(
    _ entity: String, _ number: UInt64, property: String, count: Int, allowed: ClosedRange<Int>
  ) -> RoostError {
    RoostError(
      .invalidRelationship,
      """
      Object \(number) has \(count) objects in a relationship that takes \(allowed.lowerBound) to \
      \(allowed.upperBound)
      """,
      remedy: "add or remove some before saving", entity: entity, property: property)
  }

  static func conflict(_ entity: String, _ number: UInt64, property: String) -> RoostError {
    RoostError(
      .conflict, "Object \(number) was saved with another value by another context",
      remedy: "fetch it again and repeat the change, or choose another conflictPolicy", entity: entity,
      property: property)
  }

  static func configuration(_ message: String, remedy: String) -> RoostError {
    RoostError(.invalidConfiguration, message, remedy: remedy)
  }

  private static func list(_ numbers: [UInt64]) -> String {
    numbers.prefix(5).map(String.init).joined(separator: ", ") + (numbers.count > 5 ? ", …" : "")
  }
}
