import RoostKV

/// What the process's exit status says.
enum ExitCode: Int32, CaseIterable {
  case success = 0
  case problemsFound = 1
  case usage = 2
  case cannotOpen = 3
  case notFound = 4
  case failed = 5
  case inputRefused = 6

  var meaning: String {
    switch self {
    case .success: "done; for check: no problems; for salvage: nothing is lost"
    case .problemsFound: "check found problems; salvage has lost something"
    case .usage: "the command line can't be understood"
    case .cannotOpen: "the store can't be opened: missing, no store, damaged, newer, locked"
    case .notFound: "the store has no such table or key"
    case .failed: "reading or writing failed, or a damaged page was met"
    case .inputRefused: "load refused its input; what is committed has been printed"
    }
  }
}

/// An error that ends the tool: what to print on standard error and how to exit.
struct ToolError: Error {
  let code: ExitCode
  let message: String

  init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Any error a command may end with.
  init(_ error: any Error) {
    switch error {
    case let error as ToolError:
      self = error
    case let error as StoreError where error.code == .tableNotFound:
      self.init(.notFound, error.description)
    case let error as StoreError:
      self.init(.failed, error.description)
    default:
      self.init(.failed, String(describing: error))
    }
  }
}
