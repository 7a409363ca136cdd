/// The CRC-32 of zlib, PNG and Ethernet: polynomial 0xEDB88320, reflected, inverted before and after.
struct CRC32 {
  private var state: UInt32 = 0xFFFF_FFFF

  var value: UInt32 { ~state }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    var crc = state
    Self.tables.withUnsafeBufferPointer { tables in
      var index = 0
      // Eight bytes a step: table k advances a byte by k more bytes than table 0.
      while bytes.count - index >= 8 {
        let word =
          UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ UInt64(crc)
        crc = 0
        for byte in 0..<8 {
          crc ^= tables[(7 - byte) << 8 | Int(word >> (UInt64(byte) * 8) & 0xFF)]
        }
        index += 8
      }
      while index < bytes.count {
        crc = tables[Int(UInt8(truncatingIfNeeded: crc) ^ bytes[index])] ^ crc >> 8
        index += 1
      }
    }
    state = crc
  }

  /// Eight tables of 256, one behind the other.
  private static let tables: [UInt32] = {
    var tables: [UInt32] = []
    for index in UInt32(0)..<256 {
      var crc = index
      for _ in 0..<8 { crc = (crc & 1) * 0xEDB8_8320 ^ crc >> 1 }
      tables.append(crc)
    }
    for index in 256..<2048 {
      let previous = tables[index - 256]
      tables.append(tables[Int(previous & 0xFF)] ^ previous >> 8)
    }
    return tables
  }()
}
