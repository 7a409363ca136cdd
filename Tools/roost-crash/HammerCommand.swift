import Foundation
import RoostKV
import Synchronization
import TestSupport

/// Kills writers and looks at what they leave.
struct HammerCommand {
  private let rounds: Int
  private let seed: UInt64
  private let folder: String?
  private let isJSON: Bool

  init(_ options: consuming Options) throws(UsageError) {
    rounds = try options.number("--rounds") ?? 200
    seed = UInt64(try options.number("--seed") ?? 1)
    folder = options.text("--dir")
    isJSON = options.flag("--json")
    try options.finish()
  }

  func run() -> Int32 {
    let temporary = folder == nil ? TemporaryDirectory() : nil
    let path = folder ?? temporary?.path ?? "."
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let counts = Counts()
    let start = ContinuousClock().now
    let group = DispatchGroup()
    for anvil in 0..<2 {
      group.enter()
      let share = rounds / 2 + (anvil < rounds % 2 ? 1 : 0)
      let thread = Thread {
        Anvil(path + "/anvil-\(anvil)", seed: seed &+ UInt64(anvil), counts).strike(share)
        group.leave()
      }
      thread.start()
    }
    group.wait()
    let (total, lost, torn, commits) = counts.values
    if isJSON {
      printJSON([
        ("rounds", "\(total)"), ("lost", "\(lost)"), ("torn", "\(torn)"), ("commits", "\(commits)"),
        ("seed", "\(seed)"),
      ])
    } else {
      print(
        "\(total) rounds, \(commits) commits in \(ContinuousClock().now - start): \(lost) lost, \(torn) torn; seed \(seed)"
      )
    }
    return lost == 0 && torn == 0 && total == rounds ? 0 : 1
  }

  /// What has been seen so far, by both threads.
  final class Counts: Sendable {
    private let state = Mutex<(rounds: Int, lost: Int, torn: Int, commits: UInt64)>((0, 0, 0, 0))
    var values: (rounds: Int, lost: Int, torn: Int, commits: UInt64) { state.withLock { $0 } }
    func add(_ verdict: Anvil.Verdict, commits: UInt64) {
      state.withLock { state in
        state.rounds += 1
        state.commits += commits
        if verdict == .lost { state.lost += 1 }
        if verdict == .torn { state.torn += 1 }
      }
    }
  }
}

/// One store after the other, on each of which writers are killed for some rounds.
struct Anvil {
  enum Verdict { case sound, lost, torn }

  private static let roundsPerStore = 100

  private let folder: String
  private let seed: UInt64
  private let counts: HammerCommand.Counts

  init(_ folder: String, seed: UInt64, _ counts: HammerCommand.Counts) {
    self.folder = folder
    self.seed = seed
    self.counts = counts
  }

  func strike(_ rounds: Int) {
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var left = rounds
    var store = 0
    while left > 0 {
      let path = "\(folder)/\(seed)-\(store).roost"
      try? FileManager.default.removeItem(atPath: path)
      let isSound = strike(path, HammerWork(seed: seed &+ UInt64(store) << 32), min(left, Self.roundsPerStore), &left)
      // A store that has lost something is kept for who wants to see it.
      if isSound { try? FileManager.default.removeItem(atPath: path) }
      store += 1
    }
  }

  /// - Returns: false if something was wrong with the store.
  private func strike(_ path: String, _ work: HammerWork, _ rounds: Int, _ left: inout Int) -> Bool {
    var random = SplitMix64(seed: work.seed)
    var rows: [[UInt8]: [UInt8]] = [:]
    var number: UInt64 = 0
    for _ in 0..<rounds {
      left -= 1
      let reports = KilledWriter.run(path, work.seed, &random)
      let before = number
      let acknowledged = max(reports.acknowledged, number)
      let verdict: Verdict
      do {
        verdict = try judge(path, work, acknowledged, max(reports.attempted, number), &rows, &number)
      } catch {
        printError("\(path): \(error)")
        verdict = .torn
      }
      counts.add(verdict, commits: number - min(number, before))
      if verdict != .sound { return false }
    }
    return true
  }

  private func judge(
    _ path: String, _ work: HammerWork, _ acknowledged: UInt64, _ attempted: UInt64, _ rows: inout [[UInt8]: [UInt8]],
    _ number: inout UInt64
  ) throws -> Verdict {
    guard FileManager.default.fileExists(atPath: path) else {
      if acknowledged > 0 { printError("\(path): it is gone, and transaction \(acknowledged) was acknowledged") }
      return acknowledged > 0 ? .lost : .sound
    }
    let store = try Store.open(path, HammerWork.options)
    let found = try store.read { (state) throws in try HammerWork.number(state) }
    guard acknowledged <= found else {
      printError("\(path): transaction \(acknowledged) was acknowledged, and \(found) is the last")
      return .lost
    }
    guard found <= attempted else {
      printError("\(path): transaction \(found) is there, and \(attempted) was the last attempt")
      return .torn
    }
    while number < found {
      number += 1
      work.apply(number, to: &rows)
    }
    var reference = ReferenceStore()
    if number > 0 { reference.tables[HammerWork.table] = rows }
    let problems = try store.check().problems
    guard try store.read({ try ReferenceStore($0) }) == reference, problems.isEmpty else {
      printError("\(path): not the state of transaction \(found), or \(problems.prefix(3))")
      return .torn
    }
    return .sound
  }
}

/// Runs a writer and kills it.
enum KilledWriter {
  /// - Returns: the last transactions that it reported.
  static func run(
    _ path: String, _ seed: UInt64, _ random: inout SplitMix64
  ) -> (attempted: UInt64, acknowledged: UInt64) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return (0, 0) }
    defer { close(ends[0]) }
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    let process = spawn(["hammer-writer", path, "\(seed)"], output: ends[1])
    close(ends[1])
    guard process > 0 else { return (0, 0) }
    // Most are struck at work, some while they open the store or make it.
    if !random.oneIn(5) {
      var readable = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
      _ = poll(&readable, 1, 10_000)
      usleep(UInt32.random(in: 0...(random.oneIn(3) ? 60_000 : 8000), using: &random))
    } else {
      usleep(UInt32.random(in: 0...15_000, using: &random))
    }
    // A full pipe would stop the writer: it is struck long before.
    kill(process, SIGKILL)
    var status: Int32 = 0
    waitpid(process, &status, 0)
    if status & 0x7F == 0 { printError("\(path): the writer ended by itself, with \(status >> 8)") }
    return reports(ends[0])
  }

  private static func spawn(_ arguments: [String], output: Int32) -> pid_t {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    let program = CommandLine.program
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var environment =
      ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
      .map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for entry in environment { free(entry) } }
    var process: pid_t = 0
    let failure = posix_spawn(&process, program, &actions, nil, &words, &environment)
    return failure == 0 ? process : -1
  }

  private static func reports(_ descriptor: Int32) -> (attempted: UInt64, acknowledged: UInt64) {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    var (attempted, acknowledged): (UInt64, UInt64) = (0, 0)
    for start in stride(from: 0, to: bytes.count - 8, by: 9) {
      let number = bytes[start + 1..<start + 9].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      if bytes[start] == HammerWriter.attempt { attempted = number } else { acknowledged = number }
    }
    return (attempted, acknowledged)
  }
}
