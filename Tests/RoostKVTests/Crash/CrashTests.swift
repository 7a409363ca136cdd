import RoostKV
import TestSupport
import Testing

/// A power loss at any moment leaves a store that opens to a committed state no older than the last acknowledged one.
///
/// The long runs are `roost-crash simulate`.
@Suite struct CrashTests {
  private func judge(_ history: CrashHistory, choices: Int, sectorSize: Int = 512) -> CrashFindings {
    let findings = CrashFindings()
    var effort = CrashJudge.Effort()
    effort.choices = choices
    let judge = CrashJudge(findings, history.options, sectorSize: sectorSize, effort: effort)
    for segment in history.segments { judge.judge(segment) }
    return findings
  }

  @Test("Exhaustive and random histories in turns")
  func campaign() {
    let result = CrashCampaign(.both(seed: 1), states: 150, workers: 1).run()
    #expect(result.violations.isEmpty)
    #expect(result.states >= 150)
  }

  @Test("A history of one transaction, all its crashes")
  func oneTransaction() {
    let result = CrashCampaign(.exhaustive(0...3), workers: 1).run()
    #expect(result.violations.isEmpty)
    #expect(result.histories == 4)
    #expect(result.states > 20)
  }

  @Test("A random history gives the same states again", arguments: [3 as UInt64, 4])
  func repeatable(_ seed: UInt64) throws {
    func operations() throws -> [String] {
      var history = RandomHistory(seed: seed)
      return try history.segments().map { "\($0.operations)" }
    }
    #expect(try operations() == operations())
  }

  @Test("[C-9] Crash before and after every write of a large transaction")
  func largeTransaction() throws {
    let history = try CrashHistory("large", .simulated(), sectorSize: 512, seed: 1)
    func fill(_ count: Int, _ value: [UInt8]) throws {
      try history.commit { transaction, reference in
        let table = try transaction.createTableIfMissing("a")
        for number in 0..<count {
          try transaction.put("\(count) \(number)", value, in: table)
          reference.tables["a", default: [:]][Array("\(count) \(number)".utf8)] = value
        }
      }
    }
    try fill(40, [1, 2, 3])
    try fill(60, [UInt8](repeating: 9, count: 700))
    try fill(1, [4])
    history.finish()
    let findings = judge(history, choices: 30)
    #expect(findings.violations.isEmpty)
    #expect(findings.states > 60)
  }

  @Test("[J-1] [J-3] Crash while the ring of segments grows and shrinks")
  func journalRing() throws {
    let history = try CrashHistory("ring", .simulated(), sectorSize: 512, seed: 1)
    for round in 0..<20 {
      try history.commit { transaction, reference in
        let table = try transaction.createTableIfMissing("a")
        for part in 0..<3 {
          let key = [UInt8(round % 5), UInt8(part)], value = [UInt8](repeating: UInt8(round), count: 1900)
          try transaction.put(key, value, in: table)
          reference.tables["a", default: [:]][key] = value
        }
      }
      if round % 9 == 8 { try history.checkpoint() }
    }
    try history.reopen()
    history.finish()
    let findings = judge(history, choices: 2)
    #expect(findings.violations.isEmpty)
    #expect(findings.states > 40)
  }

  @Test("A flush that lies leaves an older committed state, or an error")
  func lies() throws {
    let history = try CrashHistory("lies", .simulated(), sectorSize: 512, seed: 1)
    history.inject(DiskFault(.flush, .lie, lasting: true))
    for round in 0..<6 {
      try history.commit(round == 2 ? .relaxed : .durable) { transaction, reference in
        try transaction.put("key", [UInt8(round)], in: try transaction.createTableIfMissing("a"))
        reference.tables["a", default: [:]][Array("key".utf8)] = [UInt8(round)]
      }
      if round == 3 { try history.checkpoint() }
    }
    history.finish()
    let findings = judge(history, choices: 60)
    #expect(findings.violations.isEmpty)
    #expect(findings.states > 20)
  }

  @Test("Flaws of the disk's driver are found", arguments: DriverFlaw.allCases)
  func flaws(_ flaw: DriverFlaw) {
    let result = CrashCampaign(.both(seed: 1), states: 400, workers: 1, stopsAtViolation: true, flaw: flaw).run()
    #expect(result.violationCount > 0)
  }
}
