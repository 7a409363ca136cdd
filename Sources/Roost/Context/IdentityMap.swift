/// The registered objects by number, without keeping them alive.
///
/// Numbers are handed out one after the other, so chunks of neighbours are dense: a look-up is one
/// dictionary access for 512 objects and an array access for each.
struct IdentityMap {
  private static let bits: UInt64 = 9

  private final class Chunk {
    var count = 0
    var slots = [Unmanaged<AnyObject>?](repeating: nil, count: 1 << Int(IdentityMap.bits))
    /// The commit that each object's values are of.
    var commits = [UInt64](repeating: 0, count: 1 << Int(IdentityMap.bits))
  }

  private var chunks: [UInt64: Chunk] = [:]
  // The chunk used last: loops over a table stay in one for 512 objects.
  private var recentKey = UInt64.max
  private var recent: Chunk?

  private(set) var count = 0

  /// The object with this number, if it is registered.
  mutating func object(_ number: UInt64) -> AnyObject? {
    guard let chunk = chunk(number >> Self.bits) else { return nil }
    return chunk.slots[Self.place(number)]?.takeUnretainedValue()
  }

  mutating func insert(_ object: AnyObject, _ number: UInt64, commit: UInt64) {
    let key = number >> Self.bits
    let chunk: Chunk
    if let present = self.chunk(key) {
      chunk = present
    } else {
      chunk = Chunk()
      chunks[key] = chunk
      (recentKey, recent) = (key, chunk)
    }
    let place = Self.place(number)
    if chunk.slots[place] == nil {
      chunk.count += 1
      count += 1
    }
    chunk.slots[place] = .passUnretained(object)
    chunk.commits[place] = commit
  }

  /// The commit that a registered object's values are of.
  mutating func commit(_ number: UInt64) -> UInt64 {
    chunk(number >> Self.bits)?.commits[Self.place(number)] ?? 0
  }

  mutating func setCommit(_ commit: UInt64, _ number: UInt64) {
    chunk(number >> Self.bits)?.commits[Self.place(number)] = commit
  }

  /// Forgets the number; an object of that number need not exist any more.
  mutating func remove(_ number: UInt64) {
    let key = number >> Self.bits
    guard let chunk = chunk(key) else { return }
    let place = Self.place(number)
    guard chunk.slots[place] != nil else { return }
    chunk.slots[place] = nil
    chunk.count -= 1
    count -= 1
    if chunk.count == 0 {
      chunks[key] = nil
      (recentKey, recent) = (.max, nil)
    }
  }

  /// All registered objects, in no order.
  func objects() -> [AnyObject] {
    chunks.values.flatMap { chunk in chunk.slots.compactMap { $0?.takeUnretainedValue() } }
  }

  private mutating func chunk(_ key: UInt64) -> Chunk? {
    if key == recentKey { return recent }
    guard let chunk = chunks[key] else { return nil }
    (recentKey, recent) = (key, chunk)
    return chunk
  }

  private static func place(_ number: UInt64) -> Int {
    Int(truncatingIfNeeded: number & ((1 << bits) - 1))
  }
}
