import RoostKV

/// Damage to a file that no power loss does.
enum Rot: CustomStringConvertible {
  /// One of the two header slots, while the other one is good.
  case header(Int)
  case bit(Int)
  case zeroedPage(Int)
  case swappedPages(Int, Int)
  /// A page overwritten with another page of the file: stale or foreign.
  case copiedPage(from: Int, to: Int)

  private static let page = 4096

  static func random(_ random: inout SplitMix64, length: Int) -> Rot {
    let pages = max(2, length / page)
    func anyPage() -> Int { Int.random(in: 1..<pages, using: &random) }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return .zeroedPage(anyPage())
    case 1: return .swappedPages(anyPage(), anyPage())
    case 2: return .copiedPage(from: anyPage(), to: anyPage())
    default: return .bit(Int.random(in: 0..<max(1, length * 8), using: &random))
    }
  }

  var description: String {
    switch self {
    case .header(let slot): "header slot \(slot) destroyed"
    case .bit(let bit): "bit \(bit % 8) of byte \(bit / 8) flipped"
    case .zeroedPage(let page): "bytes from \(page * Self.page) on zeroed"
    case .swappedPages(let a, let b): "pages at \(a * Self.page) and \(b * Self.page) swapped"
    case .copiedPage(let a, let b): "the page at \(a * Self.page) copied to \(b * Self.page)"
    }
  }

  var isBit: Bool { if case .bit = self { true } else { false } }
  var isHeader: Bool { if case .header = self { true } else { false } }

  private static func isValidHeader(_ slot: [UInt8]) -> Bool {
    slot.withUnsafeBytes { slot in
      XXH3.hash(UnsafeRawBufferPointer(rebasing: slot[..<504]))
        == UInt64(littleEndian: slot.loadUnaligned(fromByteOffset: 504, as: UInt64.self))
    }
  }

  /// - Returns: false if it would change nothing, or more than it says.
  func apply(to medium: SimulatedMedium, _ random: inout SplitMix64) -> Bool {
    let bytes = medium.killImage.bytes
    func page(_ number: Int) -> ArraySlice<UInt8> {
      bytes[min(number * Self.page, bytes.count)..<min((number + 1) * Self.page, bytes.count)]
    }
    func put(_ content: some Collection<UInt8>, at offset: Int) {
      medium.damage(offset..<offset + content.count) { $0.copyBytes(from: content.prefix($0.count)) }
    }
    switch self {
    case .header(let slot):
      // A torn header slot is no good for an answer when the other one goes too.
      let slots = [0, 4096].map { Array(bytes.dropFirst($0).prefix(512)) }
      guard slots.allSatisfy({ $0.count == 512 && Self.isValidHeader($0) }) else { return false }
      put(random.bytes(512), at: slot * 4096)
    case .bit(let bit):
      guard bit / 8 < bytes.count else { return false }
      put([bytes[bit / 8] ^ (1 << UInt8(bit % 8))], at: bit / 8)
    case .zeroedPage(let number):
      guard page(number).contains(where: { $0 != 0 }) else { return false }
      put([UInt8](repeating: 0, count: page(number).count), at: number * Self.page)
    case .swappedPages(let a, let b):
      guard page(a) != page(b), page(a).count == page(b).count else { return false }
      put(page(a), at: b * Self.page)
      put(page(b), at: a * Self.page)
    case .copiedPage(let from, let to):
      guard page(from) != page(to), page(from).count == page(to).count else { return false }
      put(page(from), at: to * Self.page)
    }
    return true
  }
}
