import Foundation
import RoostKV
import Synchronization

/// A simulated disk with one file, which several handles can open, as processes would.
///
/// What the system shows of the file is a real file without a name, so that handles map it as they would map any. What
/// happens to it is kept as a list of operations, from which a `DiskState` says what a power loss leaves.
package final class SimulatedMedium: Sendable {
  private struct Content {
    var length: Int
    var calls = [Int](repeating: 0, count: DiskFault.Operation.allCases.count)
    var faults: [(fault: DiskFault, at: Int)] = []
    var operations: [DiskOperation] = []
    /// Up to which operation `state` goes.
    var applied = 0
    var state: DiskState
    /// Sectors of which it is known what they hold, for `load`. Zero: unknown.
    var hashes: [UInt64] = []
    var writer: ObjectIdentifier?
    var pins: [ObjectIdentifier: Set<UInt64>] = [:]
    var capacity = Int.max
    var isReplaced = false
    var recording: (start: DiskState, position: Int)?
    var flaw: DriverFlaw?
    var random = SplitMix64(seed: 1)
  }

  let descriptor: Int32
  /// The whole file, as far as it may ever grow. Touched with the lock of `content` held.
  nonisolated(unsafe) private let bytes: UnsafeMutableRawPointer
  private static let addressSpace = 1 << 32
  private let content: Mutex<Content>
  /// Called before each operation: a scheduler of threads takes its turns there.
  private let beforeCall: (@Sendable () -> Void)?

  package convenience init(_ image: DiskImage = DiskImage(), beforeCall: (@Sendable () -> Void)? = nil) {
    self.init(DiskState(image), beforeCall: beforeCall)
  }

  /// A medium that goes on where a state is.
  package init(_ state: DiskState, beforeCall: (@Sendable () -> Void)? = nil) {
    // Memory rather than a disk, where there is such a place.
    let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    var template = Array((folder + "/roost-disk-XXXXXX").utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0, unlink(template) == 0 else { fatalError("mkstemp: errno \(errno)") }
    let start = mmap(nil, Self.addressSpace, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard let start, start != MAP_FAILED else { fatalError("mmap: errno \(errno)") }
    bytes = start
    let shown = state.asShown.bytes
    content = Mutex(Content(length: 0, state: state))
    self.beforeCall = beforeCall
    content.withLock { content in
      setLength(&content, shown.count)
      shown.withUnsafeBytes { copy($0, to: 0) }
    }
  }

  deinit {
    munmap(bytes, Self.addressSpace)
    close(descriptor)
  }

  // MARK: What a test looks at and decides

  /// What is durable and what is pending.
  package var state: DiskState {
    content.withLock { content in
      while content.applied < content.operations.count {
        content.state.apply(content.operations[content.applied])
        content.applied += 1
      }
      return content.state
    }
  }

  /// All that has happened.
  package var operations: [DiskOperation] { content.withLock { $0.operations } }

  package var operationCount: Int { content.withLock { $0.operations.count } }

  /// Begins to keep the disk's state before and after each operation that changes it.
  package func startRecording() {
    let state = state
    content.withLock { $0.recording = (state, $0.operations.count) }
  }

  /// Ends recording; the states in their order, also the ones in the midst of durable writes.
  package func stopRecording() -> [DiskState] {
    let (start, operations) = content.withLock { content in
      defer { content.recording = nil }
      return (content.recording?.start, content.operations.dropFirst(content.recording?.position ?? 0))
    }
    guard var state = start else { return [] }
    return [state]
      + operations.map { operation in
        state.apply(operation)
        return state
      }
  }

  /// The file's length as the system shows it.
  package var length: Int { content.withLock { $0.length } }

  /// The file as the system shows it: what is left when only the process ends.
  package var killImage: DiskImage {
    content.withLock { content in
      DiskImage(Array(UnsafeRawBufferPointer(start: bytes, count: content.length)))
    }
  }

  /// How often each operation was called.
  package func calls(_ operation: DiskFault.Operation) -> Int { content.withLock { $0.calls[operation.rawValue] } }

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

  /// A bug of the code between engine and disk.
  package var flaw: DriverFlaw? {
    get { content.withLock { $0.flaw } }
    set { content.withLock { $0.flaw = newValue } }
  }

  package func inject(_ fault: DiskFault) {
    content.withLock { content in
      content.faults.append((fault, content.calls[fault.operation.rawValue] + fault.call))
    }
  }

  package func removeFaults() {
    content.withLock { $0.faults = [] }
  }

  /// Becomes a disk after a power loss, in place: what differs is copied, and all that happened so far is forgotten. No
  /// handle may be open.
  package func load(_ resolver: CrashResolver, _ state: DiskState) {
    content.withLock { content in
      setLength(&content, resolver.length)
      let count = DiskState.roundedUp(resolver.length, state.sectorSize) / state.sectorSize
      while content.hashes.count < count { content.hashes.append(0) }
      resolver.forEachSector { sector, hash, source in
        guard content.hashes[sector] != hash || hash == 0 else { return }
        let start = sector * state.sectorSize
        let part = min(state.sectorSize, content.length - start)
        copy(UnsafeRawBufferPointer(rebasing: source[..<part]), to: start)
        content.hashes[sector] = part == state.sectorSize ? hash : 0
      }
      content.operations.removeAll(keepingCapacity: true)
      content.applied = 0
      content.faults = []
      content.pins = [:]
      content.writer = nil
    }
  }

  /// The state that `state` computes from: for media that are loaded again and again, which keep none of their own.
  package func setState(_ state: DiskState) {
    content.withLock { content in
      content.state = state
      content.applied = 0
    }
  }

  /// Overwrites bytes behind the system's back: rot.
  package func damage(_ range: Range<Int>, _ change: (UnsafeMutableRawBufferPointer) -> Void) {
    content.withLock { content in
      let range = range.clamped(to: 0..<content.length)
      forgetHashes(&content, range)
      change(UnsafeMutableRawBufferPointer(start: bytes + range.lowerBound, count: range.count))
    }
  }

  // MARK: Operations of the handles

  func size() -> UInt64 {
    content.withLock { UInt64($0.length) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StoreError) -> Int {
    try operation(.read) { (content, _) throws(StoreError) in
      let start = Int(clamping: offset)
      let count = min(buffer.count, max(0, content.length - start))
      guard count > 0 else { return 0 }
      buffer.copyMemory(from: UnsafeRawBufferPointer(start: bytes + start, count: count))
      return count
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
    _ source: UnsafeRawBufferPointer, at offset: UInt64, durably: Bool
  ) throws(StoreError) {
    try operation(durably ? .writeDurably : .write) { (content, effect) throws(StoreError) in
      var source = source
      var failure: Int32?
      if case .partial(let count, let number) = effect {
        source = UnsafeRawBufferPointer(rebasing: source.prefix(count))
        failure = number
      }
      let start = Int(offset)
      if start + source.count > content.length { setLength(&content, start + source.count) }
      copy(source, to: start)
      forgetHashes(&content, start..<start + source.count)
      content.operations.append(.write(offset: start, bytes: Array(source)))
      if let failure { throw Self.failed(failure) }
      if durably, !Self.isLie(effect), content.flaw != .durableWriteIsNot {
        content.operations.append(.persist(start..<start + source.count))
      }
    }
  }

  private static func isLie(_ effect: DiskFault.Effect?) -> Bool {
    if case .lie = effect { true } else { false }
  }

  func flush() throws(StoreError) {
    try operation(.flush) { (content, effect) throws(StoreError) in
      switch effect {
      case .lie:
        return
      case .late(let number):
        content.operations.append(.forget(seed: content.random.next(), reverts: false))
        content.faults.append((DiskFault(.flush, .error(number)), content.calls[DiskFault.Operation.flush.rawValue]))
      case .flush(let number, let after):
        if after != .pending { forget(&content, reverts: after == .reverted) }
        throw Self.failed(number)
      default:
        switch content.flaw {
        case .flushSkipped: return
        case .everyOtherFlushSkipped where content.calls[DiskFault.Operation.flush.rawValue] % 2 == 0: return
        default: content.operations.append(.flush)
        }
      }
    }
  }

  private func forget(_ content: inout Content, reverts: Bool) {
    content.operations.append(.forget(seed: content.random.next(), reverts: reverts))
    guard reverts else { return }
    while content.applied < content.operations.count {
      content.state.apply(content.operations[content.applied])
      content.applied += 1
    }
    let shown = content.state.asShown.bytes
    setLength(&content, shown.count)
    shown.withUnsafeBytes { copy($0, to: 0) }
    content.hashes = []
  }

  func grow(to size: UInt64) throws(StoreError) {
    try operation(.grow) { (content, _) throws(StoreError) in
      guard size > content.length else { return }
      guard size <= content.capacity else { throw Self.failed(ENOSPC) }
      setLength(&content, Int(size))
      content.operations.append(.resize(Int(size)))
    }
  }

  func truncate(to size: UInt64) throws(StoreError) {
    try operation(.truncate) { (content, _) throws(StoreError) in
      setLength(&content, Int(size))
      content.operations.append(.resize(Int(size)))
    }
  }

  /// Counts the call and meets it with the fault that is due, if any.
  private func operation<R>(
    _ operation: DiskFault.Operation,
    _ body: (inout Content, DiskFault.Effect?) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    beforeCall?()
    return try content.withLock { (content) throws(StoreError) in
      let call = content.calls[operation.rawValue]
      content.calls[operation.rawValue] = call + 1
      guard !content.faults.isEmpty else { return try body(&content, nil) }
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

  private func copy(_ source: UnsafeRawBufferPointer, to offset: Int) {
    guard let start = source.baseAddress else { return }
    (bytes + offset).copyMemory(from: start, byteCount: source.count)
  }

  /// New bytes are zeros.
  private func setLength(_ content: inout Content, _ length: Int) {
    guard length != content.length else { return }
    precondition(length <= Self.addressSpace, "the simulated disk's file has grown beyond its address space")
    forgetHashes(&content, min(length, content.length)..<max(length, content.length))
    guard ftruncate(descriptor, off_t(length)) == 0 else { fatalError("ftruncate: errno \(errno)") }
    content.length = length
  }

  private func forgetHashes(_ content: inout Content, _ range: Range<Int>) {
    let size = content.state.sectorSize
    for sector in range.lowerBound / size..<(range.upperBound + size - 1) / size where sector < content.hashes.count {
      content.hashes[sector] = 0
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
