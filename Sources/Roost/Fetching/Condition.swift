/// A condition on one record that can be decided from its bytes.
///
/// Conditions hold only what is proven to decide as Swift does on the object's values; what can't be
/// said with them is left to the predicate itself.
package indirect enum Condition: Sendable {
  case constant(Bool)
  case and(Condition, Condition)
  case or(Condition, Condition)
  case not(Condition)
  case compare(Column, Comparison, Scalar)
  /// The column's value equals one of these.
  case isOneOf(Column, [Scalar])
  /// The column is a string that contains this one.
  case contains(Column, String)
  /// The column is a string that begins with this one.
  case hasPrefix(Column, String)

  package enum Comparison: Sendable {
    case equal, less, lessOrEqual, greater, greaterOrEqual

    /// The comparison with its two sides exchanged.
    var swapped: Comparison {
      switch self {
      case .equal: .equal
      case .less: .greater
      case .lessOrEqual: .greaterOrEqual
      case .greater: .less
      case .greaterOrEqual: .lessOrEqual
      }
    }
  }

  /// What a condition looks at.
  package enum Column: Hashable, Sendable {
    /// The object's identifier.
    case identifier
    /// The property at this place in the model's table.
    case property(Int)
  }
}

/// A value that conditions can compare.
package enum Scalar: Hashable, Sendable {
  case null
  case bool(Bool)
  /// Any integer that fits; larger ones are left to the predicate.
  case int(Int64)
  case double(Double)
  case string(String)
  case date(Date)
  case uuid(UUID)
  case identifier(PersistentIdentifier)
}

extension Scalar {
  /// Whether conditions compare such values by order, not only for equality.
  var isOrdered: Bool {
    switch self {
    case .int, .double, .string, .date, .identifier: true
    case .null, .bool, .uuid: false
    }
  }
}

/// A Swift value with a `Scalar` that compares as it does.
protocol ScalarConvertible {
  var scalar: Scalar? { get }
}

extension Bool: ScalarConvertible { var scalar: Scalar? { .bool(self) } }
extension String: ScalarConvertible { var scalar: Scalar? { .string(self) } }
extension Date: ScalarConvertible { var scalar: Scalar? { .date(self) } }
extension UUID: ScalarConvertible { var scalar: Scalar? { .uuid(self) } }
extension PersistentIdentifier: ScalarConvertible { var scalar: Scalar? { .identifier(self) } }
extension Double: ScalarConvertible { var scalar: Scalar? { .double(self) } }
// Every Float is a Double, and they compare alike.
extension Float: ScalarConvertible { var scalar: Scalar? { .double(Double(self)) } }

extension ScalarConvertible where Self: FixedWidthInteger {
  var scalar: Scalar? { Int64(exactly: self).map(Scalar.int) }
}
extension Int: ScalarConvertible {}
extension Int8: ScalarConvertible {}
extension Int16: ScalarConvertible {}
extension Int32: ScalarConvertible {}
extension Int64: ScalarConvertible {}
extension UInt: ScalarConvertible {}
extension UInt8: ScalarConvertible {}
extension UInt16: ScalarConvertible {}
extension UInt32: ScalarConvertible {}
extension UInt64: ScalarConvertible {}

extension Optional: ScalarConvertible where Wrapped: ScalarConvertible {
  var scalar: Scalar? {
    guard let value = self else { return .null }
    // A nested optional's inner nil isn't the outer one; conditions don't tell them apart.
    let inner = value.scalar
    return inner == .null ? nil : inner
  }
}
