/// What a schema's tables were named before a change of the schema.
enum FormerTables {
  /// Every table of the schema, with the one of an earlier schema that goes on as it; nil for a new one.
  ///
  /// - Parameter rebuilding: entities whose indexes begin anew.
  static func all(
    of schema: StoredSchema, _ before: StoredSchema, rebuilding: Set<String> = []
  ) -> [(name: String, former: String?)] {
    schema.entities.flatMap { entity in
      tables(
        of: entity.shape, before.former(of: entity)?.shape,
        keepsIndexes: !rebuilding.contains(entity.shape.name))
    }
  }

  private static func tables(
    of new: EntityShape, _ old: EntityShape?, keepsIndexes: Bool
  ) -> [(name: String, former: String?)] {
    var tables: [(name: String, former: String?)] = [
      (TableNames.records(new.name), old.map { TableNames.records($0.name) })
    ]
    for property in new.properties where property.kind == .toMany {
      let former = old?.former(of: property).flatMap { $0.kind == .toMany ? $0 : nil }
      let name = former.flatMap { former in old.map { TableNames.links($0.name, former.name) } }
      tables.append((TableNames.links(new.name, property.name), name))
    }
    for index in new.allIndexes {
      let name = keepsIndexes ? old.flatMap { former(of: index, new, $0) } : nil
      tables.append((TableNames.index(index, of: new.name), name))
    }
    return tables
  }

  /// The table of the same index before, if its rows are right still.
  private static func former(of index: IndexShape, _ new: EntityShape, _ old: EntityShape) -> String? {
    var names: [String] = []
    for name in index.names {
      guard let property = new.property(name), let former = old.former(of: property),
        property.hasIndexKeys(of: former)
      else { return nil }
      names.append(former.name)
    }
    let former = IndexShape(names: names, isUnique: index.isUnique)
    return old.allIndexes.contains(former) ? TableNames.index(former, of: old.name) : nil
  }
}

/// The tables of links that a change of the schema leaves incomplete.
enum UnbuiltTables {
  /// Those of to-many relationships that are new while their inverse is not.
  static func names(in schema: StoredSchema, _ before: StoredSchema) -> [String] {
    schema.entities.flatMap { entity -> [String] in
      guard let old = before.former(of: entity)?.shape else { return [] }
      return entity.shape.properties.compactMap { property in
        guard property.kind == .toMany, old.former(of: property) == nil,
          before.hadInverse(of: property, in: schema)
        else { return nil }
        return TableNames.links(entity.shape.name, property.name)
      }
    }
  }
}

extension StoredSchema {
  /// The shape that an entity of a later schema had in this one.
  func former(of entity: StoredEntityShape) -> StoredEntityShape? {
    entities.first { $0.lineage == entity.lineage }
  }

  /// Whether the inverse of a relationship of a later schema was in this one.
  func hadInverse(of property: PropertyShape, in later: StoredSchema) -> Bool {
    guard let relationship = property.relationship, let name = relationship.inverse,
      let destination = later.entity(relationship.destination),
      let inverse = destination.shape.property(name),
      let former = former(of: destination)?.shape.former(of: inverse)
    else { return false }
    return former.kind != .attribute
  }
}

extension EntityShape {
  /// The property of this shape that one of a later shape continues.
  func former(of property: PropertyShape) -> PropertyShape? {
    guard property.lineage != 0 else { return self.property(property.name) }
    return properties.first { $0.lineage == property.lineage }
  }
}

extension PropertyShape {
  /// Whether index rows made of the former property's values are those of this one's.
  func hasIndexKeys(of former: PropertyShape) -> Bool {
    // Nil may read as a default now.
    if former.isOptional && !isOptional { return false }
    return type.keyForm == former.type.keyForm
  }
}

extension FieldType {
  /// Types of one form have the same index keys for the same values.
  var keyForm: UInt8 {
    if integerRange != nil { return FieldType.int64.rawValue }
    switch self {
    case .float: return FieldType.double.rawValue
    case .url: return FieldType.string.rawValue
    default: return rawValue
    }
  }
}
