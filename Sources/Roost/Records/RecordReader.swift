/// Gives a stored record's values by property index. Never traps: what can't be read is noted in
/// `failure`, and a neutral value stands in for it.
public struct RecordReader {
  private final class Note { var failure: String? }

  private let values: [Int: Any]
  private let note = Note()

  init(_ writer: RecordWriter) { values = writer.values }

  /// A record without any content.
  static var absent: RecordReader { RecordReader(RecordWriter()) }

  /// What went wrong first.
  var failure: String? { note.failure }

  public func fail(at index: Int, _ reason: String) {
    if note.failure == nil { note.failure = "property \(index): \(reason)" }
  }

  public func scalar<T: PersistentScalar>(_ index: Int) -> T {
    if let value = values[index] as? T { return value }
    fail(at: index, "no \(T.self)")
    return T._$neutral
  }

  public func codable<T: Codable>(_ index: Int, as type: T.Type) -> T? {
    if let value = values[index] as? T { return value }
    fail(at: index, "no \(T.self)")
    return nil
  }

  public func identifier(_ index: Int) -> PersistentIdentifier? {
    values[index] as? PersistentIdentifier
  }

  /// The members of a to-many relationship, or nil if the record doesn't list them.
  public func identifiers(_ index: Int) -> [PersistentIdentifier]? {
    values[index] as? [PersistentIdentifier]
  }
}
