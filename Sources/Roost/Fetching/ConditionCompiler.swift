/// What of a predicate could be said as a condition.
struct CompiledCondition {
  /// True of every row that the expression accepts.
  var condition: Condition
  /// The condition accepts no other rows, and the expression throws for none.
  var isExact: Bool

  static let unknown = CompiledCondition(condition: .constant(true), isExact: false)
}

/// Finds the columns that key paths of one model stand for.
struct ConditionCompiler {
  let variable: PredicateExpressions.VariableID
  /// The column of a key path from the model, if it is one that conditions can read.
  let column: (AnyKeyPath) -> Condition.Column?

  func compile(_ expression: some PredicateExpression) -> CompiledCondition {
    (expression as? any ConditionExpression)?.condition(self) ?? .unknown
  }

  func operand(_ expression: some PredicateExpression) -> Operand? {
    (expression as? any OperandExpression)?.operand(self)
  }
}

/// One side of a comparison.
enum Operand {
  case column(Condition.Column)
  case value(Any)
}

/// A Boolean expression that may be said as a condition.
protocol ConditionExpression {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition
}

/// An expression that may be a column or a known value.
protocol OperandExpression {
  func operand(_ compiler: ConditionCompiler) -> Operand?
}

// MARK: - Operands

extension PredicateExpressions.Value: OperandExpression {
  func operand(_ compiler: ConditionCompiler) -> Operand? { .value(value) }
}

extension PredicateExpressions.NilLiteral: OperandExpression {
  func operand(_ compiler: ConditionCompiler) -> Operand? { .value(Output.none as Any) }
}

extension PredicateExpressions.KeyPath: OperandExpression {
  func operand(_ compiler: ConditionCompiler) -> Operand? {
    if let root = root as? PredicateExpressions.Variable<Root.Output> {
      guard root.key == compiler.variable else { return nil }
      return compiler.column(keyPath).map(Operand.column)
    }
    // A property of something captured is as good as a captured value.
    if case .value(let value)? = compiler.operand(root), let base = value as? Root.Output {
      return .value(base[keyPath: keyPath as KeyPath<Root.Output, Output>])
    }
    return nil
  }
}

extension PredicateExpressions.Range: OperandExpression {
  func operand(_ compiler: ConditionCompiler) -> Operand? {
    guard case .value(let lower)? = compiler.operand(lower),
      case .value(let upper)? = compiler.operand(upper),
      let lower = lower as? LHS.Output, let upper = upper as? LHS.Output, lower <= upper
    else { return nil }
    return .value(lower..<upper)
  }
}

extension PredicateExpressions.ClosedRange: OperandExpression {
  func operand(_ compiler: ConditionCompiler) -> Operand? {
    guard case .value(let lower)? = compiler.operand(lower),
      case .value(let upper)? = compiler.operand(upper),
      let lower = lower as? LHS.Output, let upper = upper as? LHS.Output, lower <= upper
    else { return nil }
    return .value(lower...upper)
  }
}

// MARK: - Logic

extension PredicateExpressions.Value: ConditionExpression where Output == Bool {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    CompiledCondition(condition: .constant(value), isExact: true)
  }
}

extension PredicateExpressions.KeyPath: ConditionExpression where Output == Bool {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    switch operand(compiler) {
    case .column(let column)?:
      CompiledCondition(condition: .compare(column, .equal, .bool(true)), isExact: true)
    case .value(let value)?:
      (value as? Bool).map { CompiledCondition(condition: .constant($0), isExact: true) } ?? .unknown
    case nil: .unknown
    }
  }
}

extension PredicateExpressions.Conjunction: ConditionExpression {
  /// An inexact left side may throw, for rows that the right side alone would leave out: only the left
  /// side may narrow the rows then.
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    let left = compiler.compile(lhs)
    guard left.isExact else { return left }
    let right = compiler.compile(rhs)
    return CompiledCondition(condition: .and(left.condition, right.condition), isExact: right.isExact)
  }
}

extension PredicateExpressions.Disjunction: ConditionExpression {
  /// Rows that the left side refuses reach the right side, which must see all of them if it may throw.
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    let left = compiler.compile(lhs)
    let right = compiler.compile(rhs)
    guard left.isExact, right.isExact else { return .unknown }
    return CompiledCondition(condition: .or(left.condition, right.condition), isExact: true)
  }
}

