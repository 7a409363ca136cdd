import Synchronization

/// The version that readers see, and the outdated ones that they still hold.
///
/// Beginning a snapshot takes no lock and allocates nothing. The reader writes the address of the visible version into a
/// slot and looks whether that version is still the visible one; the writer publishes first and looks at the slots
/// afterwards. All of this is sequentially consistent, so either the reader sees the new version and tries again, or the
/// writer sees the slot (hazard pointers: Michael, IEEE TPDS 15(6), 2004).
///
/// Everything but `hold` and the end of a hold is for the commit queue, with its monitor held.
final class Snapshots: @unchecked Sendable {
  private let visibleAddress: Atomic<UInt>
  private let slots = SlotBlock()
  private(set) var visible: Version
  /// Versions that were visible before, in their order, each with the time at which the next one came.
  private var outdated: [(version: Version, since: UInt64)] = []

  init(_ version: Version) {
    visible = version
    visibleAddress = Atomic(Self.address(of: version))
  }

  private static func address(of version: Version) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(version).toOpaque())
  }

  // MARK: Readers

  /// Holds the visible version.
  @inline(__always)
  func hold(_ core: StoreCore) -> SnapshotHold {
    var address = visibleAddress.load(ordering: .sequentiallyConsistent)
    let slot = slots.claim(address)
    while true {
      let now = visibleAddress.load(ordering: .sequentiallyConsistent)
      if now == address { break }
      address = now
      slot.store(address)
    }
    return SnapshotHold(core: core, address: address, slot: slot)
  }

  /// Holds a version once more that somebody holds during the call.
  func hold(again version: Version, _ core: StoreCore) -> SnapshotHold {
    let address = Self.address(of: version)
    return SnapshotHold(core: core, address: address, slot: slots.claim(address))
  }

  // MARK: The writer

  /// Makes a version the one that readers see from now on.
  func publish(_ version: Version, now: UInt64) {
    outdated.append((visible, now))
    visible = version
    visibleAddress.store(Self.address(of: version), ordering: .sequentiallyConsistent)
    prune()
  }

  /// Forgets outdated versions that nobody holds.
  ///
  /// A slot may name a version for a moment that its reader gives up at once, or, by its address, one that is gone;
  /// either only delays the forgetting of a version to the next look.
  private func prune() {
    let held = slots.addresses()
    outdated.removeAll { !held.contains(Self.address(of: $0.version)) }
  }

  /// The outdated versions that are held, and the visible one.
  func heldVersions() -> [HeldVersion] {
    prune()
    return outdated.map { HeldVersion($0.version) } + [HeldVersion(visible)]
  }

  /// Snapshots that are held.
  var count: Int { slots.addresses().count }

  /// The oldest version that a snapshot sees, and since when it has been outdated; `nil` when none is held.
  func oldest() -> (commit: UInt64, since: UInt64?)? {
    prune()
    if let first = outdated.first { return (first.version.commit, first.since) }
    return count > 0 ? (visible.commit, nil) : nil
  }
}

/// A hold on a version: as long as it exists, the frames and pages that the version reaches stay as they are.
struct SnapshotHold: ~Copyable, @unchecked Sendable {
  let core: StoreCore
  /// Kept alive by `Snapshots` while the slot names it.
  unowned(unsafe) let version: Version
  private let slot: SnapshotSlot

  @inline(__always)
  fileprivate init(core: StoreCore, address: UInt, slot: SnapshotSlot) {
    self.core = core
    self.slot = slot
    // The address is a version's: the visible one's, or that of one which the caller holds. It is not zero.
    version = unsafeBitCast(address, to: Unmanaged<Version>.self).takeUnretainedValue()
  }

  /// A child of a fork has none of the memory that the version reaches.
  @inline(__always)
  func requireSameProcess() throws(StoreError) {
    guard core.forkCount == ForkCount.current else { throw .forked(path: core.file.path) }
  }

  @inline(__always)
  deinit {
    slot.clear()
    if core.gate.state == .closed { core.finishClosing() }
  }
}

