/// A version of the models, with the types that stand for it.
struct ModelVersion {
  let schema: Schema
  let description: SchemaDescription
  let digest: UInt64

  init(_ schema: Schema) throws {
    try schema.validate()
    self.schema = schema
    description = SchemaDescription(schema)
    digest = description.digest
  }

  var label: Schema.Version { description.label }
}

/// One step of a migration.
struct MigrationStep {
  let to: ModelVersion
  /// The version that the step starts from; nil when the store's schema is none of the plan's.
  let from: ModelVersion?
  /// What the plan says of the step; nil where the step is inferred.
  let stage: MigrationStage?

  /// Whether closures of the program run.
  var isCustom: Bool {
    guard case .custom(_, _, let will, let did)? = stage else { return false }
    return will != nil || did != nil
  }

  var transforms: [RecordTransform] {
    if case .perRecord(_, _, let transforms)? = stage { return transforms }
    return []
  }

  /// Whether a transform may run when its records are read.
  func canWait(_ transform: RecordTransform) -> Bool {
    transform.isLazy && to.schema.entitiesByName[transform.entity]?.uniquenessConstraints.isEmpty ?? false
  }

  func whyNotLazy(_ transform: RecordTransform) -> String {
    transform.isLazy
      ? "\(transform.entity) has values that must be unique, and a transform may change them"
      : "a transform of \(transform.entity) may throw"
  }

  var name: String { "\(from.map { "\($0.label)" } ?? "the store's schema") to \(to.label)" }
}

/// The versions of a program and how a store gets to the newest of them.
struct MigrationRoute {
  /// Oldest first; the last is what the store is to have.
  let versions: [ModelVersion]
  private let stages: [MigrationStage]
  let hasPlan: Bool

  /// The program's schema alone.
  init(_ schema: Schema) throws {
    versions = [try ModelVersion(schema)]
    stages = []
    hasPlan = false
  }

  /// A plan's versions. Throws when they contradict one another, or the container's schema.
  init(_ plan: any SchemaMigrationPlan.Type, for schema: Schema) throws {
    versions = try plan.schemas.map { try ModelVersion(Schema(versionedSchema: $0)) }
    stages = plan.stages
    hasPlan = true
    try Self.check(versions)
    try check(stages, of: plan)
    try checkTransforms()
    guard let last = versions.last else {
      throw RoostError(
        .invalidPlan, "The migration plan has no versions", remedy: "list the schemas, oldest first")
    }
    for entity in schema.entities {
      guard let planned = last.schema.entitiesByName[entity.name] else {
        throw RoostError(
          .invalidPlan, "A model of the container is not in the last version of its migration plan",
          remedy: "add it to the version's models", entity: entity.name)
      }
      guard planned == entity else {
        throw RoostError(
          .invalidPlan,
          "A model of the container differs from that of the last version of its migration plan",
          remedy: "open the container for the plan's last version", entity: entity.name)
      }
    }
  }

  private static func check(_ versions: [ModelVersion]) throws {
    for (index, version) in versions.enumerated() {
      guard let twin = versions[..<index].first(where: { $0.label == version.label }) else { continue }
      throw RoostError(
        .invalidPlan, "Two versions of the migration plan are labelled \(twin.label)",
        remedy: "give each its own versionIdentifier")
    }
  }

  private func check(_ stages: [MigrationStage], of plan: any SchemaMigrationPlan.Type) throws {
    let schemas = plan.schemas
    for stage in stages {
      let from = schemas.firstIndex { $0 == stage.fromVersion }
      let to = schemas.firstIndex { $0 == stage.toVersion }
      guard let from, let to, to == from + 1 else {
        throw RoostError(
          .invalidPlan,
          "A stage leads from \(stage.fromVersion.versionIdentifier) to \(stage.toVersion.versionIdentifier)",
          remedy: "a stage leads from a version of the plan to the one after it")
      }
    }
  }

  /// A transform leads from a model of a stage's old version to what that model is in the new one.
  private func checkTransforms() throws {
    for (from, to) in zip(versions, versions.dropFirst()) {
      let names = EntityMatch(
        from: from.description.entities.map(\.name), to: to.description.entities)
      var seen: Set<String> = []
      for transform in step(from: from, to: to).transforms {
        guard names.stored[transform.entity] == transform.old._$entityName else {
          throw RoostError(
            .invalidPlan, "A stage transforms a model that is not in both its versions",
            remedy: "leave the transform out", entity: transform.entity)
        }
        guard seen.insert(transform.entity).inserted else {
          throw RoostError(
            .invalidPlan, "A stage has two transforms of one model", remedy: "make one of them",
            entity: transform.entity)
        }
      }
    }
  }

  // MARK: - Finding the way

  /// The steps from a store's schema to the newest version; none if it has that.
  ///
  /// The shape says where in the plan the store is; where several versions are of one shape, the label does.
  func steps(from stored: StoredSchema, records: (String) throws -> Int) throws -> [MigrationStep] {
    guard let target = versions.last else { return [] }
    let matches = versions.indices.filter { versions[$0].digest == stored.current.digest }
    if let position = matches.first(where: { versions[$0].label == stored.current.label }) ?? matches.first {
      return steps(from: position)
    }
    if stored.hasSuperseded(digest: target.digest) { throw backward(stored, target) }
    return try inferredSteps(from: stored, records)
  }

  private func steps(from position: Int) -> [MigrationStep] {
    (position..<versions.count).dropFirst().map { step(from: versions[$0 - 1], to: versions[$0]) }
  }

  /// The step between neighbouring versions.
  func step(from: ModelVersion, to: ModelVersion) -> MigrationStep {
    let stage = stages.first {
      $0.fromVersion.versionIdentifier == from.label && $0.toVersion.versionIdentifier == to.label
    }
    return MigrationStep(to: to, from: from, stage: stage)
  }

  /// The store's schema is none of the program's: it may lie before or between them.
  private func inferredSteps(from stored: StoredSchema, _ records: (String) throws -> Int) throws
    -> [MigrationStep]
  {
    let shapes = stored.entities.map(\.shape)
    var differences: [SchemaDifference] = []
    for (index, version) in versions.enumerated() {
      let difference = try SchemaDifference(from: shapes, to: version.description, records: records)
      if difference.effect <= .scan && difference.losses.isEmpty || !hasPlan {
        return [MigrationStep(to: version, from: nil, stage: nil)] + steps(from: index)
      }
      differences.append(difference)
    }
    let list = (differences.last?.changes ?? []).filter { $0.effect > .scan || $0.losesData }
    throw RoostError(
      .unknownSchema,
      "The store's schema (\(stored.current.label)) is none of the plan's, and can't be turned into one: "
        + list.map { "\($0.place): \($0)" }.joined(separator: "; "),
      remedy: "add the version that wrote the store to the plan, with a stage that leads on from it")
  }

  private func backward(_ stored: StoredSchema, _ target: ModelVersion) -> RoostError {
    RoostError(
      .backwardMigration,
      "The store has schema \(stored.current.label), which is newer than the program's \(target.label)",
      remedy: "update the program; the store was left as it is")
  }
}

extension SchemaDifference.Change {
  /// Whether a transform of the entity's records makes the change good: it concerns a field of them.
  var isLeftToTransforms: Bool {
    switch kind {
    case .kindChanged(_, .toOne), .inverseAdded: false
    default: property != nil && effect <= .custom
    }
  }

  var place: String { property.map { "\(entity).\($0)" } ?? entity }
}
