import RoostKV
import Synchronization
import TestSupport
import Testing

/// A read-only store beside a writer: what it sees, and what seeing it costs.
@Suite struct RefreshTests {
  private static func options(_ access: StoreOptions.Access = .readWrite) -> StoreOptions {
    var options = StoreOptions(access: access)
    options.addressSpace = 1 << 32
    options.journalBound = 64 << 20
    return options
  }

  @Test("[X-6] A refresh reads what has come since, not the whole journal")
  func cost() throws {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(Self.options())))
    let writer = try Store.open(SimulatedDisk(medium), Self.options())
    func put(_ number: Int) throws {
      try writer.write(.relaxed) { transaction in
        try transaction.put(
          "key \(number)", [UInt8](repeating: 1, count: 1200), in: try transaction.createTableIfMissing("t"))
      }
    }
    for number in 0..<3000 { try put(number) }
    #expect(try writer.stats().journalBytes > 3 << 20)
    let file = CountingFile(SimulatedDisk(medium, writable: false))
    let reader = try Store.open(file, Self.options(.readOnly))
    #expect(file.bytesRead.load(ordering: .relaxed) > 3 << 20)
    for number in 3000..<3010 {
      try put(number)
      let before = file.bytesRead.load(ordering: .relaxed)
      try reader.refresh()
      #expect(file.bytesRead.load(ordering: .relaxed) - before < 64 << 10)
      #expect(try reader.read { try $0.count(try $0.table("t")) } == number + 1)
    }
    try requireSound(reader, "at the end")
  }

  @Test("[X-5] A reader that opens and refreshes while commits go on sees whole states, ever newer ones, and no damage")
  func besideBusyWriter() async throws {
    let folder = TemporaryDirectory()
    var options = Self.options()
    options.journalBound = 8 << 20
    let writer = try Store.open(folder.file(), options)
    try await writer.write { _ = try $0.createTable("t") }
    final class Flag: Sendable { let isSet = Atomic(false) }
    let done = Flag()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var last = 0
        while !done.isSet.load(ordering: .relaxed) {
          last += 1
          let number = last
          try await writer.write { transaction in
            let table = try transaction.table("t")
            for key in ["a", "b"] { try transaction.put(key, "\(number)", in: table) }
            try transaction.put("filler \(number % 500)", [UInt8](repeating: 1, count: 700), in: table)
          }
        }
      }
      group.addTask {
        defer { done.isSet.store(true, ordering: .relaxed) }
        var last = 0
        for _ in 0..<40 {
          let reader = try Store.open(folder.file(), Self.options(.readOnly))
          for _ in 0..<20 {
            try reader.refresh()
            let pair = try reader.read { view in
              let table = try view.table("t")
              return try ["a", "b"].map { Int(String(decoding: try view.get($0, in: table) ?? [], as: UTF8.self)) ?? 0 }
            }
            try #require(pair[0] == pair[1] && pair[0] >= last)
            last = pair[0]
          }
        }
      }
      try await group.waitForAll()
    }
  }
}

/// Counts what is read of a file by calls, as opposed to its mapping.
private final class CountingFile: ForwardingFile {
  let base: any StorageFile
  let bytesRead = Atomic(0)

  init(_ base: any StorageFile) { self.base = base }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StoreError) -> Int {
    let count = try base.read(into: buffer, at: offset)
    bytesRead.add(count, ordering: .relaxed)
    return count
  }
}
