/// Says rows of the history in the words of a program's models.
final class HistoryReader: Sendable {
  private let bindings: ModelBindings
  /// By a shape's number: the entity, and where each of the shape's properties is in the program's model.
  private let entities: [UInt32: (entity: EntityBinding, places: [Int?])]

  init(_ bindings: ModelBindings) {
    self.bindings = bindings
    var entities: [UInt32: (entity: EntityBinding, places: [Int?])] = [:]
    for entity in bindings.entities {
      let current = entity.shapes[entity.shapeNumber]?.properties ?? []
      for (number, shape) in entity.shapes {
        let places = shape.properties.map { property in
          current.firstIndex { $0.lineage == property.lineage && $0.lineage != 0 }
        }
        entities[number] = (entity, number == entity.shapeNumber ? Array(current.indices) : places)
      }
    }
    self.entities = entities
  }

  func changes(of row: HistoryRow, _ commit: UInt64) -> [HistoryChange] {
    var changes: [HistoryChange] = []
    for changed in row.changes {
      guard let known = entities[changed.shape] else { continue }
      func add<Model: PersistentModel>(_ type: Model.Type) {
        let source = Source<Model>(entity: known.entity, places: known.places, shape: changed.shape, commit: commit)
        source.add(changed, to: &changes)
      }
      add(known.entity.type)
    }
    return changes
  }

  /// The changes of one model in one row.
  private struct Source<Model: PersistentModel> {
    let entity: EntityBinding
    let places: [Int?]
    let shape: UInt32
    let commit: UInt64

    func add(_ changed: HistoryRow.Changes, to changes: inout [HistoryChange]) {
      let transaction = Int64(clamping: commit)
      func next() -> Int64 { Int64(changes.count) }
      for number in changed.inserted.joined() {
        changes.append(
          .insert(
            DefaultHistoryInsert<Model>(
              changeIdentifier: next(), transactionIdentifier: transaction,
              changedPersistentIdentifier: entity.identifier(number))))
      }
      for update in changed.updated {
        changes.append(
          .update(
            DefaultHistoryUpdate<Model>(
              changeIdentifier: next(), transactionIdentifier: transaction,
              changedPersistentIdentifier: entity.identifier(update.number),
              keyPaths: update.properties.indices.compactMap(keyPath))))
      }
      for deletion in changed.deleted {
        changes.append(
          .delete(
            DefaultHistoryDelete<Model>(
              changeIdentifier: next(), transactionIdentifier: transaction,
              changedPersistentIdentifier: entity.identifier(deletion.number), tombstone: tombstone(deletion))))
      }
    }

    private func property(_ index: Int) -> PropertyDescription? {
      guard places.indices.contains(index), let place = places[index], entity.properties.indices.contains(place)
      else { return nil }
      return entity.properties[place]
    }

    private func keyPath(_ index: Int) -> PartialKeyPath<Model>? {
      property(index)?.keyPath as? PartialKeyPath<Model>
    }

    private func tombstone(_ deletion: HistoryRow.Deletion) -> HistoryTombstone<Model> {
      var values: [PartialKeyPath<Model>: Any] = [:]
      for kept in deletion.kept {
        guard let field = kept.field, let property = property(kept.property), let keyPath = keyPath(kept.property),
          let stored = entity.shapes[shape]?.properties, stored.indices.contains(kept.property),
          let type = stored[kept.property].fieldType
        else { continue }
        let value = field.withUnsafeBytes { property.value(of: RecordField(bytes: $0, type: type)) }
        if let value { values[keyPath] = value }
      }
      return HistoryTombstone(values)
    }
  }
}

extension PropertyDescription {
  /// The attribute's value that a field, which isn't nil, holds; nil when the bytes make no sense.
  func value(of field: RecordField) -> Any? {
    switch kind {
    case .scalar(let type): return type._$read(field)
    case .rawRepresentable(let raw):
      guard let value = raw._$read(field), let type = valueType as? any RawRepresentable.Type else { return nil }
      return Self.make(type, of: value)
    case .codable:
      guard case .coded(let coded) = FieldValue(field), let type = valueType as? any Decodable.Type else {
        return nil
      }
      return try? CodedDecoder.decode(type, from: coded)
    case .toOne, .toMany: return nil
    }
  }

  private static func make<T: RawRepresentable>(_ type: T.Type, of raw: Any) -> Any? {
    (raw as? T.RawValue).flatMap(T.init(rawValue:))
  }
}
