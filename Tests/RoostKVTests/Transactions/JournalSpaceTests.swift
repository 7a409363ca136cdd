import RoostKV
import TestSupport
import Testing

/// The journal takes what the work at hand needs, and gives back what it does not.
@Suite struct JournalSpaceTests {
  @Test("Segments of a busy time are given back in a quiet one, and by closing")
  func segmentsAreGivenBack() throws {
    let folder = TemporaryDirectory()
    var options = StoreOptions()
    options.journalBound = 1 << 20
    let store = try Store.open(folder.file(), options)
    try store.write { _ = try $0.createTable("t") }
    func put(_ count: Int, _ length: Int) throws {
      for number in 0..<count {
        try store.write(.relaxed) { transaction in
          try transaction.put(
            "key \(number % 50)", [UInt8](repeating: 1, count: length), in: try transaction.table("t"))
        }
      }
    }
    try put(1000, 1500)
    let busy = try store.stats()
    #expect(busy.journalSpace > 256 << 10)
    for _ in 0..<3 {
      try put(5, 100)
      try store.checkpoint()
    }
    let quiet = try store.stats()
    // The segment that is being written, and the first one, which always stays.
    #expect(quiet.journalSegments <= 2 && quiet.journalSegments < busy.journalSegments)
    try requireSound(store, "quiet")
    try put(500, 1500)
    try store.close()
    let again = try Store.open(folder.file(), options)
    #expect(try again.stats().journalSegments == 1)
    try requireSound(again, "reopened")
  }
}
