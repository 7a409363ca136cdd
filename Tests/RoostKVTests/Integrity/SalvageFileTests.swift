import Foundation
import RoostKV
import TestSupport
import Testing

/// Salvage of real files by their paths.
@Suite struct SalvageFileTests {
  private let folder = TemporaryDirectory()

  private func makeStore() throws -> String {
    var options = StoreOptions()
    options.pageSize = 4096
    let store = try Store.open(folder.file("in"), options)
    try store.write { transaction in
      let table = try transaction.createTable("t")
      for number in 0..<2000 { try transaction.put("key \(number)", "value \(number)", in: table) }
      try transaction.put("large", [UInt8](repeating: 3, count: 200_000), in: table)
    }
    try store.close()
    return folder.file("in")
  }

  @Test("A read-only file on the disk gives a sound store, which keeps its page size and mode")
  func files() throws {
    let input = try makeStore()
    #expect(chmod(input, 0o444) == 0)
    let before = try Data(contentsOf: URL(fileURLWithPath: input))
    let report = try Store.salvage(input, to: folder.file("out"))
    #expect(report.isComplete)
    #expect(report.entries == 2001)
    #expect(try Data(contentsOf: URL(fileURLWithPath: input)) == before)
    let store = try Store.open(folder.file("out"))
    #expect(store.pageSize == 4096)
    try requireSound(store, "the new store")
    #expect(try store.read { try $0.get("large", in: $0.table("t"))?.count } == 200_000)
    #expect(try store.stats().storeID != report.storeID)
    let mode = try FileManager.default.attributesOfItem(atPath: folder.file("out"))[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["in", "out"])
  }

  @Test("What can't be salvaged is refused with a typed error, and leaves nothing")
  func refusals() throws {
    let input = try makeStore()
    try Data("something".utf8).write(to: URL(fileURLWithPath: folder.file("there")))
    try Data().write(to: URL(fileURLWithPath: folder.file("empty")))
    let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    func expect(_ code: StoreError.Code, _ input: String, _ output: String, _ options: SalvageOptions = .init()) {
      let error = #expect(throws: StoreError.self) { _ = try Store.salvage(input, to: output, options) }
      #expect(error?.code == code)
    }
    expect(.fileExists, input, folder.file("there"))
    expect(.notFound, folder.file("missing"), folder.file("out"))
    expect(.emptyFile, folder.file("empty"), folder.file("out"))
    expect(.notAStore, folder.file("there"), folder.file("out"))
    expect(.notAStore, folder.path, folder.file("out"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == before)
  }

  @Test("A salvage that is cancelled leaves nothing")
  func cancelled() throws {
    let input = try makeStore()
    for phase in [SalvageProgress.Phase.writing] {
      let error = #expect(throws: StoreError.self) {
        _ = try Store.salvage(input, to: folder.file("out")) { $0.phase != phase }
      }
      #expect(error?.code == .cancelled)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["in"])
    }
  }

  @Test("Whatever the bytes, a salvage ends, and its store is sound", arguments: Seed.first(20))
  func hostile(_ seed: Seed) throws {
    let fixture = try SalvageFixture(Seed(2), rounds: 2, keys: 120, journal: 3)
    var generator = seed.generator
    var image = fixture.image
    for _ in 0..<6 {
      let page = Int.random(in: 0..<fixture.pageCount, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: for _ in 0..<20 { image[page * 4096 + Int.random(in: 0..<4096, using: &generator)] ^= 255 }
      case 1:
        image = image.replacing(page: page, with: image.page(Int.random(in: 0..<fixture.pageCount, using: &generator)))
      case 2 where page > 30: image.removeLast(Int.random(in: 0..<9000, using: &generator))
      default: image = image.replacing(page: page, with: generator.bytes(4096))
      }
      while image.count % 4096 != 0 || image.count < 4096 * fixture.pageCount { image.append(7) }
    }
    do { _ = try Salvaged(image, SalvageOptions(storeID: fixture.storeID)) } catch let error as StoreError {
      #expect([.headerDamaged, .notAStore, .newerFormat].contains(error.code), "\(seed): \(error)")
    }
  }
}
