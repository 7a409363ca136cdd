import Foundation

/// One of the package's programs, which the build has put beside the test bundle.
struct Program {
  let executable: URL
  var environment: [String: String] = [:]

  static let roost = Program("roost")

  init(_ name: String) {
    #if os(macOS)
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
    #else
      let bundle: URL? = URL(fileURLWithPath: CommandLine.arguments[0])
    #endif
    executable = (bundle ?? URL(fileURLWithPath: ".")).deletingLastPathComponent().appendingPathComponent(
      name)
  }

  /// What a finished run left behind.
  struct Result {
    let status: Int32
    /// The program ended by a signal: it crashed or was killed.
    let wasSignalled: Bool
    let output: [UInt8]
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    func json() throws -> Any {
      try JSONSerialization.jsonObject(with: Data(output), options: .fragmentsAllowed)
    }
  }

  /// Runs to the end. Output and input go through files, so that nothing waits for a full pipe.
  func run(_ arguments: [String], input: [UInt8] = [], in folder: TemporaryFolder) throws -> Result {
    let names = (0..<3).map { folder.path("run-\(UUID().uuidString)-\($0)") }
    try Data(input).write(to: URL(fileURLWithPath: names[0]))
    for name in names[1...] { try folder.write([], to: name) }
    let process = try makeProcess(arguments)
    process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: names[0]))
    process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: names[1]))
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: names[2]))
    try process.run()
    process.waitUntilExit()
    defer { for name in names { try? FileManager.default.removeItem(atPath: name) } }
    return Result(
      status: process.terminationStatus, wasSignalled: process.terminationReason == .uncaughtSignal,
      output: try folder.read(names[1]), errors: String(decoding: try folder.read(names[2]), as: UTF8.self))
  }

  /// A process that isn't started yet, for tests that meddle with its pipes.
  func makeProcess(_ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = executable
    process.arguments = arguments
    // A crash must show as one at once; the backtracer would take seconds.
    process.environment = ProcessInfo.processInfo.environment
      .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }.merging(environment) { $1 }
    return process
  }
}
