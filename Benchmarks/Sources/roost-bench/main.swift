// roost-bench kv [--count N] [--rounds N] [--quick]
//
// Runs the same operations on Roost and LMDB, interleaved round by round in fresh folders, and prints medians and the
// ratio LMDB / Roost: more than 1 means that Roost is faster.
import Foundation

func option(_ name: String, _ standard: Int) -> Int {
  guard let index = CommandLine.arguments.firstIndex(of: name), index + 1 < CommandLine.arguments.count else {
    return standard
  }
  return Int(CommandLine.arguments[index + 1]) ?? standard
}

let isQuick = CommandLine.arguments.contains("--quick")
let count = option("--count", isQuick ? 50_000 : 1_000_000)
let rounds = option("--rounds", isQuick ? 1 : 3)
let workload = Workload(count: count)

/// Nanoseconds an operation, by workload and engine.
var figures: [String: [String: [Double]]] = [:]
var names: [String] = []
var sums: [String: Set<UInt64>] = [:]

@MainActor
func measure(_ name: String, _ engine: String, per operations: Int, _ body: () throws -> Void) rethrows {
  if !names.contains(name) { names.append(name) }
  let start = ContinuousClock.now
  try body()
  let (seconds, attoseconds) = (ContinuousClock.now - start).components
  let nanoseconds = Double(seconds) * 1e9 + Double(attoseconds) * 1e-9
  figures[name, default: [:]][engine, default: []].append(nanoseconds / Double(operations))
}

@MainActor
func run<E: Engine>(_ type: E.Type, _ folder: String) throws {
  let engine = try type.init(folder: folder)
  let name = type.name
  try measure("bulk", name, per: count) { try engine.put(workload, workload.order) }
  try engine.settle()
  if !names.contains("size (bytes/payload)") { names.append("size (bytes/payload)") }
  let payload = Double(count * (Workload.keyBytes + Workload.valueBytes))
  figures["size (bytes/payload)", default: [:]][name, default: []].append(Double(try engine.size()) / payload)
  // One untimed pass: the pages are verified, the caches warm.
  _ = try engine.get(workload, workload.order)
  try measure("get", name, per: count) {
    sums["get", default: []].insert(try engine.get(workload, workload.order.reversed()))
  }
  try measure("get-1each", name, per: count / 5) {
    for number in workload.order.prefix(count / 5) { _ = try engine.get(workload, CollectionOfOne(number)) }
  }
  try measure("scan", name, per: count) { sums["scan", default: []].insert(try engine.scan()) }
  let singles = isQuick ? 100 : 1000
  try measure("single", name, per: singles) {
    for number in workload.order.prefix(singles) { try engine.put(workload, CollectionOfOne(number)) }
  }
  try measure("batch", name, per: 20_000) {
    for batch in 0..<20 { try engine.put(workload, (0..<1000).map { workload.order[(batch * 1000 + $0) * 7 % count] }) }
  }
  try engine.close()
}

for round in 0..<rounds {
  let folder =
    FileManager.default.currentDirectoryPath + "/.bench-\(ProcessInfo.processInfo.processIdentifier)-\(round)"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  try run(RoostEngine.self, folder)
  try run(LMDBEngine.self, folder)
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

print("\(count) pairs, \(rounds) rounds, medians; ns an operation")
for name in names {
  let roost = median(figures[name]?["roost"] ?? [0]), lmdb = median(figures[name]?["lmdb"] ?? [0])
  func text(_ value: Double) -> String { String(format: "%12.2f", value) }
  print(name.padding(toLength: 24, withPad: " ", startingAt: 0), text(roost), text(lmdb), text(lmdb / roost))
}
for (name, found) in sums where found.count != 1 {
  FileHandle.standardError.write(Data("\(name): the engines read different values\n".utf8))
  exit(1)
}
