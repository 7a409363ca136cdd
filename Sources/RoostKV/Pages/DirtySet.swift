// Bounds: addresses come from `PageMemory` and are handed on; nothing is read here.

/// A page of the file that a transaction no longer needs.
package struct FreedPage: Equatable, Sendable {
  package var page: PageNumber
  /// The checkpoint that wrote it.
  package var generation: UInt32
}

/// What one write transaction did to pages. Used with the writer lock held.
///
/// Frames are changed in place only by the subtransaction that made them; a savepoint begins a new
/// one, so that going back to it is freeing younger frames and truncating lists.
package final class DirtySet {
  /// What a transaction did, for whoever commits it.
  package struct Changes {
    /// Frames that the transaction made and the new state reaches.
    package var allocated: [PageNumber] = []
    /// Frames of earlier transactions that the new state doesn't reach; snapshots may.
    package var retired: [PageNumber] = []
    /// Pages of the file that the new state doesn't reach.
    package var freedPages: [FreedPage] = []
    /// Runs that the new state doesn't reach.
    package var freedRuns: [RunDescriptor] = []
  }

  /// A moment that `rollback(to:)` can go back to. Going back ends the later ones.
  package struct Savepoint {
    package fileprivate(set) var subtransaction: UInt64
    fileprivate var allocated: Int
    fileprivate var retired: Int
    fileprivate var freedPages: Int
    fileprivate var freedRuns: Int
  }

  package let memory: PageMemory
  /// Frames with this owner may be changed in place.
  package private(set) var subtransaction: UInt64
  /// The transaction's first subtransaction: frames with this or a greater owner are its own.
  private var first: UInt64
  package private(set) var changes = Changes()

  package init(memory: PageMemory) {
    self.memory = memory
    subtransaction = memory.arena.newSubtransaction()
    first = subtransaction
  }

  /// Whether the transaction changed no page and freed none.
  package var isEmpty: Bool {
    changes.allocated.isEmpty && changes.retired.isEmpty && changes.freedPages.isEmpty
      && changes.freedRuns.isEmpty
  }
}

// MARK: - Pages

extension DirtySet {
  /// Makes sure that so many frames can be made, so that a change in steps doesn't stop midway.
  ///
  /// - Throws: `sizeLimit`.
  package func reserve(frames: Int) throws(StoreError) {
    guard memory.arena.available >= frames else { throw FrameArena.exhausted(memory.arena.cap) }
  }

  /// A frame with arbitrary content.
  package func newFrame() throws(StoreError) -> PageNumber {
    let frame = try memory.arena.allocate(owner: subtransaction)
    changes.allocated.append(frame)
    return frame
  }

  /// Whether the page can be changed in place.
  @inline(__always)
  package func isMutable(_ page: PageNumber) -> Bool {
    page >= memory.firstFrame && memory.arena.owner(page) == subtransaction
  }

  /// The page for changing, and the reference that names it from now on: itself where this
  /// subtransaction made it, else a copy; the page copied is released.
  package func mutable(
    _ reference: Reference, level: Int
  ) throws(StoreError) -> (page: UnsafeMutableRawPointer, reference: Reference) {
    let page = try memory.page(reference, level: level)
    if isMutable(reference.page) { return (UnsafeMutableRawPointer(mutating: page), reference) }
    let number = try newFrame()
    do throws(StoreError) {
      try memory.copy(page, from: reference.page, to: number)
    } catch {
      memory.arena.free(number)
      throw error
    }
    release(reference)
    return (memory.frame(number), Reference(place: number, contents: reference.contents, generation: 0))
  }

  /// The transaction's state no longer reaches this page (nothing is said of what is below it).
  package func release(_ reference: Reference) {
    let page = reference.page
    if !memory.isFrame(page) {
      changes.freedPages.append(FreedPage(page: page, generation: reference.generation))
    } else if memory.arena.owner(page) == subtransaction {
      memory.arena.free(page)
    } else {
      changes.retired.append(page)
    }
  }

  /// The transaction's state no longer reaches this run.
  package func releaseRun(_ run: RunDescriptor) {
    changes.freedRuns.append(run)
  }
}

// MARK: - Savepoints, rollback, commit

extension DirtySet {
  /// Remembers this moment. The caller remembers the roots.
  package func mark() -> Savepoint {
    subtransaction = memory.arena.newSubtransaction()
    return Savepoint(
      subtransaction: subtransaction, allocated: changes.allocated.count, retired: changes.retired.count,
      freedPages: changes.freedPages.count, freedRuns: changes.freedRuns.count)
  }

  /// Undoes what was done since. The savepoint can be gone back to again.
  package func rollback(to savepoint: Savepoint) {
    free(changes.allocated[savepoint.allocated...], from: savepoint.subtransaction)
    changes.allocated.removeSubrange(savepoint.allocated...)
    changes.retired.removeSubrange(savepoint.retired...)
    changes.freedPages.removeSubrange(savepoint.freedPages...)
    changes.freedRuns.removeSubrange(savepoint.freedRuns...)
    // Owners between the savepoint and now are all gone; its number may be used on.
    subtransaction = savepoint.subtransaction
  }

  /// Undoes everything; the set is then as new.
  package func abandon() {
    free(changes.allocated[...], from: first)
    restart()
  }

  /// Hands over what was done; the set is then as new. Frames that the transaction made and gave up
  /// again are freed here, for nobody else saw them.
  package func takeChanges() -> Changes {
    var taken = changes
    taken.retired.removeAll { frame in
      guard memory.arena.owner(frame) >= first else { return false }
      memory.arena.free(frame)
      return true
    }
    taken.allocated = distinct(taken.allocated)
    restart()
    return taken
  }

  /// Frames are given out more than once when they were freed in between.
  private func distinct(_ frames: [PageNumber]) -> [PageNumber] {
    let live = frames.filter { memory.arena.owner($0) >= first }.sorted()
    var result: [PageNumber] = []
    result.reserveCapacity(live.count)
    for frame in live where frame != result.last { result.append(frame) }
    return result
  }

  private func free(_ frames: ArraySlice<PageNumber>, from oldest: UInt64) {
    // A frame that was freed and given out again is in the list twice; its owner is 0 the second time.
    for frame in frames where memory.arena.owner(frame) >= oldest {
      memory.arena.free(frame)
    }
  }

  private func restart() {
    changes = Changes()
    subtransaction = memory.arena.newSubtransaction()
    first = subtransaction
  }
}
