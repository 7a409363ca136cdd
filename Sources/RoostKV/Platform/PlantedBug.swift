/// Bugs that can be planted in the engine, to show that the crash simulation finds each of them.
///
/// They exist only in builds made for `roost-crash mutants`, with ROOST_MUTANTS in the environment. In all others
/// `planted` is
/// the constant false, and the compiler leaves nothing of them.
package enum PlantedBug: String, CaseIterable, Sendable {
  case groupChecksumIgnored = "group-checksum-ignored"
  case pageChecksumIgnored = "page-checksum-ignored"
  case runsNotVerified = "runs-not-verified"
  case staleGroupAccepted = "stale-group-accepted"
  case gapTakenForTear = "gap-taken-for-tear"
  case tearTakenForGap = "tear-taken-for-gap"
  case pagesReusedEarly = "pages-reused-early"
  case journalReusedEarly = "journal-reused-early"
  case runsReusedEarly = "runs-reused-early"
  case snapshotsForgotten = "snapshots-forgotten"
  case recoveryTrustsCache = "recovery-trusts-cache"
  case droppedGroupsStay = "dropped-groups-stay"
  case sessionNotInRuns = "session-not-in-runs"
  case ringLinkedUnflushed = "ring-linked-unflushed"
  case visibleBeforeFlush = "visible-before-flush"
  case failedFlushRetried = "failed-flush-retried"
  case durableWriteAlways = "durable-write-always"
  case headerBeforePages = "header-before-pages"
  case oneHeaderSlot = "one-header-slot"
  case commitNotFlushed = "commit-not-flushed"

  /// What the bug does.
  package var summary: String {
    switch self {
    case .groupChecksumIgnored: "the journal's groups are applied whatever their checksum"
    case .pageChecksumIgnored: "pages are used whatever their checksum"
    case .runsNotVerified: "a group counts although its large values never reached the disk"
    case .staleGroupAccepted: "a group of an earlier round of the journal is applied"
    case .gapTakenForTear: "a lost group in the midst of the journal is taken for its end"
    case .tearTakenForGap: "groups claim that groups were flushed which were not"
    case .pagesReusedEarly: "pages are reused one checkpoint early"
    case .journalReusedEarly: "journal space is reused before both headers are written"
    case .runsReusedEarly: "the pages of a deleted large value are reused at once"
    case .snapshotsForgotten: "pages that a snapshot reads are reused"
    case .recoveryTrustsCache: "what an open reads is taken for durable"
    case .droppedGroupsStay: "groups that recovery drops are left in the journal, also where it passes over them"
    case .sessionNotInRuns: "large values don't say in which session they were written"
    case .ringLinkedUnflushed: "a journal segment is linked before it is on the disk"
    case .visibleBeforeFlush: "readers see durable commits before their flush"
    case .failedFlushRetried: "a failed flush is called again, and believed"
    case .durableWriteAlways: "a commit is one durable write even if earlier writes are not flushed"
    case .headerBeforePages: "a checkpoint's header is written before its pages are flushed"
    case .oneHeaderSlot: "a checkpoint writes one header slot"
    case .commitNotFlushed: "a commit that needs a flush, for the sake of earlier writes, does without"
    }
  }

  /// Whether this build has them.
  package static var areCompiledIn: Bool {
    #if ROOST_MUTANTS
      true
    #else
      false
    #endif
  }

  #if ROOST_MUTANTS
    /// The one that is planted. Set before the first store is opened.
    nonisolated(unsafe) private static var active: PlantedBug?
  #endif

  /// Plants the bug in all stores of the process. Without effect unless they are compiled in.
  package static func plant(_ bug: PlantedBug) {
    #if ROOST_MUTANTS
      active = bug
    #endif
  }

  @inline(__always)
  fileprivate var isActive: Bool {
    #if ROOST_MUTANTS
      Self.active == self
    #else
      false
    #endif
  }
}

/// Whether the bug is there.
@inline(__always)
func planted(_ bug: PlantedBug) -> Bool { bug.isActive }
