#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// Bounds: one object each, which lives as long as its owner, or is handed to the thread that takes it
// over.

/// The operating system's clock, locks and threads.
package struct SystemRuntime: Runtime {
  package init() {}

  package func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  package func makeMonitor() -> any Monitor {
    SystemMonitor()
  }

  package func randomSeed() -> UInt64 {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }

  package func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let task = Unmanaged.passRetained(ThreadBody(name: name, run: body)).toOpaque()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 1 << 20)

    // EAGAIN, the only failure there is, means that the process or the machine has too many
    // threads at the moment. The engine can't do without, so wait until one ends.
    while create(&attributes, task) == EAGAIN {
      usleep(1000)
    }
  }

  private func create(
    _ attributes: UnsafePointer<pthread_attr_t>, _ task: UnsafeMutableRawPointer
  ) -> Int32 {
    #if canImport(Darwin)
      var thread: pthread_t?
      return pthread_create(&thread, attributes, { ThreadBody.enter($0) }, task)
    #else
      var thread = pthread_t()
      return pthread_create(&thread, attributes, { $0.flatMap(ThreadBody.enter) }, task)
    #endif
  }
}

/// What a new thread is to do, on its way there.
private final class ThreadBody: Sendable {
  let name: String
  let run: @Sendable () -> Void

  init(name: String, run: @escaping @Sendable () -> Void) {
    self.name = name
    self.run = run
  }

  static func enter(_ task: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    let body = Unmanaged<ThreadBody>.fromOpaque(task).takeRetainedValue()
    SystemCalls.nameThread(body.name)
    body.run()
    return nil
  }
}

/// A mutex and a condition of the system, waiting by the monotonic clock.
package final class SystemMonitor: Monitor, @unchecked Sendable {
  // On the heap, as the system identifies them by their addresses.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  package func lock() {
    pthread_mutex_lock(mutex)
  }

  package func unlock() {
    pthread_mutex_unlock(mutex)
  }

  package func wait(until deadline: UInt64?) -> Bool {
    guard let deadline else {
      pthread_cond_wait(condition, mutex)
      return true
    }
    #if canImport(Darwin)
      let now = SystemRuntime().now()
      var left = timespec(nanoseconds: deadline > now ? deadline - now : 0)
      return pthread_cond_timedwait_relative_np(condition, mutex, &left) != ETIMEDOUT
    #else
      var time = timespec(nanoseconds: deadline)
      return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
    #endif
  }

  package func wakeAll() {
    pthread_cond_broadcast(condition)
  }
}

extension timespec {
  fileprivate init(nanoseconds: UInt64) {
    self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}
