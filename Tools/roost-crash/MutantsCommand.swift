import Foundation
import RoostKV
import TestSupport

/// Plants one bug after the other and looks whether the simulation finds it.
struct MutantsCommand {
  /// A bug of the disk's driver, or of the engine's logic.
  private enum Mutant {
    case driver(DriverFlaw)
    case engine(PlantedBug)

    static var all: [Mutant] {
      DriverFlaw.allCases.map { .driver($0) } + PlantedBug.allCases.map { .engine($0) }
    }

    var name: String {
      switch self {
      case .driver(let flaw): flaw.rawValue
      case .engine(let bug): bug.rawValue
      }
    }

    var summary: String {
      switch self {
      case .driver(let flaw): flaw.summary
      case .engine(let bug): bug.summary
      }
    }
  }

  /// Without a bug nothing is found in as many states as this.
  private static let states = 40_000

  private let mutants: [Mutant]
  private let isJSON: Bool
  private let onlyLists: Bool
  /// This process is the one with the bug.
  private let isChild: Bool

  init(_ options: consuming Options) throws(UsageError) {
    isJSON = options.flag("--json")
    onlyLists = options.flag("--list")
    isChild = options.flag("--child")
    if let name = options.text("--only") {
      mutants = Mutant.all.filter { $0.name == name }
      guard !mutants.isEmpty else { throw UsageError("there is no bug \(name)") }
    } else {
      mutants = Mutant.all
    }
    try options.finish()
  }

  func run() -> Int32 {
    if onlyLists {
      for mutant in mutants { print("\(mutant.name): \(mutant.summary)") }
      return 0
    }
    if isChild, let mutant = mutants.first { return simulate(mutant) }
    let needsBuild = !PlantedBug.areCompiledIn && mutants.contains { if case .engine = $0 { true } else { false } }
    guard let program = needsBuild ? MutantBuild.program() : CommandLine.program else {
      printError("the build with the planted bugs has failed")
      return 1
    }
    return judge(program)
  }

  /// Runs the simulation with the bug in this process; 0 when it is found.
  private func simulate(_ mutant: Mutant) -> Int32 {
    Simulation.prepareProcess()
    var flaw: DriverFlaw?
    switch mutant {
    case .driver(let driver): flaw = driver
    case .engine(let bug): PlantedBug.plant(bug)
    }
    // Many histories find more than many states of a few.
    var effort = CrashJudge.Effort()
    effort.choices = 16
    effort.recoveryOneIn = 128
    let result = CrashCampaign(
      .both(seed: 1), states: Self.states, workers: 1, effort: effort, stopsAtViolation: true, flaw: flaw
    ).run()
    let finding = result.violations.first.map { String("\($0)".prefix(300)) }
    printError("\(mutant.name): \(finding ?? "not found") (\(result.states) states, \(Int(result.seconds)) s)")
    return result.violationCount > 0 ? 0 : 1
  }

  private func judge(_ program: String) -> Int32 {
    var caught = 0
    var rest = mutants[...]
    var running: [(mutant: Mutant, process: Process)] = []
    while !rest.isEmpty || !running.isEmpty {
      while running.count < 2, let mutant = rest.popFirst() {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["mutants", "--child", "--only", mutant.name]
        process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        do { try process.run() } catch {
          printError("\(program) can't be run: \(error)")
          return 1
        }
        running.append((mutant, process))
      }
      usleep(20_000)
      for (mutant, process) in running where !process.isRunning {
        // A trap of the engine is a finding too.
        let isCaught = process.terminationReason == .uncaughtSignal || process.terminationStatus == 0
        if isCaught { caught += 1 }
        if !isJSON { print("\(isCaught ? "caught" : "NOT CAUGHT"): \(mutant.name): \(mutant.summary)") }
      }
      running.removeAll { !$0.process.isRunning }
    }
    if isJSON {
      printJSON([("mutants", "\(mutants.count)"), ("caught", "\(caught)")])
    } else {
      print("\(caught) of \(mutants.count) caught")
    }
    return caught == mutants.count ? 0 : 1
  }
}

/// The build of this program that has the engine's planted bugs.
private enum MutantBuild {
  static func program() -> String? {
    // This file is <package>/Tools/roost-crash/MutantsCommand.swift.
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path
    let scratch = package + "/.build/mutants"
    printError("building roost-crash with planted bugs, in \(scratch)")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "swift", "build", "-c", "release", "--product", "roost-crash", "--package-path", package, "--scratch-path",
      scratch,
    ]
    process.environment = ProcessInfo.processInfo.environment.merging(["ROOST_MUTANTS": "1"]) { $1 }
    process.standardOutput = FileHandle.standardError
    do { try process.run() } catch { return nil }
    process.waitUntilExit()
    return process.terminationStatus == 0 ? scratch + "/release/roost-crash" : nil
  }
}

extension CommandLine {
  /// The path of this program's file.
  static var program: String {
    #if os(Linux)
      if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
    #endif
    return URL(fileURLWithPath: arguments[0]).standardizedFileURL.path
  }
}
