import Foundation

/// A fork of the test's process, for what only another process can show: locks and forks.
///
/// Only the calling thread goes on in the child, so its body should do little: call the engine,
/// and return a number.
package final class ChildProcess {
  package let id: pid_t
  private var hasEnded = false

  /// - Parameter body: what the child does; its result is the child's exit status.
  package init(_ body: () -> Int32) {
    // Swift hides fork, as most of what a program does isn't safe after it.
    typealias Fork = @convention(c) () -> pid_t
    let fork = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
    id = fork()
    if id == 0 {
      // Should the child hang on something another thread held, or its parent die, it ends by
      // itself; the system's worker threads block the signal, and the child inherits that.
      var all = sigset_t()
      sigfillset(&all)
      sigprocmask(SIG_UNBLOCK, &all, nil)
      alarm(20)
      _exit(body())
    }
  }

  deinit {
    if !hasEnded { kill() }
  }

  /// Waits for the child's end.
  ///
  /// - Returns: its exit status, or minus the signal that ended it.
  package func wait() -> Int32 {
    var status: Int32 = 0
    waitpid(id, &status, 0)
    hasEnded = true
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
  }

  package func kill() {
    Foundation.kill(id, SIGKILL)
    _ = wait()
  }
}

/// A one-way line between a test's process and its child.
package struct ReadyLine {
  private let ends: (read: Int32, write: Int32)

  package init() {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { fatalError("pipe: errno \(errno)") }
    self.ends = (ends[0], ends[1])
  }

  package func send() {
    var byte: UInt8 = 1
    _ = write(ends.write, &byte, 1)
  }

  /// Waits for `send`, but not for ever.
  package func receive() {
    var readable = pollfd(fd: ends.read, events: Int16(POLLIN), revents: 0)
    guard poll(&readable, 1, 20_000) == 1 else { return }
    var byte: UInt8 = 0
    _ = read(ends.read, &byte, 1)
  }

  package func close() {
    _ = Foundation.close(ends.read)
    _ = Foundation.close(ends.write)
  }
}
