// Bounds: a frame's number is compared with the arena's limits before its owner is looked up.

/// Which frames are in use, and whose they are. Touched only with the writer lock held.
///
/// A frame is owned by the subtransaction that made it: only that one changes it in place. After
/// commit the owner's number remains, which no later subtransaction has.
package final class FrameArena: @unchecked Sendable {
  package let firstFrame: PageNumber
  package let frameEnd: PageNumber
  /// No more frames than this are handed out. At most the arena's size.
  package var cap: Int
  /// Frames in use.
  package private(set) var count = 0

  private let owners: UnsafeMutablePointer<UInt64>
  private var recycled: [PageNumber] = []
  private var next: PageNumber
  private var lastSubtransaction: UInt64 = 0

  init(firstFrame: PageNumber, frameEnd: PageNumber) throws(StoreError) {
    self.firstFrame = firstFrame
    self.frameEnd = frameEnd
    cap = Int(frameEnd - firstFrame)
    next = firstFrame
    guard let bytes = ZeroedMemory.allocate(count: cap * 8) else {
      throw StoreError(
        .addressSpace, "Memory for the owners of \(cap) frames can't be had",
        remedy: "open the store with a smaller memory bound")
    }
    owners = bytes.bindMemory(to: UInt64.self, capacity: cap)
  }

  deinit {
    ZeroedMemory.free(owners, count: Int(frameEnd - firstFrame) * 8)
  }

  /// A number that no subtransaction of this store had before.
  package func newSubtransaction() -> UInt64 {
    lastSubtransaction += 1
    return lastSubtransaction
  }

  /// The subtransaction that made the frame; 0: the frame is free.
  @inline(__always)
  package func owner(_ frame: PageNumber) -> UInt64 {
    precondition(frame >= firstFrame && frame < frameEnd)
    return owners[Int(frame &- firstFrame)]
  }

  /// Frames that can still be handed out.
  package var available: Int {
    min(cap - count, recycled.count + Int(frameEnd - next))
  }

  /// A frame with arbitrary content, the one freed last if there is one, as it is likely to be in the
  /// processor's caches.
  ///
  /// - Throws: `sizeLimit` at the cap.
  package func allocate(owner: UInt64) throws(StoreError) -> PageNumber {
    guard available > 0 else { throw Self.exhausted(cap) }
    let frame: PageNumber
    if let last = recycled.popLast() {
      frame = last
    } else {
      frame = next
      next += 1
    }
    owners[Int(frame - firstFrame)] = owner
    count += 1
    return frame
  }

  /// Does nothing to a frame that is free.
  package func free(_ frame: PageNumber) {
    guard owner(frame) != 0 else { return }
    owners[Int(frame - firstFrame)] = 0
    count -= 1
    recycled.append(frame)
  }

  static func exhausted(_ cap: Int) -> StoreError {
    StoreError(
      .sizeLimit, "All \(cap) page frames in memory are in use",
      remedy: "commit smaller transactions, end old snapshots, or raise the memory bound")
  }
}
