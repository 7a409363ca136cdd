// swift-tools-version: 6.2
import CompilerPluginSupport
import Foundation
import PackageDescription

/// The folder of the running toolchain's own swift-syntax libraries, which the macro plugin links.
///
/// The manifest is a program that links the toolchain's `libPackageDescription`; where that
/// library was loaded from says where the toolchain is. `ROOST_SWIFT_HOST_LIBRARIES` overrides.
func hostLibraries() -> String {
  if let override = ProcessInfo.processInfo.environment["ROOST_SWIFT_HOST_LIBRARIES"] {
    return override
  }
  #if os(Linux)
    // Read through a handle: what reads a whole file at once stops after 4 KiB of one whose size is 0.
    let bytes = try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd()
    for line in String(decoding: bytes ?? Data(), as: UTF8.self).split(separator: "\n") {
      if let library = line.range(of: "/pm/ManifestAPI/libPackageDescription.so"),
        let start = line.firstIndex(of: "/")
      {
        return String(line[start..<library.lowerBound]) + "/host"
      }
    }
  #else
    var info = Dl_info()
    if let symbol = dlsym(UnsafeMutableRawPointer(bitPattern: -2), "$s18PackageDescription0A0CMa"),
      dladdr(symbol, &info) != 0, let name = info.dli_fname
    {
      let library = URL(fileURLWithPath: String(cString: name))
      return library.deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("host").path
    }
  #endif
  fatalError(
    """
    Roost's macros are built with the swift-syntax libraries of the Swift toolchain, and they were \
    not found. Set ROOST_SWIFT_HOST_LIBRARIES to <toolchain>/usr/lib/swift/host and build again.
    """)
}

let host = hostLibraries()

/// With ROOST_STRICT in the environment warnings are errors, as in `.ci/run`; not otherwise, since
/// a later compiler's new warnings must not keep anyone from building.
let strict: [SwiftSetting] =
  ProcessInfo.processInfo.environment["ROOST_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]

/// With ROOST_MUTANTS in the environment the engine has the planted bugs of `roost-crash mutants`, none of which is active
/// until one is chosen. Other builds have nothing of them.
let mutants: [SwiftSetting] =
  ProcessInfo.processInfo.environment["ROOST_MUTANTS"] == nil ? [] : [.define("ROOST_MUTANTS")]

let common: [SwiftSetting] =
  strict + mutants + [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableExperimentalFeature("Lifetimes"),
  ]

var targets: [Target] = [
  .target(name: "RoostKV", swiftSettings: common),
  .macro(
    name: "RoostMacros",
    swiftSettings: strict + [.swiftLanguageMode(.v6), .unsafeFlags(["-I", host])],
    linkerSettings: [
      .unsafeFlags([
        "-L", host, "-lSwiftSyntax", "-lSwiftSyntaxMacros", "-lSwiftSyntaxBuilder",
        "-lSwiftDiagnostics", "-lSwiftCompilerPluginMessageHandling",
        "-Xlinker", "-rpath", "-Xlinker", host,
      ])
    ]),
  .target(name: "Roost", dependencies: ["RoostKV", "RoostMacros"], swiftSettings: common),
  .executableTarget(
    name: "RoostTool", dependencies: ["RoostKV", "Roost"], path: "Tools/roost", swiftSettings: common),
  .executableTarget(
    name: "habits", dependencies: ["Roost"], path: "Tools/habits", swiftSettings: common),
  .target(
    name: "TestSupport", dependencies: ["RoostKV"], path: "Tests/TestSupport", swiftSettings: common),
  .executableTarget(
    name: "roost-crash", dependencies: ["RoostKV", "TestSupport"], path: "Tools/roost-crash", swiftSettings: common),
  .testTarget(
    name: "RoostKVTests", dependencies: ["RoostKV", "TestSupport"], swiftSettings: common),
  // Programs that tests run, since only a process shows what is left when one ends.
  .executableTarget(
    name: "SyncMain", dependencies: ["Roost", "RoostKV"], path: "Tests/Fixtures/SyncMain",
    swiftSettings: common),
  .executableTarget(
    name: "AsyncMain", dependencies: ["Roost"], path: "Tests/Fixtures/AsyncMain", swiftSettings: common),
  .testTarget(
    name: "RoostTests", dependencies: ["Roost", "RoostKV", "TestSupport", "SyncMain", "AsyncMain"],
    swiftSettings: common),
  // The tool's tests run the built program, hence the dependency on it.
  .testTarget(
    name: "ToolTests", dependencies: ["RoostKV", "Roost", "RoostTool", "habits", "roost-crash"], swiftSettings: common),
]

var products: [Product] = [
  .library(name: "RoostKV", targets: ["RoostKV"]),
  .library(name: "Roost", targets: ["Roost"]),
  .executable(name: "roost", targets: ["RoostTool"]),
  .executable(name: "roost-crash", targets: ["roost-crash"]),
]

// Apple's systems have their own SwiftData; elsewhere this module lets `import SwiftData` compile.
#if !os(macOS)
  targets.append(
    .target(name: "SwiftData", dependencies: ["Roost"], path: "Sources/SwiftDataShim", swiftSettings: common))
  products.append(.library(name: "SwiftData", targets: ["SwiftData"]))

  // The tutorial's code as it stands, in Swift 5 mode; in Swift 6 mode with `static let`.
  for (mode, version) in [("5", SwiftLanguageMode.v5), ("6", .v6)] {
    targets.append(
      .executableTarget(
        name: "Tutorial\(mode)", dependencies: ["SwiftData"], path: "Tests/Fixtures/Tutorial\(mode)",
        swiftSettings: strict + [.swiftLanguageMode(version)]))
    for target in targets where target.name == "RoostTests" {
      target.dependencies.append(.target(name: "Tutorial\(mode)"))
    }
  }
#endif

let package = Package(
  name: "roost",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: products,
  targets: targets)
