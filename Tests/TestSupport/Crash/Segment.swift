/// What happened to a disk from one power loss, or end of the process, to the next, and what the store on it must show.
package struct Segment: Sendable {
  /// What a store that is opened after a power loss may hold.
  package struct Expectation: Sendable {
    /// How many operations of the disk had been done when it came into force.
    package var position: Int
    package var allowed: [ContentDigest]
    /// What may show besides when a bit has rotted: rot of the groups flushed last can't be told from a tear.
    package var older: [ContentDigest] = []
    /// What was allowed before is allowed no longer, so that states seen already have to be looked at again.
    package var isStricter: Bool
  }

  /// For messages: how to get this history again.
  package var name: String
  package var start: DiskState
  package var operations: [DiskOperation]
  package var expectations: [Expectation]
  /// The disk has told lies: then an open may also fail, if it says so.
  package var mayFail = false
  /// Every state that was ever committed: rot that takes several groups at once may bring any of them back.
  package var committed: [ContentDigest] = []
  /// What was done, for messages.
  package var events: [(position: Int, text: String)] = []

  /// The events of the moment and before.
  func story(before position: Int) -> String {
    events.filter { $0.position <= position }.suffix(8).map { "\($0.text) @\($0.position)" }.joined(separator: ", ")
  }
}
