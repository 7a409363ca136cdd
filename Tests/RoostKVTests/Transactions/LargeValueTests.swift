import RoostKV
import TestSupport
import Testing

/// Values longer than a zone of the free map, and runs near the ends of zones.
@Suite struct LargeValueTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.pageSize = 4096
    return options
  }

  private static func value(_ length: Int, _ seed: UInt8) -> [UInt8] {
    var value = [UInt8](repeating: seed, count: length)
    for index in stride(from: 0, to: length, by: 4099) { value[index] = UInt8(truncatingIfNeeded: index / 4099) }
    return value
  }

  @Test("A value longer than a zone is stored, read, replaced and reopened")
  func longerThanAZone() throws {
    let folder = TemporaryDirectory()
    let length = 130 << 20
    let value = Self.value(length, 7)
    do {
      let store = try Store.open(folder.file(), Self.options())
      try store.write { try $0.put("key", value, in: try $0.createTable("t")) }
      let bytes = try store.stats().fileBytes
      try store.write { _ = try $0.delete("key", in: try $0.table("t")) }
      try store.checkpoint()
      try store.checkpoint()
      try store.write { try $0.put("key", value, in: try $0.table("t")) }
      // Space that was freed is used again.
      #expect(try store.stats().fileBytes < bytes + bytes / 2)
    }
    let store = try Store.open(folder.file(), Self.options())
    let isSame = try store.read { view in
      try view.withValue(of: "key", in: try view.table("t")) { $0.elementsEqual(value) }
    }
    #expect(isSame == true)
    try requireSound(store, "reopened")
  }

  @Test("Free pages of a zone that a run has passed over are found")
  func passedOver() throws {
    let folder = TemporaryDirectory()
    do {
      let store = try Store.open(folder.file(), Self.options())
      try store.write { transaction in
        let table = try transaction.createTable("t")
        for number in 0..<17 { try transaction.put("\(number)", Self.value(8 << 20, UInt8(number)), in: table) }
      }
      try store.write { _ = try $0.delete("5", in: try $0.table("t")) }
      try store.checkpoint()
      try store.checkpoint()
      try store.close()
    }
    var options = Self.options()
    options.journalBound = 1 << 29
    let store = try Store.open(folder.file(), options)
    try store.write { try $0.put("long", Self.value(20 << 20, 1), in: try $0.table("t")) }
    let before = try store.stats()
    for round in 0..<80 {
      try store.write(.relaxed) { transaction in
        let table = try transaction.table("t")
        for number in 0..<16 {
          try transaction.put("\(1000 + round * 16 + number)", [UInt8](repeating: 7, count: 1500), in: table)
        }
      }
    }
    try store.checkpoint()
    #expect(try store.stats().fileBytes <= before.fileBytes + 1 << 20)
    try requireSound(store, "at the end")
  }
}
