import RoostKV

extension ModelContext {
  /// The saves that a descriptor describes, of all contexts and processes, oldest first.
  ///
  /// What the history goes back to is set by `ModelConfiguration.historyLimit`. A program keeps the token of
  /// the last save it has seen and asks for what came after it:
  /// `#Predicate { $0.token > lastToken }`. O(saves in the history).
  ///
  /// - Throws: `RoostError` with the code `historyTokenExpired` when saves after a token that the predicate
  ///   compares with are no longer in the history: the program has to fetch the objects anew. With
  ///   `invalidFetch` for transactions other than `DefaultHistoryTransaction`. `StoreError` when the store can't
  ///   be read.
  public func fetchHistory<T: HistoryTransaction>(_ descriptor: HistoryDescriptor<T>) throws -> [T] {
    guard let known = descriptor as? HistoryDescriptor<DefaultHistoryTransaction> else {
      throw RoostError.unknownHistory(T.self)
    }
    let found = try core.history(known)
    return found.compactMap { $0 as? T }
  }

  /// Deletes the saves that a descriptor describes from the history. The objects stay as they are.
  ///
  /// - Throws: as `fetchHistory`, but for tokens that have expired; `StoreError` when the store can't write.
  public func deleteHistory<T: HistoryTransaction>(_ descriptor: HistoryDescriptor<T>) throws {
    guard let known = descriptor as? HistoryDescriptor<DefaultHistoryTransaction> else {
      throw RoostError.unknownHistory(T.self)
    }
    try core.deleteHistory(known)
  }
}

extension ContextCore {
  func history(_ descriptor: HistoryDescriptor<DefaultHistoryTransaction>) throws -> [DefaultHistoryTransaction] {
    let rows = try withReading { reading -> HistoryRows in
      try HistoryRows(store, reading)
    }
    try rows.checkTokens(descriptor)
    return try rows.matches(descriptor)
  }

  func deleteHistory(_ descriptor: HistoryDescriptor<DefaultHistoryTransaction>) throws {
    guard migration != nil || store.allowsSave else { throw RoostError.readOnly(store.configuration) }
    let found = try withReading { try HistoryRows(store, $0) }.matches(descriptor)
    guard !found.isEmpty else { return }
    try writing { transaction in
      guard let table = try transaction.tableIfPresent(TableNames.history) else { return }
      for save in found { try transaction.delete(RecordKey.bytes(save.token.commit), in: table) }
    }
  }
}

/// The rows of the history as one state of the store has them.
private struct HistoryRows {
  private let all: [DefaultHistoryTransaction]
  /// The newest commit that changed objects.
  private let newest: UInt64

  init(_ store: ModelStore, _ reading: any StoreReading) throws {
    newest = Counters.read(Counters.commit, try reading.get(Counters.commit, in: try store.counters))
    let reader = HistoryReader(store.bindings)
    var all: [DefaultHistoryTransaction] = []
    guard let table = try reading.table(TableNames.history) else {
      self.all = []
      return
    }
    try reading.forEach(in: table, .all, reversed: false) { key, value in
      guard key.count == 8, let commit = RecordKey.number(key), let row = HistoryRow(value) else {
        throw RoostError.historyDamaged(RecordKey.number(key))
      }
      all.append(
        DefaultHistoryTransaction(
          row: row, reader: reader, token: DefaultHistoryToken(store: store.identifier, commit: commit)))
      return true
    }
    self.all = all
  }

  /// Throws when what came after one of the tokens that the predicate asks to be exceeded isn't all there.
  func checkTokens(_ descriptor: HistoryDescriptor<DefaultHistoryTransaction>) throws {
    for token in descriptor.predicate.map({ TokenSearch.tokens(in: $0.expression) }) ?? [] {
      let isComplete = token.commit >= newest || all.first.map { $0.token.commit <= token.commit + 1 } ?? false
      guard isComplete else { throw RoostError.historyTokenExpired(token.commit, first: all.first?.token.commit) }
    }
  }

  func matches(
    _ descriptor: HistoryDescriptor<DefaultHistoryTransaction>
  ) throws -> [DefaultHistoryTransaction] {
    var found = try descriptor.predicate.map { predicate in try all.filter { try predicate.evaluate($0) } } ?? all
    if !descriptor.sortBy.isEmpty { found.sort(using: descriptor.sortBy) }
    return descriptor.fetchLimit == 0 ? found : Array(found.prefix(Int(clamping: descriptor.fetchLimit)))
  }
}

// MARK: - Tokens in predicates

/// Finds the tokens that a predicate asks to be exceeded.
private enum TokenSearch {
  static func tokens(in expression: some PredicateExpression) -> [DefaultHistoryToken] {
    (expression as? any TokenExpression)?.lowerTokens ?? []
  }

  static func token(_ expression: some PredicateExpression) -> [DefaultHistoryToken] {
    (expression as? any TokenValue)?.token.map { [$0] } ?? []
  }
}

private protocol TokenExpression {
  var lowerTokens: [DefaultHistoryToken] { get }
}

private protocol TokenValue {
  var token: DefaultHistoryToken? { get }
}

extension PredicateExpressions.Value: TokenValue {
  fileprivate var token: DefaultHistoryToken? { value as? DefaultHistoryToken }
}

extension PredicateExpressions.Comparison: TokenExpression {
  fileprivate var lowerTokens: [DefaultHistoryToken] {
    switch op {
    case .greaterThan, .greaterThanOrEqual: TokenSearch.token(rhs)
    case .lessThan, .lessThanOrEqual: TokenSearch.token(lhs)
    @unknown default: []
    }
  }
}

extension PredicateExpressions.Conjunction: TokenExpression {
  fileprivate var lowerTokens: [DefaultHistoryToken] { TokenSearch.tokens(in: lhs) + TokenSearch.tokens(in: rhs) }
}

extension PredicateExpressions.Disjunction: TokenExpression {
  fileprivate var lowerTokens: [DefaultHistoryToken] { TokenSearch.tokens(in: lhs) + TokenSearch.tokens(in: rhs) }
}

// MARK: - Errors

extension RoostError.Code {
  /// Saves after a token are no longer in the history.
  public static let historyTokenExpired = Self(rawValue: "historyTokenExpired")
}

extension RoostError {
  fileprivate static func historyTokenExpired(_ commit: UInt64, first: UInt64?) -> RoostError {
    let start = first.map { "begins with commit \($0)" } ?? "is empty"
    return RoostError(
      .historyTokenExpired, "The history \(start) and no longer has what came after commit \(commit)",
      remedy: "fetch the objects anew, and go on from the newest token; a greater historyLimit keeps more")
  }

  fileprivate static func historyDamaged(_ commit: UInt64?) -> RoostError {
    RoostError(
      .store, "The history's row of commit \(commit.map(String.init) ?? "?") makes no sense",
      remedy: "container.erase() or ModelConfiguration.historyLimit = 0 and a save remove the history")
  }

  fileprivate static func unknownHistory(_ type: Any.Type) -> RoostError {
    RoostError(
      .invalidFetch, "The history has no transactions of the type \(type)",
      remedy: "ask for DefaultHistoryTransaction")
  }
}
