/// Gives a record's values by property index. Reading never traps: what can't be read is noted in
/// `failure`, and the property's default or a neutral value stands in for it.
public struct RecordReader: ~Copyable {
  /// Where readers note what went wrong. One serves any number of readers, one after the other.
  package final class Notes {
    package fileprivate(set) var failure: RecordFailure?
    /// How often something went wrong.
    package fileprivate(set) var count = 0
    package init() {}
    package func clear() { failure = nil }
  }

  /// `nil`: the record is absent or damaged as a whole.
  @usableFromInline let view: RecordView?
  private let notes: Notes

  /// A reader of the record that `view` shows. Valid as long as the view is.
  package init(_ view: RecordView, notes: Notes) {
    self.view = view
    self.notes = notes
  }

  /// A reader that finds every property neutral, and notes `failure`, if there is one.
  package init(absent failure: RecordFailure?, notes: Notes = Notes()) {
    view = nil
    self.notes = notes
    if notes.failure == nil { notes.failure = failure }
  }

  /// A record without any content.
  package static var absent: RecordReader { RecordReader(absent: nil) }

  /// What went wrong first.
  package var failure: RecordFailure? { notes.failure }

  /// Notes that a property couldn't be read.
  public func fail(at index: Int, _ reason: String) {
    note(index, .other(reason))
  }

  private func note(_ index: Int, _ reason: RecordFailure.Reason) {
    guard view != nil else { return }
    notes.count &+= 1
    guard notes.failure == nil else { return }
    notes.failure = RecordFailure(property: index, reason: reason)
  }
}

extension RecordReader {
  /// The value of a property whose type has a field form of its own.
  @inlinable
  public func scalar<T: PersistentScalar>(_ index: Int, as type: T.Type = T.self) -> T {
    if let view, let value = T._$read(view.field(index)) { return value }
    return substitute(index)
  }

  /// What is read where the field can't be: the default, else the neutral value. Notes why.
  @usableFromInline
  func substitute<T: PersistentScalar>(_ index: Int) -> T {
    guard let view else { return T._$neutral }
    noteUnreadable(index)
    return view.defaultField(index).flatMap { T._$read($0) } ?? T._$neutral
  }

  private func noteUnreadable(_ index: Int) {
    guard let view else { return }
    if view.isDamaged(index) { return note(index, .damagedField) }
    let field = view.field(index)
    guard field.bytes != nil else { return note(index, .unexpectedNil) }
    if case .damaged = FieldValue(field) { return note(index, .damagedField) }
    note(index, .notConvertible)
  }

  /// The value of a property stored through its Codable conformance; `nil`, and a note in `failure`, when it
  /// can't be decoded.
  public func codable<T: Decodable>(_ index: Int, as type: T.Type = T.self) -> T? {
    guard let view else { return nil }
    let field = view.field(index)
    let problem: RecordFailure.Reason
    switch FieldValue(field) {
    case _ where view.isDamaged(index): problem = .damagedField
    case .coded(let coded):
      do { return try CodedDecoder.decode(type, from: coded) } catch { problem = .notDecodable("\(error)") }
    case .null:
      // Types that accept nil, optionals first of all, are nil where nothing is stored.
      if let value = try? CodedDecoder.decode(type, from: .null) { return value }
      problem = .unexpectedNil
    case .damaged: problem = .damagedField
    default: problem = .notConvertible
    }
    note(index, problem)
    let substitute = view.defaultField(index)?.bytes.flatMap { try? CodedValue($0) }
    return substitute.flatMap { try? CodedDecoder.decode(type, from: $0) }
  }

  /// The object that a to-one relationship refers to.
  public func identifier(_ index: Int) -> PersistentIdentifier? {
    guard let view, let space = view.space(index), let target = view.target(index) else { return nil }
    return PersistentIdentifier(number: target, in: space)
  }

  /// The members of a to-many relationship; `nil` if the record doesn't list them.
  public func identifiers(_ index: Int) -> [PersistentIdentifier]? {
    guard let view, let space = view.space(index), let targets = view.targets(index) else { return nil }
    return targets.map { PersistentIdentifier(number: $0, in: space) }
  }
}
