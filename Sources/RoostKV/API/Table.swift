/// A table of a store: a name for a tree of entries. Valid until the table is dropped, in every transaction of its store.
public struct Table: Hashable, Sendable {
  public let name: String
  package let id: UInt32
  /// Where the table was found; a hint.
  let slot: Int

  public static func == (a: Table, b: Table) -> Bool { a.id == b.id }

  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// One key with its value.
public struct Entry: Equatable, Sendable {
  public var key: [UInt8]
  public var value: [UInt8]

  public init(key: [UInt8], value: [UInt8]) {
    self.key = key
    self.value = value
  }
}
