import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// Bounds: the array grows before an index reaches its capacity.

/// Which file it is, whatever path, symbolic or hard link led to it.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64

  init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
  }
}

/// How often this process has come into being by a fork. A handle opened under another number
/// belongs to the parent.
enum ForkCount {
  private static let count = Atomic<UInt32>(0)

  static var current: UInt32 { count.load(ordering: .relaxed) }

  fileprivate static func increment() { count.add(1, ordering: .relaxed) }
}

/// The store files this process has open.
///
/// It keeps a process from opening a file for writing twice, which locks between processes don't
/// prevent; and it closes the parent's files in a forked child, since the child's descriptors
/// would keep the parent's locks alive after the parent's end.
final class OpenFiles: @unchecked Sendable {
  static let shared = OpenFiles()

  private let lock = SystemMonitor()
  private var writers: [FileIdentity: UInt32] = [:]
  /// Plain memory: the child's handler must not rely on the runtime's or the allocator's state.
  private var descriptors = UnsafeMutablePointer<Int32>.allocate(capacity: 16)
  private var capacity = 16
  private var count = 0

  private init() {
    _ = ForkCount.current
    pthread_atfork(
      { OpenFiles.shared.lock.lock() },
      { OpenFiles.shared.lock.unlock() },
      { OpenFiles.shared.afterForkInChild() })
  }

  private func afterForkInChild() {
    for i in 0..<count {
      _ = systemClose(descriptors[i])
    }
    count = 0
    ForkCount.increment()
    lock.unlock()
  }

  /// - Returns: false if the file is open for writing already.
  func beginWriting(_ file: FileIdentity) -> Bool {
    lock.withLock {
      let current = ForkCount.current
      guard writers[file] != current else { return false }
      writers[file] = current
      return true
    }
  }

  func isOpenForWriting(_ file: FileIdentity) -> Bool {
    lock.withLock { writers[file] == ForkCount.current }
  }

  func endWriting(_ file: FileIdentity) {
    lock.withLock { writers[file] = nil }
  }

  /// Opens a descriptor and keeps it in mind, without a fork in between.
  ///
  /// - Returns: the descriptor, or minus the number of an error.
  func open(_ path: String, _ flags: Int32, mode: mode_t) -> Int32 {
    lock.withLock {
      let descriptor = Int32(SystemCalls.uninterrupted { Int(systemOpen(path, flags, mode)) })
      if descriptor >= 0 { add(descriptor) }
      return descriptor
    }
  }

  func close(_ descriptor: Int32) {
    lock.withLock {
      for i in 0..<count where descriptors[i] == descriptor {
        count -= 1
        descriptors[i] = descriptors[count]
        break
      }
      _ = systemClose(descriptor)
    }
  }

  private func add(_ descriptor: Int32) {
    if count == capacity {
      let larger = UnsafeMutablePointer<Int32>.allocate(capacity: 2 * capacity)
      larger.update(from: descriptors, count: count)
      descriptors.deallocate()
      descriptors = larger
      capacity *= 2
    }
    descriptors[count] = descriptor
    count += 1
  }
}

private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
  open(path, flags, mode)
}

private func systemClose(_ descriptor: Int32) -> Int32 {
  close(descriptor)
}
