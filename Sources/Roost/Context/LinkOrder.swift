/// The order keys of a to-many relationship's members: numbers with gaps, so that a member put between
/// two others mostly needs no new keys but its own.
enum LinkOrder {
  static let gap: UInt64 = 1 << 16

  /// Keys in ascending order for members of which some have keys already, changing few of them.
  ///
  /// - Parameter highest: no key of the store is greater; raised when a greater one is made. It wraps
  ///   around rather than trap when the stored counter is damaged.
  static func keys(_ present: [UInt64?], highest: inout UInt64) -> [UInt64] {
    let kept = longestAscending(present)
    var keys: [UInt64] = []
    keys.reserveCapacity(present.count)
    var place = 0
    while place < present.count {
      if let key = present[place], kept[place] {
        keys.append(key)
        place += 1
        continue
      }
      let end = present.indices[place...].first { kept[$0] } ?? present.count
      let run = end - place
      let low = keys.last ?? 0
      if end == present.count {
        for _ in 0..<run {
          highest &+= gap
          keys.append(highest)
        }
      } else if let high = present[end], high - low > UInt64(run) {
        let step = (high - low) / UInt64(run + 1)
        for offset in 1...UInt64(run) { keys.append(low + step * offset) }
      } else {
        // No room: everything from here on moves behind the highest key.
        for _ in place..<present.count {
          highest &+= gap
          keys.append(highest)
        }
        return keys
      }
      place = end
    }
    return keys
  }

  /// Marks a longest ascending run of the keys that are there.
  private static func longestAscending(_ keys: [UInt64?]) -> [Bool] {
    var kept = [Bool](repeating: false, count: keys.count)
    // Most lists are in order but for new members.
    var last: UInt64?
    let isAscending = keys.allSatisfy { key in
      guard let key else { return true }
      defer { last = key }
      return last.map { $0 < key } ?? true
    }
    if isAscending {
      for place in keys.indices { kept[place] = keys[place] != nil }
      return kept
    }
    var tails: [Int] = []
    var previous = [Int?](repeating: nil, count: keys.count)
    for (place, key) in keys.enumerated() {
      guard let key else { continue }
      var (low, high) = (0, tails.count)
      while low < high {
        let middle = (low + high) / 2
        if let tail = keys[tails[middle]], tail < key { low = middle + 1 } else { high = middle }
      }
      previous[place] = low > 0 ? tails[low - 1] : nil
      if low == tails.count { tails.append(place) } else { tails[low] = place }
    }
    var next = tails.last
    while let place = next {
      kept[place] = true
      next = previous[place]
    }
    return kept
  }
}
