// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the product needs neither LMDB nor SQLite. Debian: liblmdb-dev.
let package = Package(
  name: "benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "roost", path: "..")],
  targets: [
    .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
    .executableTarget(
      name: "roost-bench", dependencies: [.product(name: "RoostKV", package: "roost"), "CLMDB"],
      swiftSettings: [.swiftLanguageMode(.v6)]),
  ])
