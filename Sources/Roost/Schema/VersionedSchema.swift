/// One version of a program's models: all of them, changed or not.
public protocol VersionedSchema {
  /// The models. Those reached by relationships need not be listed.
  static var models: [any PersistentModel.Type] { get }
  /// The version's label.
  static var versionIdentifier: Schema.Version { get }
}
