import Foundation

/// A line on standard error that says how far long work has come: only on a terminal, only after
/// the first second, at most four times a second.
final class Progress {
  private let what: String
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private var nextUpdate = ContinuousClock.now + .seconds(1)
  private var shown = false
  private var steps: UInt8 = 0

  init(_ what: String) {
    self.what = what
  }

  /// Call it as often as you like; `done` counts what is done, of `total` if that is known.
  func update(_ done: Int, of total: Int? = nil) {
    guard isTerminal else { return }
    // The clock is asked once in 64 calls.
    steps = (steps &+ 1) & 63
    guard steps == 0, ContinuousClock.now >= nextUpdate else { return }
    nextUpdate = ContinuousClock.now + .milliseconds(250)
    shown = true
    let end = total.map { " of \($0)" } ?? ""
    show("\r\u{1B}[K\(what) \(done)\(end)")
  }

  /// Takes the line away.
  func finish() {
    if shown { show("\r\u{1B}[K") }
    shown = false
  }

  private func show(_ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
