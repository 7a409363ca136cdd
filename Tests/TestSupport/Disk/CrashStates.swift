/// The disks a power loss can leave, as choices.
///
/// Of up to twelve pending writes every subset is kept, as a whole or with one of its writes torn: cut off at some
/// sector,
/// without its beginning, or with holes. Each is combined with every number of changes of the length. When that is
/// more than
/// `limit`, or there are more writes, it is a sample, which begins with everything lost and everything kept.
package struct CrashStates: Sequence, IteratorProtocol {
  private static let enumerable = 12
  /// Places where a long write is torn.
  private static let tearsPerWrite = 6

  private let state: DiskState
  private let limit: Int
  private let mustKeepNewest: Bool
  /// For each write, the ways in which it is torn.
  private let tears: [[Fate]]
  /// How many choices there are for one number of kept lengths; nil: too many.
  private let choices: Int?
  private var generator: SplitMix64
  private var index = 0
  // Of the enumeration: the subset, the torn write and the way it is torn.
  private var mask = 0
  private var torn = -1
  private var tear = 0
  private var lengths = 0
  private var isDone = false

  /// - Parameter mustKeepNewest: leaves out what keeps nothing of the newest write. Those were there before it, too.
  package init(_ state: DiskState, limit: Int, seed: UInt64, mustKeepNewest: Bool = false) {
    self.state = state
    self.limit = limit
    self.mustKeepNewest = mustKeepNewest && !state.pending.isEmpty
    var generator = SplitMix64(seed: seed)
    tears = state.pending.map { Self.tears($0.hashes.count, &generator) }
    self.generator = generator
    let count = state.pending.count
    if count <= Self.enumerable {
      let ways = tears.reduce(0) { $0 + $1.count }
      let total = (state.pendingLengths.count + 1) * ((1 << count) + (ways << Swift.max(0, count - 1)))
      choices = total <= limit ? total : nil
    } else {
      choices = nil
    }
    if self.mustKeepNewest { mask = 1 << Swift.min(count - 1, 62) }
  }

  private static func tears(_ sectors: Int, _ generator: inout SplitMix64) -> [Fate] {
    guard sectors > 1 else { return [] }
    let cuts: [Int]
    if sectors <= tearsPerWrite + 1 {
      cuts = Array(1..<sectors)
    } else {
      cuts = [1, sectors - 1] + (2..<tearsPerWrite).map { _ in Int.random(in: 1..<sectors, using: &generator) }
    }
    let ends = cuts.flatMap { [Fate.before($0), .after($0)] }
    return sectors > 2 ? ends + [.holes(generator.next())] : ends
  }

  /// Whether the choices are all there are, apart from places where long writes are torn.
  package var isExhaustive: Bool { choices != nil }

  package mutating func next() -> CrashChoice? {
    defer { index += 1 }
    if choices != nil { return isDone ? nil : enumerated() }
    guard index < limit else { return nil }
    switch index {
    case 0: return state.noneKept
    case 1: return CrashChoice(fates: state.pending.map { _ in .kept }, lengthsKept: state.pendingLengths.count)
    default: return sampled()
    }
  }

  private mutating func enumerated() -> CrashChoice {
    var fates = (0..<state.pending.count).map { mask >> $0 & 1 == 1 ? Fate.kept : .lost }
    if torn >= 0 { fates[torn] = tears[torn][tear] }
    let choice = CrashChoice(fates: fates, lengthsKept: lengths)
    advance()
    return choice
  }

  /// Goes on to the next tear of a write in the subset, else to the next number of lengths, else to the next subset.
  private mutating func advance() {
    if torn >= 0, tear + 1 < tears[torn].count {
      tear += 1
      return
    }
    tear = 0
    torn += 1
    while torn < tears.count, mask >> torn & 1 == 0 || tears[torn].isEmpty { torn += 1 }
    if torn < tears.count { return }
    torn = -1
    lengths += 1
    if lengths <= state.pendingLengths.count { return }
    lengths = 0
    mask += 1
    isDone = mask >> state.pending.count > 0
  }

  /// Each write is kept, lost, or torn. Mostly they share a fate: choosing each on its own alone would hardly ever
  /// leave
  /// many whole.
  private mutating func sampled() -> CrashChoice {
    let mostly = Int.random(in: 0...2, using: &generator)
    let fates = state.pending.map { write -> Fate in
      let choice = generator.oneIn(2) ? mostly : Int.random(in: 0...4, using: &generator)
      let cut = Int.random(in: 0..<Swift.max(1, write.hashes.count), using: &generator)
      switch choice {
      case 0: return .kept
      case 1: return .lost
      case 2: return .before(cut)
      case 3: return .after(cut)
      default: return .holes(generator.next())
      }
    }
    return CrashChoice(
      fates: fates, lengthsKept: Int.random(in: 0...state.pendingLengths.count, using: &generator))
  }
}

extension DiskState {
  /// The disks a power loss can leave: all of them if they are at most `limit`, else that many of them.
  package func crashStates(limit: Int, seed: UInt64) -> [DiskImage] {
    var seen = Set<DiskImage>()
    return CrashStates(self, limit: limit, seed: seed).map { crash($0) }.filter { seen.insert($0).inserted }
  }

  /// One of the disks a power loss can leave.
  package func crash(seed: UInt64) -> DiskImage {
    var random = SplitMix64(seed: seed)
    let choices = Array(CrashStates(self, limit: 64, seed: seed))
    return crash(choices.randomElement(using: &random) ?? noneKept)
  }
}
