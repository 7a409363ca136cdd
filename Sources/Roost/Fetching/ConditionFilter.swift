/// What a condition says of a record.
enum Verdict {
  case no
  case yes
  /// The record's field can't be read as the condition needs it: only the object tells.
  case unknown

  init(_ value: Bool) { self = value ? .yes : .no }

  static prefix func ! (verdict: Verdict) -> Verdict {
    switch verdict {
    case .no: .yes
    case .yes: .no
    case .unknown: .unknown
    }
  }
}

/// A condition made ready to decide records of one entity.
struct ConditionFilter {
  typealias Decide = (RecordView, UInt64) -> Verdict

  private let entity: EntityBinding

  init(_ entity: EntityBinding) {
    self.entity = entity
  }

  func decide(_ condition: Condition) -> Decide {
    switch condition {
    case .constant(let value): return { _, _ in Verdict(value) }
    case .and(let a, let b):
      let (a, b) = (decide(a), decide(b))
      return { view, number in
        switch a(view, number) {
        case .no: .no
        case .yes: b(view, number)
        case .unknown: b(view, number) == .no ? .no : .unknown
        }
      }
    case .or(let a, let b):
      let (a, b) = (decide(a), decide(b))
      return { view, number in
        switch a(view, number) {
        case .yes: .yes
        case .no: b(view, number)
        case .unknown: b(view, number) == .yes ? .yes : .unknown
        }
      }
    case .not(let inner):
      let inner = decide(inner)
      return { view, number in !inner(view, number) }
    case .compare(let column, let comparison, let scalar):
      return compare(column, comparison, scalar)
    case .isOneOf(let column, let scalars):
      return isOneOf(column, scalars)
    case .contains(let column, let needle):
      return text(column, needle, fast: ASCII.contains, slow: containsAll)
    case .hasPrefix(let column, let prefix):
      return text(column, prefix, fast: { $0.starts(with: $1) }, slow: { $0.starts(with: $1) })
    }
  }

  // MARK: - Comparisons

  private func compare(
    _ column: Condition.Column, _ comparison: Condition.Comparison, _ scalar: Scalar
  ) -> Decide {
    guard case .property(let index) = column else { return identifier(comparison, scalar) }
    let isOptional = entity.properties[index].isOptional
    switch scalar {
    case .null:
      return { view, _ in
        view.field(index).bytes != nil ? .no : isOptional && !view.isDamaged(index) ? .yes : .unknown
      }
    case .bool(let value):
      return field(index) { field in Bool._$read(field).map { Verdict($0 == value) } ?? .unknown }
    case .int(let value):
      return field(index) { field in
        let read = field.type == .int64 ? field.load(Int64.self) : field.integer(Int64.self)
        if let read { return Verdict(comparison.holds(read, value)) }
        // An unsigned integer beyond every Int64.
        guard field.integer(UInt64.self) != nil else { return .unknown }
        return Verdict(comparison == .greater || comparison == .greaterOrEqual)
      }
    case .double(let value):
      return field(index) { field in
        Double._$read(field).map { Verdict(comparison.holds($0, value)) } ?? .unknown
      }
    case .date(let value):
      return field(index) { field in
        Date._$read(field).map { Verdict(comparison.holds($0, value)) } ?? .unknown
      }
    case .uuid(let value):
      return field(index) { field in UUID._$read(field).map { Verdict($0 == value) } ?? .unknown }
    case .string(let value): return compare(index, comparison, value)
    case .identifier: return { _, _ in .unknown }
    }
  }

  /// Decides a field that isn't nil; nil satisfies no comparison with a value.
  private func field(_ index: Int, _ decide: @escaping (RecordField) -> Verdict) -> Decide {
    let isOptional = entity.properties[index].isOptional
    return { view, _ in
      let field = view.field(index)
      if field.bytes != nil { return decide(field) }
      return isOptional && !view.isDamaged(index) ? .no : .unknown
    }
  }

