/// What a check of a store has found.
public struct CheckReport: Sendable {
  /// One thing that is wrong.
  public struct Problem: Sendable, Hashable, CustomStringConvertible {
    /// What sort of thing; the set is open, the names stay.
    public enum Kind: String, Sendable, CaseIterable {
      /// A header slot isn't what was written, or differs from what it describes.
      case header
      /// The file ends before the state does.
      case length
      /// A page's bytes don't match its checksum, make no sense, or can't be read.
      case page
      /// An intact page is of another state than the one referred to: a write was lost or went elsewhere.
      case stamp
      /// A page is on another level of its tree than is said, a tree higher than can be, or a root superfluous.
      case level
      /// A page or run lies outside the file or the state's pages.
      case outside
      /// A page names another table than the one whose tree it is in.
      case owner
      /// Keys aren't in ascending order, or not within the bounds that the parents set.
      case order
      /// Entries of a page or subtree aren't as many as is said.
      case count
      /// Space in a page is used as it must not be: overlapping cells, a wrong number of unused bytes, a value in the wrong place.
      case fill
      /// A large value isn't what was written.
      case run
      /// A page has two uses.
      case doubleUse
      /// The free map is unreadable, or calls a page free that is in use.
      case freeMap
      /// A page that nothing uses is in use by the free map.
      case leak
      /// The list of tables has an entry that makes no sense.
      case catalog
      /// The journal's segments.
      case journal
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
  /// What is worth knowing and no fault: traces of a crash that the next write will remove.
  public internal(set) var notices: [Problem] = []
  /// Pages that were read, those of runs included.
  public internal(set) var pagesChecked: UInt64 = 0
  /// Entries of the tables and of the list of tables.
  public internal(set) var entriesChecked: UInt64 = 0
  /// Values in runs of pages that were read whole.
  public internal(set) var runsChecked: UInt64 = 0

  /// Whether nothing is wrong.
  public var isSound: Bool { problems.isEmpty }
}
