import RoostKV

/// Runs a stage's per-record transforms over all records of their models.
struct RecordTransforms {
  private static let batch = 2000

  private let step: MigrationStep
  private let before: StoredSchema
  private let route: MigrationRoute
  private let file: OpenFile

  init(_ step: MigrationStep, _ before: StoredSchema, _ route: MigrationRoute, _ file: OpenFile) {
    self.step = step
    self.before = before
    self.route = route
    self.file = file
  }

  /// - Parameter entities: those whose records are to be transformed now. Their index tables are empty.
  func apply(
    _ entities: Set<String>, _ stored: inout StoredSchema, _ transaction: inout WriteTransaction
  ) throws {
    guard !entities.isEmpty, let from = step.from else { return }
    let old = try bindings(from, before, transaction)
    let new = try bindings(step.to, stored, transaction)
    for transform in step.transforms where entities.contains(transform.entity) {
      guard let source = old.byName[transform.old._$entityName], let target = new.byName[transform.entity] else {
        continue
      }
      try apply(transform, source, target, &stored, &transaction)
      try IndexBuilder(target, []).buildUnique(&transaction)
    }
  }

  private func bindings(
    _ version: ModelVersion, _ stored: StoredSchema, _ transaction: borrowing WriteTransaction
  ) throws -> ModelBindings {
    try ModelBindings(
      BoundModel.all(of: version, stored, route), storeIdentifier: file.identifier,
      table: { try transaction.tableIfPresent($0) })
  }

  private func apply(
    _ transform: RecordTransform, _ source: EntityBinding, _ target: EntityBinding,
    _ stored: inout StoredSchema, _ transaction: inout WriteTransaction
  ) throws {
    guard let records = target.records else { return }
    var gone: [UInt32: Int] = [:]
    var range = KeyRange.all
    while true {
      var batch: [Entry] = []
      try transaction.forEach(in: records, range, reversed: false) { key, record in
        batch.append(Entry(key: Array(key), value: Array(record)))
        return batch.count < Self.batch
      }
      for entry in batch {
        guard let header = entry.value.withUnsafeBytes({ RecordHeader($0) }) else { continue }
        let rewritten =
          try target.withView(entry.value) { view in
            try source.withView(entry.value) { old in
              try RecordRewriter.rewrite(
                view, old, transform, as: target.description, shape: target.shapeNumber, commit: header.commit)
            }
          } ?? nil
        guard let rewritten else { continue }
        try FormerTargets.move(entry.value, RecordKey.number(entry.key), target, in: &transaction)
        try transaction.put(entry.key, rewritten, in: records)
        if header.shape != target.shapeNumber { gone[header.shape, default: 0] += 1 }
      }
      guard batch.count == Self.batch, let last = batch.last?.key else { break }
      range.lower = .excluded(last)
    }
    try SchemaStore.noteGone(gone, &stored, in: &transaction)
  }
}
