// Bounds: frames alone, read through `TreePage`; the image is of a page's size.

/// Transactions too large for the journal or for memory. SPEC.md [C-9]
extension StoreCore {
  /// Commits by being a checkpoint. The writer lock is held throughout, so that no group can come between.
  func commitLarge(_ state: WriteState) throws(StoreError) {
    try prepareForWriting()
    try settleCheckpoint()
    let lsn = nextLSN
    let newChain = runtime.randomSeed()
    try reservePages(
      memory.arena.count + (state.directory.ids.count + frozenTables.count) * (Int(catalog.height) + 2)
        + freeMap.savePageCount + 8)
    let frozen = try freezeLarge(state, lsn, newChain)
    defer { releaseWriter() }
    nextLSN = lsn + 1
    chain = newChain
    do throws(StoreError) { try write(frozen) } catch { throw commits.outcomeUnknown(error) }
    commits.publish(lsn: lsn, appended)
    // It is committed; what fails now concerns the next one.
    do throws(StoreError) { try finish(frozen) } catch { commits.poison(error) }
  }

  private func freezeLarge(_ state: WriteState, _ lsn: UInt64, _ chain: UInt64) throws(StoreError) -> FrozenState {
    // Pages that were written ahead are of the generation to come.
    let version = try takeOver(state, base: try nextGeneration())
    do throws(StoreError) {
      let frozen = try freeze(
        CommittedState(
          directory: version.directory, roots: version.roots, commit: version.commit, nextLSN: lsn + 1, chain: chain))
      spillStamp = nil
      checkpoints.begin(HeldVersion(version))
      return frozen
    } catch {
      // The transaction is the newest state in memory and has no way back.
      commits.poison(error)
      releaseWriter()
      throw error
    }
  }

  /// Waits until a running checkpoint has written its headers, and takes it in. References to its frames stay until the
  /// checkpoint that follows, which replaces them all. With the writer lock held.
  func settleCheckpoint() throws(StoreError) {
    let isWritten = checkpoints.waitUntilWritten()
    // A checkpoint that failed has left the map in memory as it would have been: nothing may be built on it.
    if let poison = commits.poison { throw poison }
    guard isWritten, let frozen = writtenState else { return }
    try finish(frozen, fixTrees: false)
  }
}

// MARK: - Writing ahead

extension WriteState {
  /// Writes finished leaves of this transaction to free pages of the file, where nothing refers to them before the commit,
  /// and frees their frames. Only what the current subtransaction made: older savepoints need theirs.
  func spill() throws(StoreError) {
    guard !core.isInMemory, core.dirtyBytes > nextSpill else { return }
    try core.prepareForWriting()
    try core.settleCheckpoint()
    if records != nil { records = nil }
    let stamp: (generation: UInt32, attempt: UInt16)
    if let old = core.spillStamp { stamp = old } else { stamp = try core.newSpillStamp() }
    core.spillStamp = stamp
    for slot in roots.indices where roots[slot].height > 1 {
      try spillLeaves(of: roots[slot].reference, Int(roots[slot].height) - 1, stamp)
    }
    changeCount += 1
    nextSpill = core.dirtyBytes + core.memoryBound / 4
  }

  private func spillLeaves(
    of reference: Reference, _ level: Int, _ stamp: (generation: UInt32, attempt: UInt16)
  ) throws(StoreError) {
    guard dirty.isMutable(reference.page) else { return }
    let page = core.memory.frame(reference.page)
    if level > 1 {
      for index in 0..<PageHeader.count(page) {
        try spillLeaves(of: TreePage.child(page, index), level - 1, stamp)
      }
      return
    }
    let indices = (0..<PageHeader.count(page)).filter { dirty.isMutable(TreePage.child(page, $0).page) }
    var next = 0
    while next < indices.count {
      try core.reservePages(indices.count - next)
      guard
        let extent = try core.freeMap.allocate(
          minimum: 1, maximum: indices.count - next, from: max(floor, core.pageFloor))
      else { throw core.noSpace() }
      spilled.append(extent)
      for (offset, number) in extent.enumerated() {
        try spillLeaf(page, indices[next + offset], to: number, stamp)
      }
      next += extent.count
    }
  }

  private func spillLeaf(
    _ parent: UnsafeMutableRawPointer, _ index: Int, to number: UInt64,
    _ stamp: (generation: UInt32, attempt: UInt16)
  ) throws(StoreError) {
    let child = TreePage.child(parent, index)
    let image = UnsafeMutableRawBufferPointer.allocate(byteCount: core.geometry.pageSize, alignment: 4096)
    defer { image.deallocate() }
    guard let bytes = image.baseAddress else { return }
    core.memory.clearMarks(pages: number..<number + 1)
    try TreePage.stage(
      core.memory.frame(child.page), to: bytes, pageSize: core.geometry.pageSize, storeSeed: core.memory.storeSeed,
      number: number, attempt: stamp.attempt, generation: stamp.generation
    ) { (reference) throws(StoreError) in reference }
    do throws(StoreError) {
      try core.file.write(UnsafeRawBufferPointer(image), at: core.geometry.offset(number))
    } catch {
      throw core.poisonUnlessFull(error)
    }
    let reference = Reference(
      page: number, attempt: stamp.attempt, generation: stamp.generation, count: child.count, hasRuns: child.hasRuns)
    TreePage.setChild(parent, index, reference)
    dirty.release(child)
  }
}

extension StoreCore {
  func newSpillStamp() throws(StoreError) -> (generation: UInt32, attempt: UInt16) {
    (try nextGeneration(), newAttempt())
  }
}
