import Foundation
import Testing

/// `roost-crash`, run as its users run it. The long runs are not for here.
@Suite struct CrashToolTests {
  private static let program = Program("roost-crash")

  private func number(_ name: String, _ result: Program.Result) throws -> Int {
    let fields = try #require(try result.json() as? [String: Any])
    return try #require(fields[name] as? Int)
  }

  @Test("Killed writers lose nothing that they acknowledged")
  func hammer() throws {
    let folder = try TemporaryFolder()
    let result = try Self.program.run(
      ["hammer", "--rounds", "10", "--dir", folder.path("stores"), "--json"], in: folder)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try number("rounds", result) == 10)
    #expect(try number("lost", result) == 0)
    #expect(try number("torn", result) == 0)
  }

  @Test("A simulation prints its states and violations")
  func simulate() throws {
    let folder = try TemporaryFolder()
    let result = try Self.program.run(["simulate", "--states", "60", "--seed", "7", "--json"], in: folder)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try number("states", result) >= 60)
    #expect(try number("violations", result) == 0)
    #expect(try number("rate", result) > 0)
    #expect(try number("seed", result) == 7)
  }

  @Test("There are bugs enough to plant, and an engine without them survives")
  func mutants() throws {
    let folder = try TemporaryFolder()
    let list = try Self.program.run(["mutants", "--list"], in: folder)
    #expect(list.text.split(separator: "\n").count >= 12)
    let caught = try Self.program.run(["mutants", "--only", "durable-write-is-not", "--json"], in: folder)
    #expect(caught.status == 0, "\(caught.errors)")
    #expect(try number("caught", caught) == 1)
  }

  @Test(
    "A command line that can't be understood",
    arguments: [[], ["nonsense"], ["simulate", "--rounds", "3"], ["hammer", "x"]])
  func usage(_ arguments: [String]) throws {
    let result = try Self.program.run(arguments, in: try TemporaryFolder())
    #expect(result.status == 2)
    #expect(result.errors.contains("--help"))
  }

  @Test func help() throws {
    let result = try Self.program.run(["--help"], in: try TemporaryFolder())
    #expect(result.status == 0)
    for command in ["simulate", "mutants", "hammer"] { #expect(result.text.contains(command)) }
  }
}
