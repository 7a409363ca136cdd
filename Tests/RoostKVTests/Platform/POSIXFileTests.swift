import Foundation
import RoostKV
import TestSupport
import Testing

@Suite struct POSIXFileTests {
  let folder = TemporaryDirectory()

  private func create(_ name: String = "test.roost") throws -> POSIXFile {
    try POSIXFile(path: folder.file(name), mode: .create(0o600))
  }

  private func code(_ body: () throws(StoreError) -> Void) -> StoreError.Code? {
    do throws(StoreError) {
      try body()
      return nil
    } catch {
      return error.code
    }
  }

  // MARK: Opening

  @Test func aNewFileIsPrivateAndEmpty() throws {
    let file = try create()
    var status = stat()
    #expect(stat(file.path, &status) == 0)
    #expect(status.st_mode & 0o777 & ~0o600 == 0)
    #expect(try file.size() == 0)
    #expect(file.isWritable)
  }

  @Test func creatingRefusesAnExistingFile() throws {
    try create().close()
    let path = folder.file()
    #expect(code { () throws(StoreError) in _ = try POSIXFile(path: path, mode: .create(0o600)) } == .fileExists)
  }

  @Test(arguments: [POSIXFile.Mode.readOnly, .readWrite])
  func openingTellsWhatIsMissing(_ mode: POSIXFile.Mode) {
    let missing = folder.file("missing")
    let noFolder = folder.file("no/such")
    #expect(code { () throws(StoreError) in _ = try POSIXFile(path: missing, mode: mode) } == .notFound)
    #expect(code { () throws(StoreError) in _ = try POSIXFile(path: noFolder, mode: .create(0o600)) } == .notFound)
    #expect(code { () throws(StoreError) in _ = try POSIXFile(path: "", mode: mode) } == .notFound)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [POSIXFile.Mode.readOnly, .readWrite])
  func whatIsNoRegularFileIsRefusedAtOnce(_ mode: POSIXFile.Mode) {
    let fifo = folder.file("fifo")
    mkfifo(fifo, 0o600)
    for path in [fifo, folder.path, "/dev/zero"] {
      #expect(code { () throws(StoreError) in _ = try POSIXFile(path: path, mode: mode) } == .notAStore)
    }
  }

  @Test(.enabled(if: geteuid() != 0, "the superuser may write everything"))
  func aReadOnlyFileSaysSo() throws {
    let file = try create()
    file.close()
    chmod(file.path, 0o400)
    #expect(
      code { () throws(StoreError) in _ = try POSIXFile(path: file.path, mode: .readWrite) } == .readOnly)
  }

  @Test func aSecondWriterInTheProcessIsRefusedUnderAnyName() throws {
    let file = try create()
    let symbolic = folder.file("symbolic")
    let hard = folder.file("hard")
    symlink(file.path, symbolic)
    link(file.path, hard)
    for path in [file.path, symbolic, hard] {
      do {
        _ = try POSIXFile(path: path, mode: .readWrite)
        Issue.record("\(path) was opened twice")
      } catch {
        #expect(error.code == .locked)
        #expect(error.holder == getpid())
      }
      #expect(throws: Never.self) { try POSIXFile(path: path, mode: .readOnly) }
    }
    file.close()
    #expect(throws: Never.self) { try POSIXFile(path: hard, mode: .readWrite) }
  }

  @Test func relativePathsBecomeAbsolute() {
    #expect(throws: StoreError.self) { try POSIXFile(path: "no-such-file", mode: .readOnly) }
    do {
      _ = try POSIXFile(path: "no-such-file", mode: .readOnly)
    } catch {
      #expect(error.path?.hasPrefix("/") == true)
    }
  }

  // MARK: Bytes

  @Test func whatIsWrittenIsRead() throws {
    let file = try create()
    var generator = SplitMix64(seed: 1)
    let bytes = generator.bytes(300_000)
    try file.write(bytes, at: 5)
    #expect(try file.size() == 300_005)
    #expect(try file.read(300_000, at: 5) == bytes)
    #expect(try file.read(100, at: 300_000) == bytes.suffix(5))
    #expect(try file.read(100, at: 400_000) == [])
    try file.writeDurably([1, 2, 3], at: 7)
    #expect(try file.read(5, at: 6) == [bytes[1], 1, 2, 3, bytes[5]])
    file.startWriteBack(offset: 0, count: 4096)
    try file.flush()
  }

