/// Reads records by their stored shape alone, for tools.
package struct RecordDump: Sendable {
  package let stored: StoredEntityShape
  private let projection: RecordProjection

  /// A reader of the records of `stored`.
  package init(_ stored: StoredEntityShape) {
    self.stored = stored
    projection = RecordProjection(
      from: stored, to: EntityDescription(stored.shape), defaults: FrozenDefaults()
    ) {
      IdentifierSpace(storeIdentifier: nil, entityName: $0)
    }
  }

  /// The names and values of a record's fields, in the order of declaration, without to-many relationships;
  /// `nil` when the record is too short.
  package func values(_ record: UnsafeRawBufferPointer) -> [(name: String, value: FieldValue)]? {
    guard let header = RecordHeader(record), let view = RecordView(record, header, projection) else {
      return nil
    }
    return stored.shape.properties.enumerated().compactMap { index, property in
      guard property.fieldType != nil else { return nil }
      if view.isDamaged(index) { return (property.name, .damaged([])) }
      return (property.name, view.value(index))
    }
  }
}
