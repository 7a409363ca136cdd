/// Works out what a store's schema is once it takes over the program's.
struct Adoption {
  private let description: SchemaDescription
  private(set) var schema: StoredSchema
  private(set) var newShapes: [StoredEntityShape] = []
  /// By the entities' new names.
  private let previous: [String: StoredEntityShape]
  private let transformed: Set<String>

  /// - Parameter transformed: the entities, by their new names, whose older records only a transform makes
  ///   current ones.
  init(_ description: SchemaDescription, over stored: StoredSchema?, transformed: Set<String> = []) {
    self.description = description
    self.transformed = transformed
    let number = (stored?.versions.map(\.number).max() ?? 0) &+ 1
    let version = StoredSchema.Version(
      number: number, label: description.label, digest: description.digest, shapes: [])
    let match = EntityMatch(from: (stored?.entities ?? []).map(\.shape.name), to: description.entities)
    previous = match.stored.compactMapValues { stored?.entity($0) }
    schema = StoredSchema(
      generation: (stored?.generation ?? 0) &+ 1, current: version, versions: stored?.versions ?? [],
      shapes: stored?.shapes ?? [:], outdated: stored?.outdated ?? [:],
      buildingIndexes: stored?.buildingIndexes ?? [], nextLineage: stored?.nextLineage ?? 1)
  }

  /// Gives each entity its shape's number: the one it has if nothing about it changed, else a new one.
  mutating func settleEntities() throws(RoostError) {
    var numbers: [UInt32] = []
    for entity in description.entities {
      if let current = previous[entity.name], current.shape.identityBytes == entity.shape.identityBytes,
        !transformed.contains(entity.name)
      {
        numbers.append(current.id)
        continue
      }
      let number = (schema.shapes.keys.max() ?? 0) + 1
      guard number <= RecordHeader.maximumShape else {
        throw RoostError(
          .invalidSchema, "The store has had as many shapes of entities as it can",
          remedy: "copy it into a new store")
      }
      var shape = StoredEntityShape(id: number, shape: try settled(entity))
      shape.shape.lineage = previous[entity.name]?.lineage ?? 0
      shape.shape.isTransformed = transformed.contains(entity.name)
      schema.shapes[number] = shape
      newShapes.append(shape)
      numbers.append(number)
    }
    let version = StoredSchema.Version(
      number: schema.current.number, label: description.label, digest: description.digest, shapes: numbers)
    schema.current = version
    schema.versions.append(version)
  }

  /// The entity's shape with lineages and frozen defaults.
  private mutating func settled(_ entity: EntityDescription) throws(RoostError) -> EntityShape {
    var shape = entity.shape
    let before = previous[entity.name]?.shape
    let match = before.map { PropertyMatch(from: $0, to: entity) }
    var fresh: Set<String> = []
    for index in shape.properties.indices {
      let old = match?.stored[index].flatMap { before?.properties[$0] }
      if let old {
        shape.properties[index].lineage = old.lineage
        shape.properties[index].frozenDefault = converted(old, to: shape.properties[index])
      } else {
        shape.properties[index].lineage = schema.nextLineage
        schema.nextLineage += 1
      }
      let isNew = before != nil && old == nil
      let becameRequired = old.map { $0.isOptional && !shape.properties[index].isOptional } ?? false
      if isNew || becameRequired { fresh.insert(shape.properties[index].name) }
    }
    do {
      let defaults = try entity.evaluateDefaults(of: fresh)
      for index in shape.properties.indices {
        if let field = defaults[shape.properties[index].name] {
          shape.properties[index].frozenDefault = field
        }
      }
    } catch {
      throw RoostError(
        .invalidSchema, "A property's initial value can't be encoded: \(error)",
        remedy: "correct the value or its type's encode(to:)", entity: entity.name,
        property: error.property.map { shape.properties[$0].name })
    }
    return shape
  }

  /// A property's frozen default in the type that the property has now.
  private func converted(_ old: PropertyShape, to property: PropertyShape) -> [UInt8]? {
    guard let bytes = old.frozenDefault, old.type != property.type else { return old.frozenDefault }
    return bytes.withUnsafeBytes { buffer in
      FieldValue(RecordField(bytes: buffer, type: old.type)).fieldBytes(as: property.type)
    }
  }

  /// Counts the records that aren't of current shapes once the schema is adopted.
  mutating func countOutdated(_ stored: StoredSchema, _ records: (String) throws -> Int) throws {
    let current = Set(schema.current.shapes)
    let lineages = Set(schema.entities.map(\.lineage))
    for entity in stored.entities where !current.contains(entity.id) && lineages.contains(entity.lineage) {
      let count = try records(entity.shape.name) - stored.outdatedCount(of: entity.shape.name)
      if count > 0 { schema.outdated[entity.id] = count }
    }
    // What is left of entities that are gone goes with their tables.
    schema.outdated = schema.outdated.filter { shape, _ in
      schema.shapes[shape].map { lineages.contains($0.lineage) } ?? false
    }
  }
}
