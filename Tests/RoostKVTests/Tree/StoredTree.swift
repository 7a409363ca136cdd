import TestSupport
import Testing

@testable import RoostKV

/// A tree as it lies in a file, whose pages a test may replace.
///
/// Behind the last page the file ends, so that a read beyond it ends the process.
final class StoredTree {
  static let pageSize = 4096
  static let seed: UInt64 = 99
  static let stamp: (attempt: UInt16, generation: UInt32) = (0x1234, 3)

  let disk: SimulatedDisk
  let memory: PageMemory
  let root: TreeRoot
  let model: TreeModel
  /// The pages as they were stored, by their numbers.
  let pages: [PageNumber: [UInt8]]

  /// - Parameter level: the level of which some page is the last of the file.
  init(_ tree: TreeFixture, lastIs level: Int = 0) throws {
    let frames = Self.frames(of: tree)
    let candidates = frames.indices.filter { frames[$0].level == level }
    var order = frames
    order.append(order.remove(at: try #require(candidates.dropLast(candidates.count / 2).last)))
    let first = FileGeometry(pageShift: 12).firstPage
    var places: [PageNumber: PageNumber] = [:]
    for (index, frame) in order.enumerated() { places[frame.reference.page] = first + UInt64(index) }
    func stored(_ reference: Reference) -> Reference {
      Reference(
        page: places[reference.page] ?? 0, attempt: Self.stamp.attempt, generation: Self.stamp.generation,
        count: reference.count, hasRuns: reference.hasRuns)
    }
    var pages: [PageNumber: [UInt8]] = [:]
    var file = [UInt8](repeating: 0, count: (Int(first) + order.count) * Self.pageSize)
    for frame in order {
      let number = try #require(places[frame.reference.page])
      var image = [UInt8](repeating: 0, count: Self.pageSize)
      try image.withUnsafeMutableBytes { image in
        try TreePage.stage(
          UnsafeRawPointer(tree.memory.frame(frame.reference.page)), to: try #require(image.baseAddress),
          pageSize: Self.pageSize, storeSeed: Self.seed, number: number, attempt: Self.stamp.attempt,
          generation: Self.stamp.generation
        ) { (reference) throws(StoreError) in stored(reference) }
      }
      pages[number] = image
      file.replaceSubrange(Int(number) * Self.pageSize..<Int(number + 1) * Self.pageSize, with: image)
    }
    self.pages = pages
    model = tree.model
    root = TreeRoot(reference: stored(tree.root.reference), height: tree.root.height, table: tree.root.table)
    disk = SimulatedDisk(DiskImage(file))
    let reservation = try Reservation(reserving: 64 << 20, atLeast: 64 << 20)
    memory = try PageMemory(
      reservation: reservation, fileBytes: 32 << 20, pageSize: Self.pageSize, storeSeed: Self.seed, file: disk)
    memory.fileLimit = first + UInt64(order.count)
  }

  private static func frames(of tree: TreeFixture) -> [(reference: Reference, level: Int)] {
    var frames: [(reference: Reference, level: Int)] = []
    func visit(_ reference: Reference, _ level: Int) {
      frames.append((reference, level))
      guard level > 0 else { return }
      let page = UnsafeRawPointer(tree.memory.frame(reference.page))
      for index in 0..<PageHeader.count(page) { visit(TreePage.child(page, index), level - 1) }
    }
    if tree.root.height > 0 { visit(tree.root.reference, Int(tree.root.height) - 1) }
    return frames
  }

  /// The number of the file's last page.
  var last: PageNumber { memory.fileLimit - 1 }

  /// The numbers of a level's pages, in no order.
  func pages(at level: Int) -> [PageNumber] {
    pages.filter { Int($0.value[PageHeader.levelOffset]) == level }.map(\.key).sorted()
  }

  /// Puts a changed page in the place of one, with a checksum that fits unless it is to stay as it is.
  func plant(_ page: [UInt8], at number: PageNumber, sealed: Bool = true) throws {
    var page = page
    if sealed {
      page.withUnsafeMutableBytes { bytes in
        guard let start = bytes.baseAddress else { return }
        PageHeader.seal(start, pageSize: Self.pageSize, storeSeed: Self.seed, number: number)
      }
    }
    try disk.write(page, at: number * UInt64(Self.pageSize))
    memory.clearMarks(pages: 0..<memory.fileLimit)
  }

  /// Puts the page back that was stored.
  func restore(_ number: PageNumber) throws {
    try plant(try #require(pages[number]), at: number, sealed: false)
  }

  /// The page as text, for messages.
  static func text(_ page: [UInt8]) -> String {
    page.withUnsafeBytes { bytes in
      bytes.baseAddress.map { PageText.describe($0, pageSize: pageSize) } ?? ""
    }
  }
}

extension TreeFixture {
  /// A tree of three levels whose leaves have prefixes, long and short keys, inline values and runs.
  static func threeLevels(_ count: Int = 700, seed: UInt64 = 17) throws -> TreeFixture {
    var generator = SplitMix64(seed: seed)
    let tree = try TreeFixture(pageSize: StoredTree.pageSize)
    for number in 0..<count {
      // Long separators make branches of few children.
      let key =
        Array("a key that is long enough for low branches: ".utf8)
        + (0..<8).flatMap { shift in [UInt8](repeating: UInt8(number >> (shift * 2) & 3), count: 20) }.reversed()
        + generator.bytes(Int.random(in: 0...12, using: &generator))
      let length = generator.oneIn(20) ? 5000 : Int.random(in: 0...200, using: &generator)
      try tree.put(key, tree.value(key: key, length: length, using: &generator))
    }
    return tree
  }
}