  private func compare(_ index: Int, _ comparison: Condition.Comparison, _ value: String) -> Decide {
    let bytes = Array(value.utf8)
    let isASCII = bytes.allSatisfy { $0 < 0x80 }
    return field(index) { field in
      guard field.type == .string, let content = field.bytes else { return .unknown }
      if isASCII && content.allSatisfy({ $0 < 0x80 }) {
        return Verdict(comparison.holds(ASCII.order(content, bytes)))
      }
      return String._$read(field).map { Verdict(comparison.holds($0, value)) } ?? .unknown
    }
  }

  private func identifier(_ comparison: Condition.Comparison, _ scalar: Scalar) -> Decide {
    guard case .identifier(let identifier) = scalar else { return { _, _ in Verdict(false) } }
    let entity = entity
    return { _, number in Verdict(comparison.holds(entity.identifier(number), identifier)) }
  }

  private func isOneOf(_ column: Condition.Column, _ scalars: [Scalar]) -> Decide {
    if case .identifier = column {
      let wanted = Set(
        scalars.compactMap { scalar -> UInt64? in
          guard case .identifier(let identifier) = scalar else { return nil }
          return entity.identifier(identifier.number) == identifier ? identifier.number : nil
        })
      return { _, number in Verdict(wanted.contains(number)) }
    }
    if case .property(let index) = column, let integers = Self.integers(scalars) {
      return field(index) { field in
        if let read = field.integer(Int64.self) { return Verdict(integers.contains(read)) }
        return field.integer(UInt64.self) != nil ? .no : .unknown
      }
    }
    let each = scalars.map { compare(column, .equal, $0) }
    return { view, number in
      var verdict = Verdict.no
      for decide in each {
        switch decide(view, number) {
        case .yes: return .yes
        case .no: continue
        case .unknown: verdict = .unknown
        }
      }
      return verdict
    }
  }

  private static func integers(_ scalars: [Scalar]) -> Set<Int64>? {
    var integers: Set<Int64> = []
    for scalar in scalars {
      guard case .int(let value) = scalar else { return nil }
      integers.insert(value)
    }
    return integers
  }

  // MARK: - Text

  /// Decides a search in a string: on bytes where that is the same, which a carriage return, part of the one
  /// character of two ASCII bytes, prevents.
  private func text(
    _ column: Condition.Column, _ needle: String,
    fast: @escaping (UnsafeRawBufferPointer, [UInt8]) -> Bool, slow: @escaping (String, String) -> Bool
  ) -> Decide {
    guard case .property(let index) = column else { return { _, _ in .unknown } }
    let bytes = Array(needle.utf8)
    let isPlain = bytes.allSatisfy { $0 < 0x80 && $0 != 0x0D }
    return field(index) { field in
      guard field.type == .string, let content = field.bytes else { return .unknown }
      if isPlain && content.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) { return Verdict(fast(content, bytes)) }
      return String._$read(field).map { Verdict(slow($0, needle)) } ?? .unknown
    }
  }
}

/// The search that a predicate's `contains` makes.
private func containsAll<A: Collection, B: Collection>(_ all: A, _ part: B) -> Bool
where A.Element == B.Element, A.Element: Equatable {
  all.contains(part)
}

extension Condition.Comparison {
  func holds<Value: Comparable>(_ a: Value, _ b: Value) -> Bool {
    switch self {
    case .equal: a == b
    case .less: a < b
    case .lessOrEqual: a <= b
    case .greater: a > b
    case .greaterOrEqual: a >= b
    }
  }

  /// Of the sign of `a - b`.
  func holds(_ order: Int) -> Bool { holds(order, 0) }
}

private enum ASCII {
  /// Negative, zero or positive as `a` comes before, is, or comes after `b`.
  static func order(_ a: UnsafeRawBufferPointer, _ b: [UInt8]) -> Int {
    b.withUnsafeBytes { b in
      let common = min(a.count, b.count)
      if common > 0, let left = a.baseAddress, let right = b.baseAddress {
        let order = memcmp(left, right, common)
        if order != 0 { return Int(order) }
      }
      return a.count - b.count
    }
  }

  static func contains(_ text: UnsafeRawBufferPointer, _ part: [UInt8]) -> Bool {
    guard let first = part.first else { return true }
    guard text.count >= part.count else { return false }
    for start in 0...(text.count - part.count) where text[start] == first {
      if text[start..<start + part.count].elementsEqual(part) { return true }
    }
    return false
  }
}
