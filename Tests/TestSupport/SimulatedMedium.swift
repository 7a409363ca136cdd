import Foundation
import RoostKV
import Synchronization

/// A simulated disk with one file, which several handles can open, as processes would.
///
/// What the system shows of the file is a real file without a name, so that handles map it as they
/// would map any; what a power loss leaves of it is kept apart in a `DiskState`.
package final class SimulatedMedium: Sendable {
  private struct Content {
    var state: DiskState
    var length: Int
    var calls: [DiskFault.Operation: Int] = [:]
    var faults: [(fault: DiskFault, at: Int)] = []
    var recording: [DiskState]?
    var writer: ObjectIdentifier?
    var pins: [ObjectIdentifier: Set<UInt64>] = [:]
    var capacity = Int.max
    var isReplaced = false
    var random = SplitMix64(seed: 1)
  }

  let descriptor: Int32
  private let content: Mutex<Content>

  package init(_ image: DiskImage = DiskImage()) {
    // Memory rather than a disk, where there is such a place.
    let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    var template = Array((folder + "/roost-disk-XXXXXX").utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0, unlink(template) == 0 else { fatalError("mkstemp: errno \(errno)") }
    content = Mutex(Content(state: DiskState(image), length: image.bytes.count))
    Self.write(image.bytes, to: descriptor, at: 0)
  }

  deinit {
    Foundation.close(descriptor)
  }

  // MARK: What a test looks at and decides

  /// What is durable and what is pending.
  package var state: DiskState { content.withLock { $0.state } }

  /// The file as the system shows it: what is left when only the process ends.
  package var killImage: DiskImage {
    DiskImage(content.withLock { view(0..<$0.length, $0.length) })
  }

  /// How often each operation was called.
  package var calls: [DiskFault.Operation: Int] { content.withLock { $0.calls } }

  /// The size beyond which growing fails for lack of space.
  package var capacity: Int {
    get { content.withLock { $0.capacity } }
    set { content.withLock { $0.capacity = newValue } }
  }

  /// Whether the path leads to another file by now.
  package var isReplaced: Bool {
    get { content.withLock { $0.isReplaced } }
    set { content.withLock { $0.isReplaced = newValue } }
  }

  package func inject(_ fault: DiskFault) {
    content.withLock { content in
      content.faults.append((fault, content.calls[fault.operation, default: 0] + fault.call))
    }
  }

  package func removeFaults() {
    content.withLock { $0.faults = [] }
  }

  /// Begins to keep the disk's state before and after each operation that changes it, also in the
  /// midst of a durable write.
  package func startRecording() {
    content.withLock { $0.recording = [$0.state] }
  }

  /// Ends recording; the states in their order.
  package func stopRecording() -> [DiskState] {
    content.withLock { content in
      defer { content.recording = nil }
      return content.recording ?? []
    }
  }

  // MARK: Operations of the handles

  func size() -> UInt64 {
    content.withLock { UInt64($0.length) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StoreError) -> Int {
    try operation(.read) { (content, _) throws(StoreError) in
      let left = max(0, content.length - Int(clamping: offset))
      let count = min(buffer.count, left)
      return count == 0 ? 0 : pread(descriptor, buffer.baseAddress, count, off_t(offset))
    }
  }

  func populate(offset: UInt64, count: Int) throws(StoreError) {
    try operation(.populate) { (content, _) throws(StoreError) in
      guard Int(clamping: offset) <= content.length - count else {
        throw POSIXFile.endsEarly("simulated disk", offset)
      }
    }
  }

  func write(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64, durably: Bool
  ) throws(StoreError) {
    try operation(durably ? .writeDurably : .write) { (content, effect) throws(StoreError) in
      var bytes = bytes[...]
      var failure: Int32?
      if case .partial(let count, let number) = effect {
        bytes = bytes.prefix(count)
        failure = number
      }
      let range = Int(offset)..<Int(offset) + bytes.count
      if range.upperBound > content.length { resize(&content, to: range.upperBound) }
      Self.write(bytes, to: descriptor, at: range.lowerBound)
      let length = content.length
      content.state.write(range) { view($0, length) }
      record(&content)
      if let failure { throw Self.failed(failure) }
      if durably, !isLie(effect) {
        content.state.flush(range) { view($0, length) }
        record(&content)
      }
    }
  }

  private func isLie(_ effect: DiskFault.Effect?) -> Bool {
    if case .lie = effect { true } else { false }
  }

  func flush() throws(StoreError) {
    try operation(.flush) { (content, effect) throws(StoreError) in
      switch effect {
      case .lie:
        return
      case .flush(let number, let after):
        fail(&content, after)
        throw Self.failed(number)
      default:
        content.state.flush()
      }
      record(&content)
    }
  }

  private func fail(_ content: inout Content, _ after: DiskFault.AfterFlush) {
    guard after != .pending else { return }
    var random = content.random
    content.state.forget { _, _ in random.oneIn(2) }
    content.random = random
    if after == .reverted {
      let durable = content.state.nothing.bytes
      ftruncate(descriptor, off_t(durable.count))
      Self.write(durable, to: descriptor, at: 0)
      content.length = durable.count
    }
    record(&content)
  }

  func grow(to size: UInt64) throws(StoreError) {
    try operation(.grow) { (content, _) throws(StoreError) in
      guard size > content.length else { return }
      guard size <= content.capacity else { throw Self.failed(ENOSPC) }
      resize(&content, to: Int(size))
      record(&content)
    }
  }

  func truncate(to size: UInt64) throws(StoreError) {
    try operation(.truncate) { (content, _) throws(StoreError) in
      resize(&content, to: Int(size))
      record(&content)
    }
  }

  private func resize(_ content: inout Content, to size: Int) {
    ftruncate(descriptor, off_t(size))
    content.state.resize(to: size)
    content.length = size
  }

  private func record(_ content: inout Content) {
    content.recording?.append(content.state)
  }

  /// Counts the call and meets it with the fault that is due, if any.
  private func operation<R>(
    _ operation: DiskFault.Operation,
    _ body: (inout Content, DiskFault.Effect?) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try content.withLock { (content) throws(StoreError) in
      let call = content.calls[operation, default: 0]
      content.calls[operation] = call + 1
      let due = content.faults.first { fault, at in
        fault.operation == operation && (fault.lasting ? call >= at : call == at)
      }
      if case .error(let number) = due?.fault.effect { throw Self.failed(number) }
      return try body(&content, due?.fault.effect)
    }
  }

  private static func failed(_ number: Int32) -> StoreError {
    .system(number, "The simulated disk failed", path: nil)
  }

  // MARK: The system's view

  private func view(_ range: Range<Int>, _ length: Int) -> [UInt8] {
    let count = max(0, min(range.upperBound, length) - range.lowerBound)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = count > 0 ? pread(descriptor, buffer.baseAddress, count, off_t(range.lowerBound)) : 0
    }
  }

  private static func write(_ bytes: some Collection<UInt8>, to descriptor: Int32, at offset: Int) {
    let copy = Array(bytes)
    guard pwrite(descriptor, copy, copy.count, off_t(offset)) == copy.count else {
      fatalError("pwrite to the simulated disk's file: errno \(errno)")
    }
  }
}

// MARK: - Locks

extension SimulatedMedium {
  /// - Returns: false if another handle is the writer.
  func lockForWriting(_ handle: ObjectIdentifier) -> Bool {
    content.withLock { content in
      guard content.writer == nil || content.writer == handle else { return false }
      content.writer = handle
      return true
    }
  }

  func unlockForWriting(_ handle: ObjectIdentifier) {
    content.withLock { content in
      if content.writer == handle { content.writer = nil }
    }
  }

  func pin(_ generation: UInt64, _ handle: ObjectIdentifier) {
    content.withLock { _ = $0.pins[handle, default: []].insert(generation) }
  }

  func unpin(_ generation: UInt64, _ handle: ObjectIdentifier) {
    content.withLock { _ = $0.pins[handle]?.remove(generation) }
  }

  func isPinned(_ generations: ClosedRange<UInt64>, notBy handle: ObjectIdentifier) -> Bool {
    content.withLock { content in
      content.pins.contains { owner, pinned in
        owner != handle && pinned.contains { generations.contains($0) }
      }
    }
  }

  func releaseLocks(_ handle: ObjectIdentifier) {
    unlockForWriting(handle)
    content.withLock { $0.pins[handle] = nil }
  }
}