  @Test func growingAllocatesAndGivesZeros() throws {
    let file = try create()
    try file.write([9], at: 0)
    try file.grow(to: 1 << 20)
    #expect(try file.size() == 1 << 20)
    var status = stat()
    stat(file.path, &status)
    #expect(Int(status.st_blocks) * 512 >= 1 << 20)
    #expect(try file.read(3, at: 0) == [9, 0, 0])
    #expect(try file.read(8192, at: 1 << 19).allSatisfy { $0 == 0 })
    try file.grow(to: 100)
    #expect(try file.size() == 1 << 20, "growing never shrinks")
    try file.truncate(to: 4096)
    #expect(try file.size() == 4096)
  }

  @Test func growingBeyondAllLimitsFailsCleanly() throws {
    let file = try create()
    try file.grow(to: 8192)
    let result = code { () throws(StoreError) in try file.grow(to: 1 << 62) }
    #expect(result == .sizeLimit || result == .noSpace)
    #expect(try file.size() == 8192)
    #expect(code { () throws(StoreError) in try file.grow(to: .max) } == .sizeLimit)
    #expect(code { () throws(StoreError) in try file.write([1], at: .max) } == .sizeLimit)
  }

  /// The system would end a process that writes beyond its limit.
  @Test func theProcessLimitIsAnErrorNotASignal() {
    let path = folder.file()
    let child = ChildProcess {
      guard let file = try? POSIXFile(path: path, mode: .create(0o600)), (try? file.grow(to: 8192)) != nil else {
        return 1
      }
      var limit = rlimit(rlim_cur: 65536, rlim_max: 65536)
      #if canImport(Glibc)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      #else
        setrlimit(RLIMIT_FSIZE, &limit)
      #endif
      guard code({ () throws(StoreError) in try file.grow(to: 1 << 20) }) == .sizeLimit else { return 2 }
      guard (try? file.size()) == 8192, (try? file.grow(to: 65536)) != nil else { return 3 }
      return 0
    }
    #expect(child.wait() == 0)
  }

  @Test func aReadOnlyHandleDoesNotWrite() throws {
    let writer = try create()
    let reader = try POSIXFile(path: writer.path, mode: .readOnly)
    #expect(code { () throws(StoreError) in try reader.write([1], at: 0) } == .readOnly)
    #expect(try writer.size() == 0)
  }

  @Test func aClosedFileSaysSo() throws {
    let file = try create()
    file.close()
    file.close()
    #expect(code { () throws(StoreError) in _ = try file.size() } == .closed)
    #expect(code { () throws(StoreError) in try file.flush() } == .closed)
  }

  // MARK: The mapping

  @Test func theMappingFollowsTheFile() throws {
    let file = try create()
    let unit = Reservation.granularity
    let reservation = try Reservation(reserving: 4 * unit, atLeast: 4 * unit)
    try file.write([UInt8](repeating: 1, count: 8192), at: 0)
    try file.map(into: reservation, offset: unit, count: 2 * unit)
    let start = reservation.base + unit
    try file.populate(offset: 0, count: 8192)
    #expect(start.load(fromByteOffset: 8191, as: UInt8.self) == 1)
    try file.write([7], at: 100)
    #expect(start.load(fromByteOffset: 100, as: UInt8.self) == 7)
    try file.grow(to: 1 << 20)
    try file.write([8], at: 1 << 19)
    try file.populate(offset: 1 << 19, count: 64 << 10)
    #expect(start.load(fromByteOffset: 1 << 19, as: UInt8.self) == 8)
  }

  @Test func populatingBeyondTheEndIsAnError() throws {
    let file = try create()
    let reservation = try Reservation(reserving: 8 << 20, atLeast: 8 << 20)
    try file.write([UInt8](repeating: 1, count: 8192), at: 0)
    try file.map(into: reservation, offset: 0, count: 4 << 20)
    #expect(code { () throws(StoreError) in try file.populate(offset: 8192, count: 4096) } == .truncated)
    #expect(code { () throws(StoreError) in try file.populate(offset: 4096, count: 65536) } == .truncated)
    #expect(code { () throws(StoreError) in try file.populate(offset: 4 << 20, count: 1) } == .truncated)
    #expect(code { () throws(StoreError) in try file.populate(offset: .max, count: 1) } == .truncated)
  }

  // MARK: Identity

  @Test func identityIsLostWithTheName() throws {
    let file = try create()
    try file.checkIdentity()
    rename(file.path, folder.file("moved"))
    #expect(code { () throws(StoreError) in try file.checkIdentity() } == .fileReplaced)
    let other = try create()
    #expect(code { () throws(StoreError) in try file.checkIdentity() } == .fileReplaced)
    try other.checkIdentity()
    unlink(folder.file("moved"))
    #expect(code { () throws(StoreError) in try file.checkIdentity() } == .fileReplaced)
  }
}
