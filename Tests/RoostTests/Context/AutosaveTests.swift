import Foundation
import Roost
import TestSupport
import Testing

/// Programs that never call `save()`, as processes: what do they leave behind?
@Suite struct AutosaveTests {
  @Model final class Item {
    var name: String
    init(_ name: String) { self.name = name }
  }

  struct Outcome {
    let status: Int32
    let wasKilled: Bool
    let output: String
    let errors: String
    let path: String
    let folder: TemporaryDirectory

    /// What the store holds after the program.
    func names(suffix: String = "") throws -> [String] {
      let container = try ModelContainer(
        for: Item.self, configurations: ModelConfiguration(url: URL(fileURLWithPath: path + suffix)))
      return try ModelContext(container).fetch(FetchDescriptor<Item>()).map(\.name)
    }
  }

  private func run(_ program: String, _ mode: String) throws -> Outcome {
    let folder = TemporaryDirectory()
    let path = folder.file("items.store")
    #if os(macOS)
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
    #else
      let bundle: URL? = URL(fileURLWithPath: CommandLine.arguments[0])
    #endif
    let process = Process()
    process.executableURL = (bundle ?? URL(fileURLWithPath: ".")).deletingLastPathComponent()
      .appendingPathComponent(program)
    process.arguments = [mode, path]
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let files = ["out", "err"].map { folder.file($0) }
    for file in files { try Data().write(to: URL(fileURLWithPath: file)) }
    process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: files[0]))
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: files[1]))
    try process.run()
    process.waitUntilExit()
    let text = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
    return Outcome(
      status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
      output: text[0].trimmingCharacters(in: .whitespacesAndNewlines), errors: text[1], path: path,
      folder: folder)
  }

  @Test func aProgramThatEndsSavesWhatIsLeft() throws {
    let outcome = try run("SyncMain", "end")
    #expect(outcome.status == 0)
    #expect(outcome.errors == "")
    #expect(try outcome.names() == ["first"])
  }

  @Test func exitSavesWhatIsLeft() throws {
    let outcome = try run("SyncMain", "exit")
    #expect(outcome.status == 3)
    #expect(try outcome.names() == ["first"])
  }

  @Test func whatIsSwitchedOffIsNotSaved() throws {
    let outcome = try run("SyncMain", "disabled")
    #expect(try outcome.names() == [])
  }

  @Test func killedProgramsLoseWhatFollowedTheirLastSave() throws {
    #expect(try run("SyncMain", "killed").names() == [])
    let outcome = try run("SyncMain", "saved")
    #expect(outcome.wasKilled)
    #expect(try outcome.names() == ["first"])
  }

  @Test func aLockOfTheExitingThreadDelaysItTwoSeconds() throws {
    let start = Date.now
    let outcome = try run("SyncMain", "busy")
    #expect(Date.now.timeIntervalSince(start) < 10)
    #expect(outcome.status == 4)
    #expect(outcome.errors.contains("1 changed objects"))
    #expect(try outcome.names() == [])
  }

  @Test func otherContextsSaveWhenAskedTo() throws {
    let outcome = try run("SyncMain", "other")
    #expect(outcome.errors == "")
    #expect(Set(try outcome.names()) == ["first", "second"])
  }

  @Test func aReleasedContainerHasSaved() throws {
    let outcome = try run("SyncMain", "released")
    #expect(outcome.output == "1")
    #expect(outcome.errors == "")
  }

  @Test func aFinishedTurnIsSaved() throws {
    let outcome = try run("AsyncMain", "turn")
    #expect(outcome.wasKilled)
    #expect(try outcome.names() == ["first"])
  }

  @Test(arguments: ["end", "late"])
  func anAsynchronousMainSavesAtItsEnd(_ mode: String) throws {
    let outcome = try run("AsyncMain", mode)
    #expect(outcome.status == 0)
    #expect(outcome.errors == "")
    #expect(try outcome.names() == (mode == "end" ? ["first"] : ["first", "second"]))
  }

  @Test func oneTurnIsOneSave() throws {
    let outcome = try run("AsyncMain", "once")
    #expect(outcome.output == "1")
    #expect(try outcome.names().count == 101)
  }

  @Test func aReleaseOnAnotherThreadSavesOnTheMainActor() throws {
    let outcome = try run("AsyncMain", "released")
    #expect(outcome.errors == "")
    #expect(try outcome.names(suffix: ".released") == ["first"])
  }
}
