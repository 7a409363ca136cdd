/// Something wrong with a tree.
package struct TreeProblem: Sendable, CustomStringConvertible {
  package var page: PageNumber
  package var problem: String
  package var description: String { "page \(page): \(problem)" }
}

/// Walks a whole tree and reports what is wrong with it.
package struct TreeCheck {
  package let memory: PageMemory
  /// Called with each page; returns whether it is its first use.
  package var claimPage: (Reference) -> Bool = { _ in true }
  /// Called with each run; returns whether it is its first use. The run itself isn't read.
  package var claimRun: (RunDescriptor) -> Bool = { _ in true }
  package private(set) var problems: [TreeProblem] = []
  /// Entries and pages seen by level.
  package private(set) var entries: UInt64 = 0
  package private(set) var pages: [UInt64] = []

  package init(_ memory: PageMemory) { self.memory = memory }

  package mutating func check(_ root: TreeRoot) {}
}
