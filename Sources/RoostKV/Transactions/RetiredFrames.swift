/// A version that somebody may be reading.
struct HeldVersion: Sendable {
  var sequence: UInt64
  var lastOwner: UInt64
  var base: UInt32
}

extension HeldVersion {
  init(_ version: Version) {
    self.init(sequence: version.sequence, lastOwner: version.lastOwner, base: version.base)
  }
}

/// Frames that the newest state no longer reaches, but some held version may.
///
/// A frame made by owner `o` and given up by version `w` can be reached from a version `v` if `o <= v.lastOwner` and
/// `v.sequence < w`. As both grow together, the greatest held `v` before `w` decides. So a snapshot holds at most the frames
/// of its own state, however many commits follow.
struct RetiredFrames {
  private struct Retired {
    var frame: PageNumber
    /// The first version that does not reach it.
    var until: UInt64
  }

  private var fresh: [Retired] = []
  /// By the sequence of the version that holds them.
  private var held: [UInt64: [Retired]] = [:]
  private(set) var count = 0

  mutating func add(_ frames: [PageNumber], until sequence: UInt64) {
    fresh += frames.map { Retired(frame: $0, until: sequence) }
    count += frames.count
  }

  /// Takes out the frames that none of `versions`, which are in order, can reach.
  mutating func drain(_ versions: [HeldVersion], owner: (PageNumber) -> UInt64) -> [PageNumber] {
    var open = fresh
    fresh = []
    for sequence in held.keys where !versions.contains(where: { $0.sequence == sequence }) {
      open += held.removeValue(forKey: sequence) ?? []
    }
    var free: [PageNumber] = []
    for entry in open {
      if let holder = versions.last(where: { $0.sequence < entry.until }), owner(entry.frame) <= holder.lastOwner {
        held[holder.sequence, default: []].append(entry)
      } else {
        free.append(entry.frame)
      }
    }
    count -= free.count
    return free
  }
}
