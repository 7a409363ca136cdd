import RoostKV
import Synchronization
import TestSupport
import Testing

@Suite struct SystemRuntimeTests {
  let runtime = SystemRuntime()

  @Test func theClockAdvances() {
    let start = runtime.now()
    #expect(start > 0)
    var later = runtime.now()
    while later == start { later = runtime.now() }
    #expect(later > start)
  }

  @Test func seedsDiffer() {
    #expect(Set((0..<100).map { _ in runtime.randomSeed() }).count == 100)
  }

  @Test func aMonitorKeepsThreadsApart() {
    final class Shared: @unchecked Sendable {
      var sum = 0
      var running = 4
    }
    let shared = Shared()
    let monitor = runtime.makeMonitor()
    for index in 0..<4 {
      runtime.start("roost test \(index) with a long name") {
        for _ in 0..<10_000 {
          monitor.withLock { shared.sum += 1 }
        }
        monitor.withLock { shared.running -= 1 }
        monitor.wakeAll()
      }
    }
    monitor.lock()
    while shared.running > 0 {
      #expect(monitor.wait(until: nil))
    }
    #expect(shared.sum == 40_000)
    monitor.unlock()
  }

  @Test func waitingEndsAtTheDeadline() {
    let monitor = runtime.makeMonitor()
    monitor.withLock {
      let deadline = runtime.now() + 5_000_000
      while monitor.wait(until: deadline) {}
      #expect(runtime.now() >= deadline)
      #expect(!monitor.wait(until: 0), "a deadline in the past")
    }
  }

  @Test func errorsPassThroughALock() {
    let monitor = runtime.makeMonitor()
    #expect(throws: StoreError.self) {
      try monitor.withLock { () throws(StoreError) in throw StoreError.closed(path: "x") }
    }
    monitor.withLock {}
  }
}
