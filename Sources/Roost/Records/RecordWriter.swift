/// Takes an object's values by property index, in ascending order, and makes a record of them.
public struct RecordWriter {
  private(set) var values: [Int: Any] = [:]

  init() {}

  public mutating func scalar<T: PersistentScalar>(_ value: T, at index: Int) { values[index] = value }

  public mutating func codable<T: Codable>(_ value: T, at index: Int) { values[index] = value }

  public mutating func identifier(_ target: PersistentIdentifier?, at index: Int) {
    if let target { values[index] = target }
  }

  public mutating func identifiers(_ targets: [PersistentIdentifier], at index: Int) {
    values[index] = targets
  }

  /// A to-many relationship that was never followed and whose members the record doesn't list.
  public mutating func unchangedIdentifiers(at index: Int) {}
}
