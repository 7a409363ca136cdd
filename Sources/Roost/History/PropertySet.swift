/// A set of property indices, exact for models with any number of properties.
struct PropertySet: Equatable {
  private var words: [UInt64] = []
  private var first: UInt64 = 0

  var isEmpty: Bool { first == 0 && words.allSatisfy { $0 == 0 } }

  mutating func insert(_ index: Int) {
    guard index >= 64 else {
      if index >= 0 { first |= 1 << UInt64(index) }
      return
    }
    let word = index / 64 - 1
    if words.count <= word { words += [UInt64](repeating: 0, count: word + 1 - words.count) }
    words[word] |= 1 << UInt64(index % 64)
  }

  func contains(_ index: Int) -> Bool {
    guard index >= 64 else { return index >= 0 && first & 1 << UInt64(index) != 0 }
    let word = index / 64 - 1
    return word < words.count && words[word] & 1 << UInt64(index % 64) != 0
  }

  mutating func formUnion(_ other: PropertySet) {
    first |= other.first
    for index in other.words.indices where other.words[index] != 0 {
      if words.count <= index { words += [UInt64](repeating: 0, count: index + 1 - words.count) }
      words[index] |= other.words[index]
    }
  }

  /// One more than the greatest index.
  var end: Int {
    if let last = words.lastIndex(where: { $0 != 0 }) {
      return (last + 2) * 64 - words[last].leadingZeroBitCount
    }
    return 64 - first.leadingZeroBitCount
  }

  /// The indices, ascending.
  var indices: [Int] { (0..<end).filter(contains) }
}
