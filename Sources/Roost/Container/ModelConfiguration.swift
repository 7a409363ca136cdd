/// Where a store is and how it is opened.
public struct ModelConfiguration: Identifiable, Hashable, Sendable {
  /// The store's file. For a store in memory a name that no other store has.
  public let url: URL
  /// The configuration's name: that of the file without its extension, unless given.
  public let name: String
  /// Which models the store holds; `nil`: all of the container's.
  public var schema: Schema?
  /// `false` opens the store for reading only: nothing is written to the file, also not by a migration.
  public let allowsSave: Bool
  /// The store lives in memory and ends with its container.
  public let isStoredInMemoryOnly: Bool
  /// Whether an outdated store is rewritten when it is opened or as its records are used.
  public var migration: MigrationMode = .automatic
  /// How many of the newest commits the store's history has at least; 0 for none. Each takes a few bytes
  /// for every object changed.
  public var historyLimit = 1000
  /// Accepted for compatibility; Roost has no app groups.
  public let groupContainer: GroupContainer
  /// Accepted for compatibility; Roost does not sync with CloudKit.
  public let cloudKitDatabase: CloudKitDatabase

  public var id: URL { url }
  public var groupAppContainerIdentifier: String? { groupContainer.identifier }
  public var cloudKitContainerIdentifier: String? { cloudKitDatabase.identifier }

  /// A store at the default place, or in memory.
  public init(isStoredInMemoryOnly: Bool = false) {
    self.init(nil, schema: nil, isStoredInMemoryOnly: isStoredInMemoryOnly)
  }

  /// A store at the default place, or in memory, for some models only.
  public init(for types: any PersistentModel.Type..., isStoredInMemoryOnly: Bool = false) {
    self.init(nil, schema: Schema(types), isStoredInMemoryOnly: isStoredInMemoryOnly)
  }

  /// A store named `name` at the default place, or in memory.
  public init(
    _ name: String? = nil, schema: Schema? = nil, isStoredInMemoryOnly: Bool = false, allowsSave: Bool = true,
    groupContainer: GroupContainer = .automatic, cloudKitDatabase: CloudKitDatabase = .automatic,
    migration: MigrationMode = .automatic
  ) {
    self.name = name ?? "default"
    self.schema = schema
    self.allowsSave = allowsSave
    self.isStoredInMemoryOnly = isStoredInMemoryOnly
    self.groupContainer = groupContainer
    self.cloudKitDatabase = cloudKitDatabase
    self.migration = migration
    url =
      isStoredInMemoryOnly
      ? URL(string: "memory:\(UUID().uuidString)") ?? DefaultLocation.file(named: UUID().uuidString)
      : DefaultLocation.file(named: self.name)
  }

  /// A store in the file at `url`.
  public init(
    _ name: String? = nil, schema: Schema? = nil, url: URL, allowsSave: Bool = true,
    cloudKitDatabase: CloudKitDatabase = .automatic, migration: MigrationMode = .automatic
  ) {
    self.name = name ?? url.deletingPathExtension().lastPathComponent
    self.schema = schema
    self.url = url
    self.allowsSave = allowsSave
    self.cloudKitDatabase = cloudKitDatabase
    self.migration = migration
    isStoredInMemoryOnly = false
    groupContainer = .automatic
  }

  /// Throws when the name or the path can't be a file's.
  public func validate() throws {
    guard !isStoredInMemoryOnly else { return }
    guard url.isFileURL else {
      throw RoostError.configuration(
        "the store's address \(url.absoluteString) is not a file's", remedy: "use URL(fileURLWithPath:)")
    }
    guard !name.contains("/"), !url.path.contains("\0") else {
      throw RoostError.configuration(
        "the configuration's name \(name) can't be a file's",
        remedy: "leave out \"/\" and zero bytes")
    }
    guard url.lastPathComponent.utf8.count <= 255 else {
      throw RoostError.configuration(
        "the store's file name is longer than 255 bytes",
        remedy: "use a shorter name")
    }
  }

  public static func == (a: Self, b: Self) -> Bool {
    a.url == b.url && a.name == b.name && a.allowsSave == b.allowsSave
      && a.isStoredInMemoryOnly == b.isStoredInMemoryOnly && a.migration == b.migration
      && a.historyLimit == b.historyLimit && a.schema == b.schema
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(url)
    hasher.combine(name)
  }
}

extension ModelConfiguration: CustomDebugStringConvertible {
  public var debugDescription: String {
    let place = isStoredInMemoryOnly ? "in memory" : url.path
    return "ModelConfiguration(\(name), \(place)\(allowsSave ? "" : ", read only"))"
  }
}

extension ModelConfiguration {
  /// Accepted for compatibility with apps that sync.
  public struct CloudKitDatabase: Hashable, Sendable {
    let identifier: String?

    public static let automatic = CloudKitDatabase(identifier: nil)
    public static let none = CloudKitDatabase(identifier: nil)
    public static func `private`(_ name: String) -> CloudKitDatabase { CloudKitDatabase(identifier: name) }
  }

  /// Accepted for compatibility with apps that share files in a group.
  public struct GroupContainer: Hashable, Sendable {
    let identifier: String?

    public static let automatic = GroupContainer(identifier: nil)
    public static let none = GroupContainer(identifier: nil)
    public static func identifier(_ name: String) -> GroupContainer { GroupContainer(identifier: name) }
  }
}
