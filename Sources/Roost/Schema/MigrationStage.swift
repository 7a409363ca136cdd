/// How a store gets from each version of the models to the next.
public protocol SchemaMigrationPlan {
  /// The versions, oldest first.
  static var schemas: [any VersionedSchema.Type] { get }
  /// The steps between neighbouring versions.
  static var stages: [MigrationStage] { get }
}

/// One step from a version of the models to the next.
public enum MigrationStage {
  /// What differs can be read off the two versions: properties added with an initial value or optional, removed,
  /// renamed through `originalName`; types that widen; rules, indexes and models that come and go.
  case lightweight(fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type)

  /// The step in between is made as a lightweight one; before it `willMigrate` sees the old models, after it
  /// `didMigrate` the new ones. All of it is one transaction: an error leaves the store as it was.
  case custom(
    fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type,
    willMigrate: ((ModelContext) throws -> Void)?, didMigrate: ((ModelContext) throws -> Void)?)

  /// As a lightweight stage, and each record of some models then gets values made from its old ones.
  case perRecord(
    fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type, transforms: [RecordTransform])
}

extension MigrationStage {
  package var fromVersion: any VersionedSchema.Type {
    switch self {
    case .lightweight(let version, _), .custom(let version, _, _, _), .perRecord(let version, _, _): version
    }
  }

  package var toVersion: any VersionedSchema.Type {
    switch self {
    case .lightweight(_, let version), .custom(_, let version, _, _), .perRecord(_, let version, _): version
    }
  }
}
