import RoostKV

/// All that a store knows of its schema: the version it has, those it had, and the shapes of its records.
package struct StoredSchema: Sendable {
  /// A schema version that the store has had.
  package struct Version: Sendable, Equatable {
    package let number: UInt32
    package let label: Schema.Version
    /// The digest of the version's shapes; see `SchemaDescription.digest`.
    package let digest: UInt64
    /// The numbers of the entities' shapes, in the order of the schema.
    package let shapes: [UInt32]
  }

  /// Counts up whenever the schema, or what is known of it, changes.
  package var generation: UInt64
  /// The version that the store has.
  package var current: Version
  /// All versions that the store has had, oldest first, the current one among them.
  package var versions: [Version]
  /// All shapes that records may have, and older ones, by number.
  package var shapes: [UInt32: StoredEntityShape]
  /// How many records there are of each shape that isn't current.
  package var outdated: [UInt32: Int]
  /// The index tables that aren't complete yet.
  package var buildingIndexes: Set<String>
  /// The number that the next new property gets.
  package var nextLineage: UInt32

  /// The current entities, in the order of the schema.
  package var entities: [StoredEntityShape] { current.shapes.compactMap { shapes[$0] } }

  /// The current shape of an entity.
  package func entity(_ name: String) -> StoredEntityShape? {
    entities.first { $0.shape.name == name }
  }

  /// Every shape that a current entity has had, under whatever name, oldest first.
  package func shapes(of entity: String) -> [StoredEntityShape] {
    guard let lineage = self.entity(entity)?.lineage else { return [] }
    return shapes.values.filter { $0.lineage == lineage }.sorted { $0.id < $1.id }
  }

  /// How many records of a current entity are of older shapes.
  package func outdatedCount(of entity: String) -> Int {
    shapes(of: entity).reduce(0) { $0 + (outdated[$1.id] ?? 0) }
  }

  /// Whether the store has had a schema of this digest and label, the current one aside.
  package func hasSuperseded(digest: UInt64, label: Schema.Version? = nil) -> Bool {
    versions.contains {
      $0.number != current.number && $0.digest == digest && (label == nil || $0.label == label)
    }
  }

  /// Outdated records, of all shapes together.
  package var outdatedCount: Int { outdated.values.reduce(0, +) }
}

/// A schema of the program, as far as stores are concerned.
package struct SchemaDescription: Sendable {
  package let label: Schema.Version
  package let entities: [EntityDescription]

  package init(label: Schema.Version, _ entities: [EntityDescription]) {
    self.label = label
    self.entities = entities
  }

  package init(_ schema: Schema) {
    self.init(label: schema.version, schema.entities.map(\.description))
  }

  /// Identifies the entities' shapes, whatever their order and the schema's label.
  package var digest: UInt64 { Self.digest(entities.map(\.shape)) }

  package static func digest(_ shapes: [EntityShape]) -> UInt64 {
    let identities = shapes.map(\.identityBytes).sorted { $0.lexicographicallyPrecedes($1) }
    return CodedValue.array(identities.map { .data($0) }).bytes.withUnsafeBytes { XXH3.hash($0) }
  }
}
