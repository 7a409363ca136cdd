/// Turns records of older shapes into records of the current one, without making objects.
package enum RecordRewriter {
  /// What is read through `view`, as a record of `entity`'s own layout.
  ///
  /// Throws when a field can't be read as its property's type.
  package static func rewrite(
    _ view: RecordView, as entity: EntityDescription, shape: UInt32, commit: UInt64
  ) throws(RecordFailure) -> [UInt8] {
    var writer = RecordWriter(entity.layout, shape: shape, commit: commit)
    for (index, property) in entity.shape.properties.enumerated() {
      guard let type = property.fieldType else { continue }
      try copy(index, of: view, as: type, isOptional: property.isOptional, to: &writer)
    }
    return try writer.finish()
  }

  /// What is read through `view`, with the values that a transform makes of the record's old ones.
  ///
  /// - Parameters:
  ///   - view: the record as the new model reads it.
  ///   - old: the record as the old model reads it.
  package static func rewrite(
    _ view: RecordView, _ old: RecordView, _ transform: RecordTransform, as entity: EntityDescription,
    shape: UInt32, commit: UInt64
  ) throws -> [UInt8] {
    var writer = RecordWriter(entity.layout, shape: shape, commit: commit)
    for (index, property) in entity.shape.properties.enumerated() {
      guard let type = property.fieldType else { continue }
      // What can't be taken over the transform may still set.
      try? copy(index, of: view, as: type, isOptional: property.isOptional, to: &writer)
    }
    try transform.apply(old, &writer)
    return try writer.finish()
  }

  private static func copy(
    _ index: Int, of view: RecordView, as type: FieldType, isOptional: Bool, to writer: inout RecordWriter
  ) throws(RecordFailure) {
    if view.isDamaged(index) { throw RecordFailure(property: index, reason: .damagedField) }
    let field = view.field(index)
    if field.type == type, field.bytes != nil { return writer.copy(field, at: index) }
    switch FieldValue(field) {
    case .null:
      guard isOptional || type == .coded else { throw RecordFailure(property: index, reason: .unexpectedNil) }
      writer.null(at: index)
    case .damaged: throw RecordFailure(property: index, reason: .damagedField)
    case let value:
      guard let bytes = value.fieldBytes(as: type) else {
        throw RecordFailure(property: index, reason: .notConvertible)
      }
      bytes.withUnsafeBytes { writer.copy(RecordField(bytes: $0, type: type), at: index) }
    }
  }
}

extension RecordView {
  /// Why the property can't be read from this record as its own type; `nil` when it can.
  ///
  /// Looks at the field, not at what a Codable type's own code makes of it.
  package func problem(_ index: Int, _ property: PropertyShape) -> RecordFailure.Reason? {
    if isDamaged(index) { return .damagedField }
    switch value(index) {
    case .null:
      return property.isOptional || property.kind == .toMany || property.type == .coded ? nil : .unexpectedNil
    case .damaged: return .damagedField
    case let value: return value.converted(to: property.type) == nil ? .notConvertible : nil
    }
  }
}
