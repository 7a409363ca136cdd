import Foundation

/// Settings of a process that simulates much.
package enum Simulation {
  /// Each store that is opened takes a little memory of its own: without huge pages for it, opening is several times
  /// faster.
  package static func prepareProcess() {
    #if os(Linux)
      // Swift doesn't show prctl, as it takes any number of arguments.
      typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
      let disableHugePages: Int32 = 41
      guard let function = dlsym(nil, "prctl") else { return }
      _ = unsafeBitCast(function, to: Control.self)(disableHugePages, 1, 0, 0, 0)
    #endif
  }
}
