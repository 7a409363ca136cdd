/// Sorts a fetch's result: by the descriptors, then by identifier.
enum ResultOrder {
  static func sort<T: PersistentModel>(_ models: [T], by descriptors: [SortDescriptor<T>]) -> [T] {
    guard models.count > 1 else { return models }
    let numbers = models.map { $0._$state.identifier?.number ?? 0 }
    let columns = descriptors.map { column($0, models) }
    let order = models.indices.sorted { a, b in
      for compare in columns {
        switch compare(a, b) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return numbers[a] < numbers[b]
    }
    return order.map { models[$0] }
  }

  private typealias Compare = (Int, Int) -> ComparisonResult

  /// Compares two results by one descriptor. The values are read once each, where the descriptor lets it.
  private static func column<T: PersistentModel>(_ descriptor: SortDescriptor<T>, _ models: [T]) -> Compare {
    if descriptor.stringComparator == nil, let keyPath = descriptor.keyPath,
      let type = Swift.type(of: keyPath).valueType as? any SortableColumn.Type,
      let compare = type.compare(keyPath, models, isReversed: descriptor.order == .reverse)
    {
      return compare
    }
    return { a, b in descriptor.compare(models[a], models[b]) }
  }
}

/// A type whose values a sort reads once and compares by `<`.
private protocol SortableColumn {
  static func compare<T>(
    _ keyPath: PartialKeyPath<T>, _ models: [T], isReversed: Bool
  ) -> ((Int, Int) -> ComparisonResult)?
}

extension SortableColumn where Self: Comparable {
  static func compare<T>(
    _ keyPath: PartialKeyPath<T>, _ models: [T], isReversed: Bool
  ) -> ((Int, Int) -> ComparisonResult)? {
    guard let keyPath = keyPath as? KeyPath<T, Self> else { return nil }
    let values = models.map { $0[keyPath: keyPath] }
    return { a, b in
      if values[a] < values[b] { return isReversed ? .orderedDescending : .orderedAscending }
      if values[b] < values[a] { return isReversed ? .orderedAscending : .orderedDescending }
      return .orderedSame
    }
  }
}

extension Int: SortableColumn {}
extension Int8: SortableColumn {}
extension Int16: SortableColumn {}
extension Int32: SortableColumn {}
extension Int64: SortableColumn {}
extension UInt: SortableColumn {}
extension UInt8: SortableColumn {}
extension UInt16: SortableColumn {}
extension UInt32: SortableColumn {}
extension UInt64: SortableColumn {}
extension Double: SortableColumn {}
extension Float: SortableColumn {}
extension String: SortableColumn {}
extension Date: SortableColumn {}

/// `nil` comes before every value, as `SortDescriptor` has it.
extension Optional: SortableColumn where Wrapped: Comparable & SortableColumn {
  static func compare<T>(
    _ keyPath: PartialKeyPath<T>, _ models: [T], isReversed: Bool
  ) -> ((Int, Int) -> ComparisonResult)? {
    guard let keyPath = keyPath as? KeyPath<T, Wrapped?> else { return nil }
    let values = models.map { $0[keyPath: keyPath] }
    return { a, b in
      let isLess: Bool
      switch (values[a], values[b]) {
      case (nil, nil): return .orderedSame
      case (nil, _): isLess = true
      case (_, nil): isLess = false
      case (let a?, let b?):
        if a < b { isLess = true } else if b < a { isLess = false } else { return .orderedSame }
      }
      return isLess != isReversed ? .orderedAscending : .orderedDescending
    }
  }
}
