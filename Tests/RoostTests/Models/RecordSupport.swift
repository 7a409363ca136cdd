@testable import Roost

/// A copy of an object, by way of a record.
func recoded<Model: PersistentModel>(_ model: Model) -> Model {
  withRecord(of: model) { Model(_$record: $0) }
}

/// A reader of an object's record.
func withRecord<Model: PersistentModel, Result>(
  of model: Model, _ body: (borrowing RecordReader) -> Result
) -> Result {
  let entity = EntityDescription(EntityShape(Model._$entityName, Model._$properties.map(\.shape)))
  let stored = StoredEntityShape(id: 1, shape: entity.shape)
  let projection = RecordProjection(
    from: stored, to: entity, defaults: FrozenDefaults(), isSnapshot: true,
    space: { IdentifierSpace(storeIdentifier: "s", entityName: $0) })
  var writer = RecordWriter(entity.snapshotLayout, shape: 1, commit: 1)
  model._$encode(&writer)
  guard let record = try? writer.finish() else { return body(RecordReader.absent) }
  return record.withUnsafeBytes { bytes in
    guard let header = RecordHeader(bytes), let view = RecordView(bytes, header, projection) else {
      return body(RecordReader.absent)
    }
    return body(RecordReader(view, notes: RecordReader.Notes()))
  }
}

extension PropertyDescription {
  /// The property as a store would know it, as far as records are concerned.
  fileprivate var shape: PropertyShape {
    let options = metadata.attributeOptions.contains(.ephemeral) ? ["ephemeral"] : []
    switch kind {
    case .scalar(let type), .rawRepresentable(let type):
      return PropertyShape(name, type._$fieldType, isOptional: isOptional, options: options)
    case .codable: return PropertyShape(name, .coded, isOptional: isOptional, options: options)
    case .toOne(let type):
      return PropertyShape(name, toMany: false, .init(destination: type._$entityName))
    case .toMany(let type):
      return PropertyShape(name, toMany: true, .init(destination: type._$entityName))
    }
  }
}