extension PredicateExpressions.Negation: ConditionExpression {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    let inner = compiler.compile(wrapped)
    guard inner.isExact else { return .unknown }
    return CompiledCondition(condition: .not(inner.condition), isExact: true)
  }
}

// MARK: - Comparisons

extension ConditionCompiler {
  /// `a op b` where one is a column and the other a value that compares as a scalar does.
  fileprivate func comparison(
    _ a: some PredicateExpression, _ operation: Condition.Comparison, _ b: some PredicateExpression
  ) -> CompiledCondition {
    switch (operand(a), operand(b)) {
    case (.column(let column)?, .value(let value)?):
      comparison(column, operation, value)
    case (.value(let value)?, .column(let column)?):
      comparison(column, operation.swapped, value)
    default: .unknown
    }
  }

  private func comparison(
    _ column: Condition.Column, _ operation: Condition.Comparison, _ value: Any
  ) -> CompiledCondition {
    guard let scalar = (value as? any ScalarConvertible)?.scalar, operation == .equal || scalar.isOrdered
    else {
      return .unknown
    }
    return CompiledCondition(condition: .compare(column, operation, scalar), isExact: true)
  }
}

extension PredicateExpressions.Equal: ConditionExpression {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition { compiler.comparison(lhs, .equal, rhs) }
}

extension PredicateExpressions.NotEqual: ConditionExpression {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    let equal = compiler.comparison(lhs, .equal, rhs)
    guard equal.isExact else { return .unknown }
    return CompiledCondition(condition: .not(equal.condition), isExact: true)
  }
}

extension PredicateExpressions.Comparison: ConditionExpression {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    let operation: Condition.Comparison =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: .equal
      }
    return compiler.comparison(lhs, operation, rhs)
  }
}

// MARK: - Membership

/// A range whose bounds may be scalars.
private protocol ScalarRange {
  func condition(_ column: Condition.Column) -> Condition?
}

extension Range: ScalarRange where Bound: ScalarConvertible {
  fileprivate func condition(_ column: Condition.Column) -> Condition? {
    guard let lower = lowerBound.scalar, let upper = upperBound.scalar else { return nil }
    return .and(.compare(column, .greaterOrEqual, lower), .compare(column, .less, upper))
  }
}

extension ClosedRange: ScalarRange where Bound: ScalarConvertible {
  fileprivate func condition(_ column: Condition.Column) -> Condition? {
    guard let lower = lowerBound.scalar, let upper = upperBound.scalar else { return nil }
    return .and(.compare(column, .greaterOrEqual, lower), .compare(column, .lessOrEqual, upper))
  }
}

extension PredicateExpressions.RangeExpressionContains: ConditionExpression {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    guard case .value(let range)? = compiler.operand(range),
      case .column(let column)? = compiler.operand(element),
      let condition = (range as? any ScalarRange)?.condition(column)
    else { return .unknown }
    return CompiledCondition(condition: condition, isExact: true)
  }
}

extension PredicateExpressions.SequenceContains: ConditionExpression {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    guard case .value(let sequence)? = compiler.operand(sequence),
      case .column(let column)? = compiler.operand(element),
      sequence is [RHS.Output] || sequence is any SetOfElements, let elements = sequence as? LHS.Output
    else { return .unknown }
    var scalars: [Scalar] = []
    for element in elements {
      guard let scalar = (element as? any ScalarConvertible)?.scalar else { return .unknown }
      scalars.append(scalar)
    }
    return CompiledCondition(condition: .isOneOf(column, scalars), isExact: true)
  }
}

/// Sequences known to give the same elements each time.
private protocol SetOfElements {}
extension Set: SetOfElements {}

// MARK: - Strings

extension PredicateExpressions.CollectionContainsCollection: ConditionExpression {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    guard Base.Output.self == String.self, case .column(let column)? = compiler.operand(base),
      case .value(let other)? = compiler.operand(other), let needle = other as? String
    else { return .unknown }
    return CompiledCondition(condition: .contains(column, needle), isExact: true)
  }
}

extension PredicateExpressions.SequenceStartsWith: ConditionExpression {
  func condition(_ compiler: ConditionCompiler) -> CompiledCondition {
    guard Base.Output.self == String.self, case .column(let column)? = compiler.operand(base),
      case .value(let prefix)? = compiler.operand(prefix), let prefix = prefix as? String
    else { return .unknown }
    return CompiledCondition(condition: .hasPrefix(column, prefix), isExact: true)
  }
}
