/// An entity of the program: the shape that it has now, and what only the program knows.
package final class EntityDescription: Sendable {
  package let shape: EntityShape
  /// The name given as the one the entity had before. An entity that is given its own name is a new one,
  /// whatever it looks like.
  package let originalName: String?
  /// By property index: the name given as the one the property had before. A property that is given its own
  /// name is a new one, whatever it looks like.
  package let originalNames: [String?]
  /// The properties that have an initial value, by name.
  package let initialized: Set<String>
  /// The model's class; `nil` for an entity that is known by its shape alone.
  package let type: (any PersistentModel.Type)?
  /// The layout of the entity's records.
  package let layout: RecordLayout
  /// The layout of snapshots, which hold to-many relationships too.
  package let snapshotLayout: RecordLayout

  package init(
    _ shape: EntityShape, originalName: String? = nil, originalNames: [String?] = [], initialized: Set<String> = [],
    type: (any PersistentModel.Type)? = nil
  ) {
    self.shape = shape
    self.originalName = originalName
    self.type = type
    self.initialized = initialized
    self.originalNames = shape.properties.indices.map { $0 < originalNames.count ? originalNames[$0] : nil }
    layout = RecordLayout(shape.properties)
    snapshotLayout = RecordLayout(shape.properties, isSnapshot: true)
  }

  package var name: String { shape.name }
}

extension EntityDescription {
  /// Evaluates the initial values of properties, by name, each once.
  ///
  /// Throws when a value can't be encoded.
  package func evaluateDefaults(of names: Set<String>) throws(RecordFailure) -> FrozenDefaults {
    var defaults = FrozenDefaults()
    guard let type, !names.isEmpty else { return defaults }
    var writer = RecordWriter(layout, shape: 0, commit: 0)
    for property in type._$properties where names.contains(property.name) {
      property.encodeDefault?(&writer)
    }
    let record = try writer.finish()
    let own = StoredEntityShape(id: 0, shape: shape)
    let projection = RecordProjection(from: own, to: self, defaults: defaults) { name in
      IdentifierSpace(storeIdentifier: nil, entityName: name)
    }
    record.withUnsafeBytes { bytes in
      guard let header = RecordHeader(bytes), let view = RecordView(bytes, header, projection) else { return }
      for (index, property) in shape.properties.enumerated() where names.contains(property.name) {
        if let field = view.field(index).bytes { defaults[property.name] = Array(field) }
      }
    }
    return defaults
  }
}
