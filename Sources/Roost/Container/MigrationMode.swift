/// When the records of an outdated store are rewritten. What a program sees is the same in each mode.
public enum MigrationMode: Hashable, Sendable {
  /// As `lazy` where that is possible; stages with closures and changes that need a look at every
  /// record run when the store is opened. A store with few outdated records is rewritten at once.
  case automatic
  /// Opening a store costs the same for ten records and ten million: records are read through the
  /// change and rewritten when they are saved or by `ModelContainer.sweep`. Throws when the plan has a
  /// stage that can't be done so.
  case lazy
  /// Every record is rewritten before the container is there.
  case eager
}
