import CLMDB
import Foundation

final class LMDBEngine: Engine {
  static let name = "lmdb"
  private let folder: String
  private let environment: OpaquePointer
  private var database: MDB_dbi = 0
  private var reader: OpaquePointer?

  struct Failure: Error { let code: Int32 }

  init(folder: String) throws {
    self.folder = folder + "/lmdb"
    try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
    var environment: OpaquePointer?
    try Self.check(mdb_env_create(&environment))
    guard let environment else { throw Failure(code: -1) }
    self.environment = environment
    try Self.check(mdb_env_set_mapsize(environment, 16 << 30))
    try Self.check(mdb_env_open(environment, self.folder, 0, 0o644))
    var transaction: OpaquePointer?
    try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
    try Self.check(mdb_dbi_open(transaction, nil, 0, &database))
    try Self.check(mdb_txn_commit(transaction))
    try Self.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &reader))
    mdb_txn_reset(reader)
  }

  private static func check(_ code: Int32) throws { if code != 0 { throw Failure(code: code) } }

  private static func value(_ bytes: UnsafeRawBufferPointer) -> MDB_val {
    MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  func put(_ workload: Workload, _ numbers: some Collection<Int>) throws {
    var value = [UInt8](repeating: 0, count: Workload.valueBytes)
    var transaction: OpaquePointer?
    try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
    for number in numbers {
      workload.fill(&value, number)
      try workload.key(number) { key in
        try value.withUnsafeBytes { bytes in
          var k = Self.value(key), v = Self.value(bytes)
          try Self.check(mdb_put(transaction, database, &k, &v, 0))
        }
      }
    }
    try Self.check(mdb_txn_commit(transaction))
  }

  func get(_ workload: Workload, _ numbers: some Collection<Int>) throws -> UInt64 {
    try Self.check(mdb_txn_renew(reader))
    defer { mdb_txn_reset(reader) }
    var sum: UInt64 = 0
    for number in numbers {
      try workload.key(number) { key in
        var k = Self.value(key), v = MDB_val()
        try Self.check(mdb_get(reader, database, &k, &v))
        sum ^= touched(UnsafeRawBufferPointer(start: v.mv_data, count: v.mv_size))
      }
    }
    return sum
  }

  func scan() throws -> UInt64 {
    try Self.check(mdb_txn_renew(reader))
    defer { mdb_txn_reset(reader) }
    var cursor: OpaquePointer?
    try Self.check(mdb_cursor_open(reader, database, &cursor))
    defer { mdb_cursor_close(cursor) }
    var sum: UInt64 = 0
    var k = MDB_val(), v = MDB_val()
    while mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0 {
      sum ^= touched(UnsafeRawBufferPointer(start: k.mv_data, count: k.mv_size))
      sum ^= touched(UnsafeRawBufferPointer(start: v.mv_data, count: v.mv_size))
    }
    return sum
  }

  func settle() throws {}

  func size() throws -> Int {
    (try FileManager.default.attributesOfItem(atPath: folder + "/data.mdb")[.size] as? Int) ?? 0
  }

  func close() throws {
    mdb_txn_abort(reader)
    mdb_env_close(environment)
  }
}
