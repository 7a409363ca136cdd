/// Bugs of the code that asks the system to make things durable, planted where the engine meets the disk.
package enum DriverFlaw: String, CaseIterable, Sendable {
  case flushSkipped = "flush-skipped"
  case everyOtherFlushSkipped = "every-other-flush-skipped"
  case durableWriteIsNot = "durable-write-is-not"
  case folderFlushForgotten = "folder-flush-forgotten"

  package var summary: String {
    switch self {
    case .flushSkipped: "a flush does nothing"
    case .everyOtherFlushSkipped: "every other flush does nothing"
    case .durableWriteIsNot: "a durable write is an ordinary one"
    case .folderFlushForgotten: "a new store's name is not made durable"
    }
  }
}
