/// The disks a power loss can leave: all of them if they are few, else a sample.
package struct CrashStates: Sequence, IteratorProtocol {
  private let state: DiskState
  /// Each pending sector with the writes that touched it.
  private let sectors: [(sector: Int, writes: [Int])]
  private let total: Int?
  private let limit: Int
  private var index = 0
  private var generator: SplitMix64

  init(_ state: DiskState, limit: Int, seed: UInt64) {
    self.state = state
    self.limit = limit
    generator = SplitMix64(seed: seed)
    sectors = state.versions.sorted { $0.key < $1.key }.map { ($0.key, $0.value.map(\.write)) }
    var product: Int? = state.pendingLengths.count + 1
    for (_, writes) in sectors {
      product = product.flatMap { $0 > limit ? nil : $0 * (writes.count + 1) }
    }
    total = product.flatMap { $0 > limit ? nil : $0 }
  }

  /// Whether the states are all there are.
  package var isExhaustive: Bool { total != nil }

  package mutating func next() -> DiskImage? {
    guard index < total ?? limit else { return nil }
    defer { index += 1 }
    if total != nil { return enumerated(index) }
    switch index {
    case 0: return state.nothing
    case 1: return state.everything
    default: return sampled()
    }
  }

  /// The state of a number in which each length and each sector's content is a digit.
  private func enumerated(_ number: Int) -> DiskImage {
    var rest = number
    func digit(_ base: Int) -> Int {
      defer { rest /= base }
      return rest % base
    }
    let lengths = digit(state.pendingLengths.count + 1)
    var chosen: [Int: Int] = [:]
    for (sector, writes) in sectors {
      let choice = digit(writes.count + 1)
      if choice > 0 { chosen[sector] = writes[choice - 1] }
    }
    return state.crash(lengthsKept: lengths) { write, sector in chosen[sector] == write }
  }

  /// Each write is kept, lost, cut off somewhere, or has lost sectors here and there. Choosing each
  /// sector on its own alone would hardly ever leave a long write whole.
  private mutating func sampled() -> DiskImage {
    enum Fate {
      case kept, lost, before(Int), after(Int), holes(UInt64)
    }
    var fates: [Int: Fate] = [:]
    var spans: [Int: [Int]] = [:]
    for (sector, writes) in sectors {
      for write in writes { spans[write, default: []].append(sector) }
    }
    let mostly = Int.random(in: 0...2, using: &generator)
    for (write, touched) in spans.sorted(by: { $0.key < $1.key }) {
      let choice = generator.oneIn(2) ? mostly : Int.random(in: 0...4, using: &generator)
      let place = touched.randomElement(using: &generator) ?? 0
      fates[write] =
        switch choice {
        case 0: .kept
        case 1: .lost
        case 2: .before(place)
        case 3: .after(place)
        default: .holes(generator.next())
        }
    }
    let lengths = Int.random(in: 0...state.pendingLengths.count, using: &generator)
    return state.crash(lengthsKept: lengths) { write, sector in
      switch fates[write] {
      case .kept, nil: return true
      case .lost: return false
      case .before(let place): return sector < place
      case .after(let place): return sector >= place
      case .holes(let seed):
        var bits = SplitMix64(seed: seed &+ UInt64(sector))
        return bits.oneIn(2)
      }
    }
  }
}

extension DiskState {
  /// All disks a power loss can leave if they are at most `limit`, else that many of them, among
  /// them the one with everything and the one with nothing.
  package func crashStates(limit: Int, seed: UInt64) -> CrashStates {
    CrashStates(self, limit: limit, seed: seed)
  }

  /// One of the disks a power loss can leave.
  package func crash(seed: UInt64) -> DiskImage {
    let states = Array(crashStates(limit: 3, seed: seed))
    return states[Int(seed % UInt64(states.count))]
  }
}
