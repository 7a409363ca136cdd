import Foundation
import TestSupport
import Testing

/// The tutorial's app, step by step, each step a process of its own: the code as it stands there in Swift 5 mode, and
/// with `static let` in Swift 6 mode.
@Suite struct TutorialProgramTests {
  private struct Home {
    let folder = TemporaryDirectory()
    let program: String

    var store: String { folder.file("\(program)/default.store") }

    /// What the program prints.
    func run(_ step: String) throws -> [String] {
      #if os(macOS)
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
      #else
        let bundle: URL? = URL(fileURLWithPath: CommandLine.arguments[0])
      #endif
      let process = Process()
      process.executableURL = (bundle ?? URL(fileURLWithPath: ".")).deletingLastPathComponent()
        .appendingPathComponent(program)
      process.arguments = [step]
      process.environment = ProcessInfo.processInfo.environment.merging([
        "XDG_DATA_HOME": (folder.file("x") as NSString).deletingLastPathComponent, "SWIFT_BACKTRACE": "enable=no",
      ]) { $1 }
      let pipe = Pipe()
      process.standardOutput = pipe
      try process.run()
      let output = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0, "\(program) \(step)")
      return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
    }
  }

  @Test(
    "Data survives a relaunch without save(), old rows get the new property, a broken store doesn't block the launch",
    arguments: ["Tutorial5", "Tutorial6"])
  func steps(_ program: String) throws {
    let home = Home(program: program)
    #expect(try home.run("first-release") == [])
    #expect(try home.run("relaunch") == ["Read true, Run false"])
    #expect(try home.run("relaunch") == ["Read false, Run false"])
    // One value for all old rows: the default was evaluated once, when the schema was adopted.
    #expect(try home.run("update") == ["Read false, Run false", "1 true"])
    #expect(try home.run("update") == ["Read false, Sleep false", "2 true"])
    let bytes = try Data(contentsOf: URL(fileURLWithPath: home.store))
    var broken = bytes
    for index in 0..<8192 { broken[index] = 0x55 }
    try broken.write(to: URL(fileURLWithPath: home.store))
    #expect(try home.run("broken") == ["true", "1"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: home.store)) == broken)
  }
}
