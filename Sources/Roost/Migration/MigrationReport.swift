/// What opening a store changed in it.
public struct MigrationReport: Sendable {
  /// Values that are gone because the new schema has no place for them.
  public struct Loss: Sendable, Hashable {
    /// The model that is gone, or whose property is.
    public let entity: String
    /// The property that is gone; `nil` when the model is.
    public let property: String?
    /// How many objects the model had.
    public let records: Int
  }

  /// The label of the schema that the store had.
  public let from: Schema.Version
  /// The label of the one that it has now.
  public let to: Schema.Version
  /// What the versions between dropped, in their order.
  public let losses: [Loss]
  /// Objects that have been rewritten while the store was opened.
  public let rewritten: Int
  /// Objects that are going to be when they are saved, or by `ModelContainer.sweep`.
  public let outdated: Int
}

extension ModelContainer {
  /// What opening the store's file changed in it; `nil` when it had this schema already, or is open for
  /// reading only. All containers of one open file have the same report.
  public var migrationReport: MigrationReport? { store.file.report }
}

extension Migrator {
  /// The report, if the schema was another before.
  func report(since before: StoredSchema) -> MigrationReport? {
    guard before.current.number != stored.current.number else { return nil }
    return MigrationReport(
      from: before.current.label, to: stored.current.label,
      losses: losses.map { .init(entity: $0.entity, property: $0.property, records: $0.records) },
      rewritten: rewritten, outdated: stored.outdatedCount)
  }
}
