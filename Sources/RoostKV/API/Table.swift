/// A table of a store: a name for a tree of entries. Valid until the table is dropped, in every transaction of its store.
public struct Table: Hashable, Sendable {
  /// The name that it was found by.
  public let name: String
  package let id: UInt32
  /// Where the table was found; a hint.
  let slot: Int

  public static func == (a: Table, b: Table) -> Bool { a.id == b.id }

  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// One key with its value.
public struct Entry: Equatable, Sendable {
  /// The key's bytes.
  public var key: [UInt8]
  /// The value's bytes.
  public var value: [UInt8]

  /// A key with its value.
  public init(key: [UInt8], value: [UInt8]) {
    self.key = key
    self.value = value
  }
}
