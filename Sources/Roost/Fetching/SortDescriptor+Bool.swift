extension Bool {
  /// `false` before `true`, as SQL and Core Data have it.
  package var sortRank: Int { self ? 1 : 0 }
}

extension Optional where Wrapped == Bool {
  package var sortRank: Int? { map { $0 ? 1 : 0 } }
}

// `Bool` isn't `Comparable`, and making it so would be a retroactive conformance that every module of
// the program gets to see. The key path goes through an integer instead.
extension SortDescriptor {
  /// Sorts by a Boolean, `false` first.
  public init(_ keyPath: any KeyPath<Compared, Bool> & Sendable, order: SortOrder = .forward) {
    self.init(assumeSendable((keyPath as KeyPath<Compared, Bool>).appending(path: \.sortRank)), order: order)
  }

  /// Sorts by an optional Boolean: `nil`, then `false`, then `true`.
  public init(_ keyPath: any KeyPath<Compared, Bool?> & Sendable, order: SortOrder = .forward) {
    self.init(assumeSendable((keyPath as KeyPath<Compared, Bool?>).appending(path: \.sortRank)), order: order)
  }
}

/// Two key paths that are `Sendable` make one that is, which the type system can't say.
private func assumeSendable<Root, Value>(
  _ keyPath: KeyPath<Root, Value>
) -> any KeyPath<Root, Value> & Sendable {
  unsafeBitCast(keyPath, to: (any KeyPath<Root, Value> & Sendable).self)
}
