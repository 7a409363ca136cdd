import RoostKV

/// Where candidates for a condition are: a few identifiers, or ranges of an index. A plan only narrows the
/// search; every candidate is still decided by the whole condition.
enum IndexPlan {
  case numbers([UInt64])
  case ranges(Table, isUnique: Bool, [KeyRange])

  /// The best plan for one entity, if any is better than reading all records.
  static func best(for condition: Condition, _ entity: EntityBinding) -> IndexPlan? {
    let parts = condition.conjuncts
    for part in parts {
      if let numbers = identifiers(part, entity) { return .numbers(numbers) }
    }
    var best: (plan: IndexPlan, weight: Int)?
    for index in entity.indexes {
      guard index.isComplete, let table = index.table, let found = ranges(index, parts) else { continue }
      let weight = found.equalities * 2 + (found.isBounded ? 1 : 0) + (index.isUnique ? 1 : 0)
      if weight > best?.weight ?? 0 {
        best = (.ranges(table, isUnique: index.isUnique, found.ranges), weight)
      }
    }
    return best?.plan
  }

  private static func identifiers(_ part: Condition, _ entity: EntityBinding) -> [UInt64]? {
    let scalars: [Scalar]
    switch part {
    case .compare(.identifier, .equal, let scalar): scalars = [scalar]
    case .isOneOf(.identifier, let several): scalars = several
    default: return nil
    }
    let numbers = scalars.compactMap { scalar -> UInt64? in
      guard case .identifier(let identifier) = scalar,
        identifier.storeIdentifier == entity.space.storeIdentifier
      else { return nil }
      return identifier.number
    }
    return Array(Set(numbers)).sorted()
  }

  // MARK: - Ranges

  private struct Ranges {
    var ranges: [KeyRange]
    var equalities: Int
    var isBounded: Bool
  }

  /// The key ranges of the rows that satisfy the parts about the index's properties.
  private static func ranges(_ index: IndexBinding, _ parts: [Condition]) -> Ranges? {
    var prefixes: [[UInt8]] = [[]]
    var equalities = 0
    for property in index.properties {
      guard let values = equal(to: property, parts), values.count * prefixes.count <= 1000 else { break }
      prefixes = prefixes.flatMap { prefix in values.map { prefix + $0 } }
      equalities += 1
    }
    if equalities == index.properties.count || equalities > 0 {
      let ranges = prefixes.map { prefix in
        KeyRange.prefix(IndexBinding.cut(prefix, keepingDistinct: false))
      }
      return Ranges(ranges: merged(ranges), equalities: equalities, isBounded: false)
    }
    guard let first = index.properties.first, let range = range(of: first, parts) else { return nil }
    return Ranges(ranges: [range], equalities: 0, isBounded: true)
  }

  /// No range twice: a row must not be found twice.
  private static func merged(_ ranges: [KeyRange]) -> [KeyRange] {
    var unique: [KeyRange] = []
    for range in ranges where !unique.contains(range) { unique.append(range) }
    return unique
  }

  /// The keys that a property's value can have if the parts pin it down.
  private static func equal(to property: Int, _ parts: [Condition]) -> [[UInt8]]? {
    for part in parts {
      switch part {
      case .compare(.property(property), .equal, let scalar) where scalar != .null:
        return [key(scalar)]
      case .isOneOf(.property(property), let scalars) where !scalars.contains(.null):
        return scalars.map(key)
      default: continue
      }
    }
    return nil
  }

  /// The range of keys that bounds on a property leave.
  private static func range(of property: Int, _ parts: [Condition]) -> KeyRange? {
    var range = KeyRange.all
    var isBounded = false
    for part in parts {
      guard case .compare(.property(property), let comparison, let scalar) = part, scalar.isOrdered else {
        continue
      }
      let bound = IndexBinding.cut(key(scalar), keepingDistinct: false)
      switch comparison {
      case .greater, .greaterOrEqual:
        range.lower = .included(bound)
        isBounded = true
      case .less, .lessOrEqual:
        // Keys go on after the value; all that begin with it are taken.
        range.upper = KeyRange.prefix(bound).upper
        isBounded = true
      case .equal: continue
      }
    }
    return isBounded ? range : nil
  }

  private static func key(_ scalar: Scalar) -> [UInt8] {
    var encoder = KeyEncoder()
    switch scalar {
    case .null: encoder.appendNil()
    case .bool(let value): encoder.append(value)
    case .int(let value): encoder.append(value)
    case .double(let value): encoder.append(value)
    case .string(let value): encoder.appendNormalized(value)
    case .date(let value): encoder.append(value)
    case .uuid(let value): encoder.append(value)
    case .identifier(let value): encoder.appendIdentifier(value.number)
    }
    return encoder.bytes
  }
}

extension Condition {
  /// The conditions that all have to hold.
  fileprivate var conjuncts: [Condition] {
    if case .and(let a, let b) = self { return a.conjuncts + b.conjuncts }
    return [self]
  }
}

extension StoreReading {
  /// The numbers of the rows in the index ranges, each once, ascending.
  func numbers(in table: Table, isUnique: Bool, _ ranges: [KeyRange]) throws -> [UInt64] {
    var numbers: [UInt64] = []
    for range in ranges {
      try forEach(in: table, range, reversed: false) { key, value in
        let number = isUnique ? RecordKey.number(value) : RecordKey.number(key, at: key.count - 8)
        if let number { numbers.append(number) }
        return true
      }
    }
    numbers.sort()
    return numbers.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }
}
