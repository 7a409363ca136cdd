/// An interval of keys in byte order (`memcmp`, then length).
///
/// A range whose lower bound lies above its upper bound is empty.
public struct KeyRange: Sendable, Equatable {
  /// One end of a range.
  public enum Bound: Sendable, Equatable {
    /// No end: every key on this side is in the range.
    case unbounded
    /// This key is the last one on this side.
    case included([UInt8])
    /// Keys up to this one, without it.
    case excluded([UInt8])
  }

  /// The end at the lesser keys.
  public var lower: Bound
  /// The end at the greater keys.
  public var upper: Bound

  /// The keys between two ends; without arguments, every key.
  public init(lower: Bound = .unbounded, upper: Bound = .unbounded) {
    self.lower = lower
    self.upper = upper
  }

  /// Every key.
  public static let all = KeyRange()

  /// Every key from `first` on.
  public static func from(_ first: [UInt8]) -> KeyRange { KeyRange(lower: .included(first)) }

  /// Every key below `end`.
  public static func below(_ end: [UInt8]) -> KeyRange { KeyRange(upper: .excluded(end)) }

  /// Keys from `first` up to, and without, `end`.
  public static func halfOpen(_ first: [UInt8], _ end: [UInt8]) -> KeyRange {
    KeyRange(lower: .included(first), upper: .excluded(end))
  }

  /// Keys from `first` to `last`, both among them.
  public static func closed(_ first: [UInt8], _ last: [UInt8]) -> KeyRange {
    KeyRange(lower: .included(first), upper: .included(last))
  }

  /// Every key that begins with `prefix`.
  public static func prefix(_ prefix: [UInt8]) -> KeyRange {
    var end = prefix
    while let last = end.popLast() {
      if last < 0xFF {
        end.append(last + 1)
        return KeyRange(lower: .included(prefix), upper: .excluded(end))
      }
    }
    return KeyRange(lower: .included(prefix))
  }
}
