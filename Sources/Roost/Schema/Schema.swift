/// The models of a store, with their properties, relationships, indexes and rules.
///
/// A schema is made of model types; those that their relationships and superclasses reach are in it too.
/// It does not change once it is made.
public final class Schema: Codable, Sendable {
  /// The version of the form in which schemas are saved.
  public static let schemaEncodingVersion = Version(1, 0, 0)

  public let encodingVersion: Version
  /// The label that the schema's author gave it.
  public let version: Version
  /// Every entity, in the order of the types given, those reached by relationships after them.
  public let entities: [Entity]
  public let entitiesByName: [String: Entity]
  /// The model types, in the order of `entities`; empty for a schema that was decoded.
  package let types: [any PersistentModel.Type]
  /// What is wrong with the models, if anything: found when the schema is made, thrown when it is used.
  package let problem: RoostError?

  init(_ entities: [Entity], types: [any PersistentModel.Type], version: Version, problem: RoostError?) {
    encodingVersion = Self.schemaEncodingVersion
    self.version = version
    self.entities = entities
    self.types = types
    self.problem = problem
    entitiesByName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// An empty schema.
  public convenience init() {
    self.init([Entity](), types: [], version: Version(1, 0, 0), problem: nil)
  }

  /// A schema of entities that were described by hand.
  public convenience init(_ entities: Entity..., version: Version = Version(1, 0, 0)) {
    self.init(entities, types: [], version: version, problem: nil)
  }

  /// A schema of these models and all they reach.
  public convenience init(_ types: [any PersistentModel.Type], version: Version = Version(1, 0, 0)) {
    let models = SchemaModels(types)
    self.init(models.entities, types: models.types, version: version, problem: models.problem)
  }

  /// A schema of these models and all they reach.
  public convenience init(_ types: any PersistentModel.Type..., version: Version = Version(1, 0, 0)) {
    self.init(types, version: version)
  }

  /// The schema of a version, labelled with its identifier.
  public convenience init(versionedSchema: any VersionedSchema.Type) {
    self.init(versionedSchema.models, version: versionedSchema.versionIdentifier)
  }

  /// The entity of a model type, if the schema has it.
  public func entity<T: PersistentModel>(for type: T.Type) -> Entity? {
    guard let index = types.firstIndex(where: { $0 == type }) else { return entitiesByName[T._$entityName] }
    return entities[index]
  }

  /// The name of a model type's entity.
  public static func entityName<T: PersistentModel>(for type: T.Type) -> String { T._$entityName }

  /// Throws when the models can't form a schema: two entities of one name, say.
  package func validate() throws(RoostError) {
    if let problem { throw problem }
  }
}

// MARK: - Saving and comparing

extension Schema {
  private enum CodingKeys: String, CodingKey {
    case encodingVersion, version, entities
  }

  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let entities = try container.decode([Entity].self, forKey: .entities)
    for entity in entities {
      entity.superentity = entities.first { $0.name == entity.superentityName }
      entity.subentities = Set(entities.filter { $0.superentityName == entity.name })
    }
    self.init(
      entities, types: [], version: try container.decode(Version.self, forKey: .version), problem: nil)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(encodingVersion, forKey: .encodingVersion)
    try container.encode(version, forKey: .version)
    try container.encode(entities, forKey: .entities)
  }

  /// Writes the schema, as JSON, to a file.
  public func save(to url: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(self).write(to: url, options: .atomic)
  }

  /// Reads a schema that `save` wrote. It has no model types.
  public static func load(from url: URL) throws -> Schema {
    try JSONDecoder().decode(Schema.self, from: Data(contentsOf: url))
  }
}

extension Schema: Hashable {
  /// Schemas are equal when they have the same version and entities of the same shapes.
  public static func == (left: Schema, right: Schema) -> Bool {
    left.version == right.version && Set(left.entities) == Set(right.entities)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(version)
    hasher.combine(Set(entities))
  }
}

extension Schema: CustomDebugStringConvertible {
  public var debugDescription: String {
    "Schema \(version): \(entities.map(\.name).joined(separator: ", "))"
  }
}

// MARK: - Version

extension Schema {
  /// A label of three numbers, ordered by the first that differs.
  public struct Version: Codable, Hashable, Sendable {
    public let major: Int
    public let minor: Int
    public let patch: Int

    /// Negative numbers count as 0.
    public init(_ major: Int, _ minor: Int, _ patch: Int) {
      self.major = max(0, major)
      self.minor = max(0, minor)
      self.patch = max(0, patch)
    }
  }
}

extension Schema.Version: Comparable, CustomStringConvertible {
  public static func < (left: Schema.Version, right: Schema.Version) -> Bool {
    (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
  }

  public var description: String { "\(major).\(minor).\(patch)" }
}