/// A hold that cursors share.
final class SharedHold: Sendable {
  let hold: SnapshotHold

  init(_ hold: consuming SnapshotHold) { self.hold = hold }
}

// MARK: - Slots

/// The place of one hold. Zero while it is free, else the address of a version.
private struct SnapshotSlot: @unchecked Sendable {
  private let value: UnsafeMutablePointer<Atomic<UInt>>

  @inline(__always)
  init(_ value: UnsafeMutablePointer<Atomic<UInt>>) { self.value = value }

  @inline(__always)
  func claim(_ address: UInt) -> Bool {
    guard value.pointee.load(ordering: .relaxed) == 0 else { return false }
    return value.pointee.compareExchange(expected: 0, desired: address, ordering: .sequentiallyConsistent).exchanged
  }

  @inline(__always)
  func store(_ address: UInt) { value.pointee.store(address, ordering: .sequentiallyConsistent) }

  /// What the reader has read before comes before what a writer does after it has seen this.
  @inline(__always)
  func clear() { value.pointee.store(0, ordering: .releasing) }

  var address: UInt { value.pointee.load(ordering: .sequentiallyConsistent) }
}

/// Slots, each in a cache line of its own so that readers on several cores don't meet. More blocks follow when one is
/// full; they live as long as the store.
///
/// Bounds: slots have indices below `count`, masked, in memory of `count` times `stride` bytes.
private final class SlotBlock: @unchecked Sendable {
  private static let count = 32
  private static let stride = 64

  private let memory = UnsafeMutableRawPointer.allocate(byteCount: count * stride, alignment: stride)
  private let next = Atomic<Unmanaged<SlotBlock>?>(nil)

  init() {
    for index in 0..<Self.count {
      memory.advanced(by: index * Self.stride).bindMemory(to: Atomic<UInt>.self, capacity: 1)
        .initialize(to: Atomic<UInt>(0))
    }
  }

  deinit {
    memory.deallocate()
    next.load(ordering: .acquiring)?.release()
  }

  @inline(__always)
  private func slot(_ index: Int) -> SnapshotSlot {
    let place = memory.advanced(by: (index & (Self.count - 1)) * Self.stride)
    return SnapshotSlot(place.assumingMemoryBound(to: Atomic<UInt>.self))
  }

  /// Takes a free slot for an address.
  @inline(__always)
  func claim(_ address: UInt) -> SnapshotSlot {
    let first = slot(Self.hint())
    return first.claim(address) ? first : search(address)
  }

  @inline(never)
  private func search(_ address: UInt) -> SnapshotSlot {
    let hint = Self.hint()
    for index in 1...Self.count {
      let slot = slot(hint &+ index)
      if slot.claim(address) { return slot }
    }
    return successor().search(address)
  }

  private func successor() -> SlotBlock {
    if let block = next.load(ordering: .acquiring) { return block.takeUnretainedValue() }
    let block = Unmanaged.passRetained(SlotBlock())
    let (exchanged, other) = next.compareExchange(
      expected: nil, desired: block, ordering: .acquiringAndReleasing)
    guard !exchanged, let other else { return block.takeUnretainedValue() }
    block.release()
    return other.takeUnretainedValue()
  }

  /// Where a thread looks first: threads' stacks lie apart, so the place of a local variable tells them apart, mostly.
  @inline(__always)
  private static func hint() -> Int {
    withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { local in
      let place = UInt(bitPattern: local.baseAddress) >> 16
      return Int(truncatingIfNeeded: (place &* 0x9E37_79B9_7F4A_7C15) >> 32)
    }
  }

  /// What all slots that are taken hold.
  func addresses() -> [UInt] {
    var addresses: [UInt] = []
    for index in 0..<Self.count {
      let address = slot(index).address
      if address != 0 { addresses.append(address) }
    }
    if let next = next.load(ordering: .acquiring) { addresses += next.takeUnretainedValue().addresses() }
    return addresses
  }
}
