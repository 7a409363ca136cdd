/// An entity of the program: the shape that it has now, and what only the program knows.
package final class EntityDescription: Sendable {
  package let shape: EntityShape
  /// By property index: the name the property had before.
  package let originalNames: [String?]
  /// The layout of the entity's records.
  package let layout: RecordLayout
  /// The layout of snapshots, which hold to-many relationships too.
  package let snapshotLayout: RecordLayout

  package init(_ shape: EntityShape, originalNames: [String?] = []) {
    self.shape = shape
    self.originalNames = shape.properties.indices.map { $0 < originalNames.count ? originalNames[$0] : nil }
    layout = RecordLayout(shape.properties)
    snapshotLayout = RecordLayout(shape.properties, isSnapshot: true)
  }

  package var name: String { shape.name }
}

/// The fields that stand in for properties that a record doesn't have, by property name.
///
/// They are the type's bytes as a record would hold them, and don't change as long as the schema doesn't.
package struct FrozenDefaults: Sendable, Hashable {
  private var fields: [String: [UInt8]]

  package init(_ fields: [String: [UInt8]] = [:]) {
    self.fields = fields
  }

  /// The defaults that a stored shape keeps.
  package init(_ shape: EntityShape) {
    fields = [:]
    for property in shape.properties { fields[property.name] = property.frozenDefault }
  }

  package subscript(property: String) -> [UInt8]? {
    get { fields[property] }
    set { fields[property] = newValue }
  }
}

/// Which stored property each of the program's properties continues.
package struct PropertyMatch: Sendable {
  /// By the program's property index: the index of the stored property.
  package let stored: [Int?]
  /// Indices of the stored properties that no property of the program continues.
  package let removed: [Int]

  /// A property continues the one of its own name; else the one of its original name, unless another property has that name now.
  package init(from stored: EntityShape, to entity: EntityDescription) {
    let indices = Dictionary(
      stored.properties.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    let names = Set(entity.shape.properties.map(\.name))
    let matches = zip(entity.shape.properties, entity.originalNames).map { property, original in
      indices[property.name] ?? original.flatMap { names.contains($0) ? nil : indices[$0] }
    }
    self.stored = matches
    let used = Set(matches.compactMap(\.self))
    removed = stored.properties.indices.filter { !used.contains($0) }
  }
}
