// Records of a bound model: reading those of any stored shape, writing those of its own.

extension EntityBinding {
  /// Calls `body` with a view of `record`, as the model reads it; gives nil when the record is damaged or of a
  /// shape that the store doesn't know.
  ///
  /// A record that waits for a transform goes through it first.
  func withView<R>(
    _ record: UnsafeRawBufferPointer, _ body: (RecordView) throws -> R
  ) rethrows -> R? {
    if !upgrades.isEmpty, let header = RecordHeader(record),
      let made = upgrades[header.shape]?.apply(record)
    {
      return try made.withUnsafeBytes { bytes in try plainView(bytes).map(body) }
    }
    return try plainView(record).map(body)
  }

  /// Throws when a record has no value for an attribute that has to have one.
  func checkReadable(_ view: RecordView, _ number: UInt64) throws(RoostError) {
    for property in delicate where !property.isReadable(view) {
      throw RoostError(
        .recordDamaged, "The record of object \(number) can't be read",
        remedy: "delete the object with another model, or give the property an initial value",
        entity: name, property: property.name, rows: 1)
    }
  }

  /// Calls `body` with a view of `record`.
  func withView<R>(_ record: [UInt8], _ body: (RecordView) throws -> R) rethrows -> R? {
    try record.withUnsafeBytes { bytes in try withView(bytes, body) }
  }

  /// A record in place, without any transform: for relationships, which these don't touch.
  func plainView(_ record: UnsafeRawBufferPointer) -> RecordView? {
    guard let header = RecordHeader(record), let projection = projections[header.shape] else { return nil }
    return RecordView(record, header, projection)
  }

  /// The object's record as commit `commit` writes it, and its to-many relationships as far as they are
  /// loaded.
  func encode(
    _ model: any PersistentModel, commit: UInt64, withMembers: Bool
  ) throws -> (record: [UInt8], links: [(index: Int, targets: [PersistentIdentifier])]) {
    var writer = RecordWriter(description.layout, shape: shapeNumber, commit: commit)
    writer.takesMembers = withMembers
    model._$encode(&writer)
    let links = writer.links
    do {
      return (try writer.finish(), links)
    } catch {
      throw RoostError.unencodable(name, property: property(error.property), reason: error.description)
    }
  }

  /// The object as it is, to go back to, without its to-many relationships: these can be read anew.
  func snapshot(of model: any PersistentModel) -> [UInt8]? {
    var writer = RecordWriter(description.snapshotLayout, shape: shapeNumber, commit: 0)
    writer.takesMembers = false
    model._$encode(&writer)
    return try? writer.finish()
  }

  /// A snapshot in place.
  func withSnapshot<R>(_ snapshot: [UInt8], _ body: (RecordView) throws -> R) rethrows -> R? {
    try snapshot.withUnsafeBytes { bytes in
      guard let header = RecordHeader(bytes), let view = RecordView(bytes, header, snapshotProjection) else {
        return nil
      }
      return try body(view)
    }
  }

  private func property(_ index: Int?) -> String? {
    index.flatMap { properties.indices.contains($0) ? properties[$0].name : nil }
  }
}

extension PropertyDescription {
  /// Whether there is a value: the record's, or one that stands in for it.
  func isReadable(_ view: RecordView) -> Bool {
    if value(of: view.field(index)) != nil { return true }
    func hasNeutral<Value>(_ type: Value.Type) -> Bool { neutral(type, depth: 0) != nil }
    return _openExistential(valueType, do: hasNeutral)
  }
}
