import Foundation
import Testing

@Suite struct CommandLineTests {
  let folder: TemporaryFolder
  let roost = Program.roost

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test func versionIsPrinted() throws {
    let result = try roost.run(["--version"], in: folder)
    #expect(result.status == 0)
    #expect(result.text.hasPrefix("roost "))
    #expect(result.errors == "")
  }

  @Test func helpNamesEveryCommandAndExitStatus() throws {
    let overview = try roost.run(["help"], in: folder)
    #expect(overview.status == 0)
    for command in ["info", "check", "tables", "schema", "records", "get", "dump", "load"] {
      #expect(overview.text.contains("\n  \(command) "))
      let help = try roost.run(["help", command], in: folder)
      #expect(help.status == 0)
      #expect(help.text.contains("usage: roost \(command) "))
      #expect(try roost.run([command, "--help"], in: folder).text == help.text)
    }
    for status in 0...6 { #expect(overview.text.contains("\n  \(status)  ")) }
  }

  @Test(arguments: [
    [], ["frobnicate"], ["help", "frobnicate"], ["info"], ["info", "a", "b"], ["tables", "a", "--frob"],
    ["get", "a", "b"], ["get", "a", "b", "xyz", "--hex"], ["load", "a"], ["load", "a", "--tsv", "f"],
    ["load", "a", "t", "--dump", "f"], ["load", "a", "t", "--tsv"],
    ["load", "a", "t", "--tsv", "f", "--batch", "0"],
    ["info", "a", "--json", "--json"], ["info", "a", "--json=yes"],
  ])
  func misuseIsExplained(_ arguments: [String]) throws {
    try folder.write(Array("k\tv\n".utf8), to: "f")
    let result = try roost.run(arguments, in: folder)
    #expect(result.status == 2)
    #expect(result.output == [])
    #expect(result.errors.hasPrefix("roost: "))
  }

  @Test(arguments: ["info", "check", "tables", "schema", "dump"])
  func whatIsNoStoreIsRefused(_ command: String) throws {
    let files = [
      folder.path("missing"), folder.path("no/folder"), folder.root.path,
      try folder.write([], to: "empty"), try folder.write(Array("#!/bin/sh\n".utf8), to: "script"),
      try folder.write(Array(repeating: 0, count: 100_000), to: "zeros"),
    ]
    for file in files {
      let result = try roost.run([command, file], in: folder)
      #expect(result.status == 3, "\(file)")
      #expect(result.output == [])
      #expect(result.errors.hasPrefix("roost: "))
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path("missing")))
  }

  @Test func aReaderThatStopsEarlyIsNoError() throws {
    let rows = (0..<20_000).map { (key: Array("key \($0)".utf8), value: [UInt8](repeating: 65, count: 20)) }
    let store = try folder.makeStore("store", ["t": rows])
    let process = try roost.makeProcess(["dump", store])
    let output = Pipe()
    let errors = Pipe()
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    try output.fileHandleForWriting.close()
    #expect(try output.fileHandleForReading.read(upToCount: 12) == Data("roost-dump 1".utf8))
    try output.fileHandleForReading.close()
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
    #expect(try errors.fileHandleForReading.readToEnd() ?? Data() == Data())
  }

  #if os(Linux)
    @Test func aFullDiskBehindTheOutputIsAnError() throws {
      let store = try folder.makeStore("store", ["t": [([1], [2])]])
      let process = try roost.makeProcess(["dump", store])
      process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationStatus == 5)
    }
  #endif
}
