/// Makes records of one older shape current ones where that takes a transform of the program: on the way
/// from their shape to the entity's lie stages that a lightweight reading can't replace.
final class RecordUpgrade: Sendable {
  /// A stage's transform of one entity, with the shapes on both sides of it.
  struct Stage: Sendable {
    let transform: RecordTransform
    let old: EntityDescription
    /// The entity's shape before the stage was adopted.
    let oldShape: EntityShape
    let new: EntityDescription
    /// The shape that the transform's results have.
    let made: StoredEntityShape
  }

  fileprivate struct Hop: Sendable {
    let stage: Stage
    /// How the stage's old model reads the records that come to it.
    let old: RecordProjection
    /// How its new model would read them without the transform.
    let new: RecordProjection
  }

  private let hops: [Hop]

  /// - Parameters:
  ///   - shape: the shape that the records are stored in.
  ///   - stages: all of the entity's stages that are pending in the store, oldest first.
  /// - Returns: `nil` when records of this shape need no transform.
  init?(from shape: StoredEntityShape, _ stages: [Stage], space: (String) -> IdentifierSpace) {
    var hops: [Hop] = []
    var from = shape
    for stage in stages where stage.made.id > shape.id {
      let old = RecordProjection(
        from: from, to: stage.old, defaults: FrozenDefaults(stage.oldShape), space: space)
      let new = RecordProjection(
        from: from, to: stage.new, defaults: FrozenDefaults(stage.made.shape), space: space)
      hops.append(Hop(stage: stage, old: old, new: new))
      from = stage.made
    }
    guard !hops.isEmpty else { return nil }
    self.hops = hops
  }

  /// The record in the shape of the last stage; `nil` when it, or what a transform makes of it, can't be read.
  func apply(_ record: UnsafeRawBufferPointer) -> [UInt8]? {
    var result: [UInt8]?
    for hop in hops {
      let next = result.map { $0.withUnsafeBytes { hop.apply($0) } } ?? hop.apply(record)
      guard let next else { return nil }
      result = next
    }
    return result
  }
}

extension RecordUpgrade.Hop {
  fileprivate func apply(_ record: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let header = RecordHeader(record), let old = RecordView(record, header, old),
      let new = RecordView(record, header, new)
    else { return nil }
    return try? RecordRewriter.rewrite(
      new, old, stage.transform, as: stage.new, shape: stage.made.id, commit: header.commit)
  }
}

extension MigrationRoute {
  /// The transforms that records of an entity's older shapes have yet to go through, oldest first.
  ///
  /// - Throws: `.stageMissing` when the program has no longer the stage that they need.
  func pendingStages(of entity: StoredEntityShape, in stored: StoredSchema) throws -> [RecordUpgrade.Stage] {
    let shapes = stored.shapes(of: entity.shape.name)
    return try shapes.filter(\.shape.isTransformed).compactMap { made in
      let waiting = shapes.filter { $0.id < made.id && stored.outdated[$0.id] != nil }
      guard let oldest = waiting.first else { return nil }
      if let stage = stage(making: made, in: stored) { return stage }
      let count = waiting.reduce(0) { $0 + (stored.outdated[$1.id] ?? 0) }
      throw RoostError(
        .stageMissing,
        "Records of shape \(oldest.id) wait for a transform that the program's migration plan has no longer",
        remedy: "keep the stage in the plan until the store has been swept", entity: entity.shape.name,
        rows: count)
    }
  }

  /// The plan's stage whose transform makes records of a shape.
  private func stage(making made: StoredEntityShape, in stored: StoredSchema) -> RecordUpgrade.Stage? {
    guard let adopted = stored.versions.firstIndex(where: { $0.shapes.contains(made.id) }), adopted > 0 else {
      return nil
    }
    let (before, after) = (stored.versions[adopted - 1], stored.versions[adopted])
    let oldShape = before.shapes.compactMap { stored.shapes[$0] }.first { $0.lineage == made.lineage }
    guard let oldShape else { return nil }
    let places = versions.indices.dropFirst().filter {
      versions[$0].digest == after.digest && versions[$0 - 1].digest == before.digest
    }
    for place in places.sorted(by: { a, _ in versions[a].label == after.label }) {
      let (from, to) = (versions[place - 1], versions[place])
      let transforms = step(from: from, to: to).transforms
      guard let transform = transforms.first(where: { $0.entity == made.shape.name && $0.isLazy }),
        let old = from.description.entities.first(where: { $0.name == oldShape.shape.name }),
        let new = to.description.entities.first(where: { $0.name == made.shape.name })
      else { continue }
      return RecordUpgrade.Stage(
        transform: transform, old: old, oldShape: oldShape.shape, new: new, made: made)
    }
    return nil
  }
}
