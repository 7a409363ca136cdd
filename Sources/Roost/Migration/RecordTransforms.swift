import RoostKV

/// Runs a stage's per-record transforms over all records of their models.
struct RecordTransforms {
  private let step: MigrationStep
  private let before: StoredSchema
  private let file: OpenFile

  init(_ step: MigrationStep, _ before: StoredSchema, _ file: OpenFile) {
    self.step = step
    self.before = before
    self.file = file
  }

  func apply(_ stored: inout StoredSchema, _ transaction: inout WriteTransaction) throws {
    guard !step.transforms.isEmpty, let from = step.from else { return }
    let old = try bindings(from, before, transaction)
    let new = try bindings(step.to, stored, transaction)
    for transform in step.transforms {
      guard let source = old.byName[transform.entity], let target = new.byName[transform.entity] else {
        throw RoostError(
          .invalidPlan, "A stage transforms a model that is not in both its versions",
          remedy: "leave the transform out", entity: transform.entity)
      }
      try apply(transform, source, target, &stored, &transaction)
    }
  }

  private func bindings(
    _ version: ModelVersion, _ stored: StoredSchema, _ transaction: borrowing WriteTransaction
  ) throws -> ModelBindings {
    try ModelBindings(
      BoundModel.all(of: version, stored), storeIdentifier: file.identifier,
      table: { try transaction.tableIfPresent($0) })
  }

  private func apply(
    _ transform: RecordTransform, _ source: EntityBinding, _ target: EntityBinding,
    _ stored: inout StoredSchema,
    _ transaction: inout WriteTransaction
  ) throws {
    guard let records = target.records else { return }
    var gone: [UInt32: Int] = [:]
    for key in try keys(of: records, transaction) {
      guard let record = try transaction.get(key, in: records),
        let number = key.withUnsafeBytes({ RecordKey.number($0) }),
        let header = record.withUnsafeBytes({ RecordHeader($0) })
      else { continue }
      let rewritten =
        try target.withView(record) { view in
          try source.withView(record) { old in
            try RecordRewriter.rewrite(
              view, old, transform, as: target.description, shape: target.shapeNumber, commit: header.commit)
          }
        } ?? nil
      guard let rewritten else { continue }
      for (index, old, new) in entries(record, rewritten, number, target) where old != new {
        if let old, let table = index.table { try transaction.delete(old, in: table) }
        if let new, let table = index.table {
          let isNew = try transaction.putIfAbsent(
            new, index.isUnique ? RecordKey.bytes(number) : [], in: table)
          if index.isUnique && !isNew {
            throw RoostError.uniqueCollision(target.name, properties: index.names, numbers: [number])
          }
        }
      }
      try transaction.put(key, rewritten, in: records)
      if header.shape != target.shapeNumber { gone[header.shape, default: 0] += 1 }
    }
    try SchemaStore.noteGone(gone, &stored, in: &transaction)
  }

  private func keys(of records: Table, _ transaction: borrowing WriteTransaction) throws -> [[UInt8]] {
    var keys: [[UInt8]] = []
    try transaction.forEach(in: records, .all, reversed: false) { key, _ in
      keys.append(Array(key))
      return true
    }
    return keys
  }

  private func entries(
    _ old: [UInt8], _ new: [UInt8], _ number: UInt64, _ entity: EntityBinding
  ) -> [(IndexBinding, old: [UInt8]?, new: [UInt8]?)] {
    entity.indexes.map { index in
      (
        index, entity.withView(old) { index.key(of: $0, number: number) } ?? nil,
        entity.withView(new) { index.key(of: $0, number: number) } ?? nil
      )
    }
  }
}
