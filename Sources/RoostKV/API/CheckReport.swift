/// What a check of a store has found.
public struct CheckReport: Sendable {
  /// One thing that is wrong.
  public struct Problem: Sendable, Hashable, CustomStringConvertible {
    /// What sort of thing; the set is open.
    public enum Kind: String, Sendable {
      case header, page, order, count, run, freeMap, leak, doubleUse, catalog, journal
    }

    /// What sort of thing it is.
    public var kind: Kind
    /// The table concerned.
    public var table: String?
    /// The page concerned, as far as it is one of the file.
    public var page: UInt64?
    /// What is wrong, for people.
    public var message: String

    public var description: String {
      let place = [table.map { "table \"\($0)\"" }, page.map { "page \($0)" }].compactMap { $0 }.joined(separator: ", ")
      return place.isEmpty ? "\(kind.rawValue): \(message)" : "\(kind.rawValue): \(place): \(message)"
    }
  }

  /// Empty for a sound store.
  public internal(set) var problems: [Problem] = []
  /// Pages that were read, those of runs included.
  public internal(set) var pagesChecked: UInt64 = 0
  /// Entries of the tables and of the list of tables.
  public internal(set) var entriesChecked: UInt64 = 0
  /// Values in runs of pages that were read whole.
  public internal(set) var runsChecked: UInt64 = 0

  /// Whether nothing is wrong.
  public var isSound: Bool { problems.isEmpty }
}
