import Foundation
import RoostKV
import TestSupport
import Testing

/// What a file's locks do between processes, and what a fork does to a file.
@Suite(.serialized) struct FileLockTests {
  let folder = TemporaryDirectory()

  /// Runs `body` in a child on a handle of its own; the child then waits to be killed.
  private func holder(_ mode: POSIXFile.Mode, _ body: (POSIXFile) throws(StoreError) -> Void) -> ChildProcess {
    let ready = ReadyLine()
    defer { ready.close() }
    let path = folder.file()
    let child = ChildProcess {
      guard let file = try? POSIXFile(path: path, mode: mode), (try? body(file)) != nil else { return 1 }
      ready.send()
      withExtendedLifetime(file) { _ = pause() }
      return 0
    }
    ready.receive()
    return child
  }

  private func makeFile() throws {
    try POSIXFile(path: folder.file(), mode: .create(0o600)).close()
  }

  /// SPEC.md
  @Test func theSecondWriterLearnsWhoTheFirstIs() throws {
    try makeFile()
    let child = holder(.readWrite) { (file) throws(StoreError) in try file.lockForWriting() }
    let file = try POSIXFile(path: folder.file(), mode: .readWrite)
    do {
      try file.lockForWriting()
      Issue.record("two writers")
    } catch {
      #expect(error.code == .locked)
      #expect(error.holder == child.id)
    }
    do {
      try file.lockForWriting(timeout: .milliseconds(30), SystemRuntime())
      Issue.record("two writers")
    } catch {
      #expect(error.code == .lockTimeout)
    }
    child.kill()
    try file.lockForWriting(timeout: .seconds(5), SystemRuntime())
  }

  @Test func anUnlockedFileIsFree() throws {
    try makeFile()
    let child = holder(.readWrite) { (file) throws(StoreError) in
      try file.lockForWriting()
      file.unlockForWriting()
    }
    let file = try POSIXFile(path: folder.file(), mode: .readWrite)
    try file.lockForWriting()
    child.kill()
  }

  /// SPEC.md
  @Test func pinsOfOtherProcessesAreSeenUntilTheyEnd() throws {
    try makeFile()
    let file = try POSIXFile(path: folder.file(), mode: .readWrite)
    let child = holder(.readOnly) { (file) throws(StoreError) in
      try file.pin(generation: 3)
      try file.pin(generation: 9)
      file.unpin(generation: 9)
    }
    try file.pin(generation: 5)
    #expect(try file.isPinnedElsewhere(generations: 0...10))
    #expect(try file.isPinnedElsewhere(generations: 3...3))
    #expect(try !file.isPinnedElsewhere(generations: 0...2))
    #expect(try !file.isPinnedElsewhere(generations: 4...10), "own pins and dropped ones don't count")
    #expect(try !file.isPinnedElsewhere(generations: UInt64.max...UInt64.max))
    child.kill()
    #expect(try !file.isPinnedElsewhere(generations: 0...10))
  }

  @Test func pinsOfOtherHandlesInTheProcessAreSeen() throws {
    try makeFile()
    let writer = try POSIXFile(path: folder.file(), mode: .readWrite)
    let reader = try POSIXFile(path: folder.file(), mode: .readOnly)
    try reader.pin(generation: 1)
    #expect(try writer.isPinnedElsewhere(generations: 1...1))
    reader.close()
    #expect(try !writer.isPinnedElsewhere(generations: 1...1))
  }

  @Test func aForkedChildCannotUseTheParentsFile() throws {
    try makeFile()
    let file = try POSIXFile(path: folder.file(), mode: .readWrite)
    try file.lockForWriting()
    let child = ChildProcess {
      do throws(StoreError) {
        _ = try file.size()
        return 1
      } catch {
        file.close()
        return error.code == .forked ? 0 : 2
      }
    }
    #expect(child.wait() == 0)
    #expect(try file.size() == 0, "the parent's goes on")
  }

  @Test func aForkedChildKeepsNoLockAlive() throws {
    try makeFile()
    let file = try POSIXFile(path: folder.file(), mode: .readWrite)
    try file.lockForWriting()
    let idle = ChildProcess {
      pause()
      return 0
    }
    file.close()
    // The child's handler may not have run yet; it doesn't take long.
    let next = try POSIXFile(path: folder.file(), mode: .readWrite)
    try next.lockForWriting(timeout: .seconds(10), SystemRuntime())
    idle.kill()
  }

  @Test func aForkedChildMayOpenTheFileItself() throws {
    try makeFile()
    let path = folder.file()
    let file = try POSIXFile(path: path, mode: .readWrite)
    let child = ChildProcess {
      guard let own = try? POSIXFile(path: path, mode: .readWrite) else { return 1 }
      return (try? own.size()) == 0 ? 0 : 2
    }
    #expect(child.wait() == 0)
    withExtendedLifetime(file) {}
  }
}
