/// What a store settled when it took over an entity's current shape: for each property its lineage, and the
/// field that stands in where a record has none.
///
/// The fields are the type's bytes as a record would hold them, and don't change as long as the schema doesn't.
package struct FrozenDefaults: Sendable, Hashable {
  private var fields: [String: [UInt8]]
  private var lineages: [String: UInt32] = [:]

  package init(_ fields: [String: [UInt8]] = [:]) {
    self.fields = fields
  }

  /// What a stored shape keeps.
  package init(_ shape: EntityShape) {
    fields = [:]
    for property in shape.properties {
      fields[property.name] = property.frozenDefault
      lineages[property.name] = property.lineage == 0 ? nil : property.lineage
    }
  }

  package subscript(property: String) -> [UInt8]? {
    get { fields[property] }
    set { fields[property] = newValue }
  }

  package func lineage(_ property: String) -> UInt32? { lineages[property] }
}

/// Which stored property each of the program's properties continues.
package struct PropertyMatch: Sendable {
  /// By the program's property index: the index of the stored property.
  package let stored: [Int?]
  /// Indices of the stored properties that no property of the program continues.
  package let removed: [Int]

  private init(_ matches: [Int?], of stored: EntityShape) {
    self.stored = matches
    let used = Set(matches.compactMap(\.self))
    removed = stored.properties.indices.filter { !used.contains($0) }
  }

  /// Matches with the store's current shape: a property continues the one of its own name; else the one of
  /// its original name, unless another property has that name now.
  package init(from current: EntityShape, to entity: EntityDescription) {
    let indices = Dictionary(
      current.properties.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    let names = Set(entity.shape.properties.map(\.name))
    let matches = zip(entity.shape.properties, entity.originalNames).map { property, original in
      indices[property.name] ?? original.flatMap { names.contains($0) ? nil : indices[$0] }
    }
    self.init(matches, of: current)
  }

  /// Matches with any shape of the store: a property continues the one of its lineage, whatever its name was.
  package init(from stored: EntityShape, to entity: EntityDescription, settled: FrozenDefaults) {
    let named = PropertyMatch(from: stored, to: entity)
    let indices = Dictionary(
      stored.properties.enumerated().map { ($1.lineage, $0) }, uniquingKeysWith: { first, _ in first })
    let matches = entity.shape.properties.enumerated().map { index, property in
      settled.lineage(property.name).map { indices[$0] } ?? named.stored[index]
    }
    self.init(matches, of: stored)
  }
}
