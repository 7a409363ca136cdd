import TestSupport
import Testing

@testable import RoostKV

/// What a transaction does to pages, page by page.
@Suite struct DirtySetTests {
  /// A stored tree, and its root as a page of the file to copy.
  private func stored() throws -> (tree: StoredTree, dirty: DirtySet) {
    let tree = try StoredTree(try TreeFixture.threeLevels(100))
    return (tree, DirtySet(memory: tree.memory))
  }

  private func level(_ tree: StoredTree) -> Int { Int(tree.root.height) - 1 }

  @Test("A page of the file is copied once, and freed with its generation; a frame of one's own is changed in place")
  func copyOnWrite() throws {
    let (tree, dirty) = try stored()
    #expect(dirty.isEmpty)
    let (page, copy) = try dirty.mutable(tree.root.reference, level: level(tree))
    #expect(tree.memory.isFrame(copy.page))
    #expect(copy.contents == tree.root.reference.contents)
    #expect(dirty.isMutable(copy.page))
    #expect(PageHeader.number(page) == copy.page)
    #expect(dirty.changes.allocated == [copy.page])
    #expect(
      dirty.changes.freedPages == [FreedPage(page: tree.root.reference.page, generation: StoredTree.stamp.generation)])
    let (same, again) = try dirty.mutable(copy, level: level(tree))
    #expect(same == page)
    #expect(again == copy)
    #expect(dirty.changes.freedPages.count == 1)
    #expect(!dirty.isMutable(tree.root.reference.page))
  }

  @Test("A frame of an earlier subtransaction is copied, and retired rather than freed")
  func olderFrames() throws {
    let (tree, dirty) = try stored()
    let (_, first) = try dirty.mutable(tree.root.reference, level: level(tree))
    let point = dirty.mark()
    #expect(!dirty.isMutable(first.page))
    let (page, second) = try dirty.mutable(first, level: level(tree))
    #expect(second.page != first.page)
    #expect(dirty.changes.retired == [first.page])
    #expect(tree.memory.arena.count == 2)
    let bytes = UnsafeRawBufferPointer(start: page, count: StoredTree.pageSize)
    let old = UnsafeRawBufferPointer(start: tree.memory.frame(first.page), count: StoredTree.pageSize)
    #expect(bytes[24...].elementsEqual(old[24...]), "the copy has the content")
    dirty.rollback(to: point)
    #expect(dirty.changes.retired.isEmpty)
    #expect(tree.memory.arena.count == 1)
    #expect(dirty.isMutable(first.page) == false, "the savepoint's own subtransaction goes on")
    // The same savepoint serves again.
    _ = try dirty.mutable(first, level: level(tree))
    dirty.rollback(to: point)
    #expect(tree.memory.arena.count == 1)
  }

  @Test("What a transaction made and gave up again, nobody hears of")
  func takeChanges() throws {
    let (tree, dirty) = try stored()
    let kept = try dirty.newFrame()
    let released = try dirty.newFrame()
    dirty.release(Reference(page: released, count: 0, hasRuns: false))
    let reused = try dirty.newFrame()
    #expect(reused == released, "the frame freed last is given out first")
    _ = dirty.mark()
    let retired = try dirty.newFrame()
    _ = dirty.mark()
    dirty.release(Reference(page: retired, count: 0, hasRuns: false))
    #expect(dirty.changes.retired == [retired])
    let run = RunDescriptor(page: 9, length: 1, salt: 2, hash: 3)
    dirty.releaseRun(run)
    let changes = dirty.takeChanges()
    #expect(changes.allocated == [kept, reused].sorted())
    #expect(changes.retired == [], "it was this transaction's own")
    #expect(changes.freedRuns == [run])
    #expect(dirty.isEmpty)
    #expect(tree.memory.arena.count == 2)
    // To the next transaction these are foreign frames.
    #expect(!dirty.isMutable(kept))
    dirty.release(Reference(page: kept, count: 0, hasRuns: false))
    #expect(dirty.takeChanges().retired == [kept])
    #expect(tree.memory.arena.owner(kept) != 0, "a retired frame stays, for snapshots")
  }

  @Test("Savepoints nest: going back to an outer one ends the inner ones")
  func nesting() throws {
    let (tree, dirty) = try stored()
    var frames = [try dirty.newFrame()]
    var points: [DirtySet.Savepoint] = []
    for _ in 0..<4 {
      points.append(dirty.mark())
      frames.append(try dirty.newFrame())
      dirty.releaseRun(RunDescriptor(page: 1, length: 1, salt: 1, hash: 1))
    }
    dirty.rollback(to: points[2])
    #expect(dirty.changes.allocated == Array(frames[...2]))
    #expect(dirty.changes.freedRuns.count == 2)
    dirty.rollback(to: points[0])
    #expect(dirty.changes.allocated == [frames[0]])
    #expect(tree.memory.arena.count == 1)
    dirty.abandon()
    #expect(dirty.isEmpty)
    #expect(tree.memory.arena.count == 0)
  }

  @Test("Frames are reserved before a change, and an exhausted arena says so")
  func reserve() throws {
    let (tree, dirty) = try stored()
    tree.memory.arena.cap = 2
    try dirty.reserve(frames: 2)
    _ = try dirty.newFrame()
    let error = #expect(throws: StoreError.self) { try dirty.reserve(frames: 2) }
    #expect(error?.code == .sizeLimit)
    _ = try dirty.newFrame()
    #expect(throws: StoreError.self) { _ = try dirty.newFrame() }
    dirty.abandon()
    try dirty.reserve(frames: 2)
  }

  @Test("A copy that fails leaves no frame behind, and releases nothing")
  func failedCopy() throws {
    let (tree, dirty) = try stored()
    // Entries out of order pass verification; so does a page whose cells need more room than it has once they are
    // written anew. A page that can't be read is the plainest case.
    var page = try #require(tree.pages[tree.last])
    page[100] ^= 1
    try tree.plant(page, at: tree.last, sealed: false)
    let reference = Reference(
      page: tree.last, attempt: StoredTree.stamp.attempt, generation: StoredTree.stamp.generation, count: 1,
      hasRuns: false)
    #expect(throws: StoreError.self) { _ = try dirty.mutable(reference, level: 0) }
    #expect(tree.memory.arena.count == 0)
    #expect(dirty.changes.freedPages.isEmpty)
  }
}
