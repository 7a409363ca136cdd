import Foundation
import TestSupport

struct SimulateCommand {
  private var states: Int
  private var histories: Int
  private let seed: UInt64
  private var choice: CrashCampaign.Choice
  private let isJSON: Bool
  private let folder: String?

  init(_ options: consuming Options) throws(UsageError) {
    let wanted = try options.number("--states")
    seed = UInt64(try options.number("--seed") ?? 1)
    histories = Int.max
    let which = options.text("--histories") ?? "both"
    switch which {
    case "both": choice = .both(seed: seed)
    case "random": choice = .random(seed: seed)
    case "exhaustive": choice = .exhaustive(0...ExhaustiveHistories.count - 1)
    default: throw UsageError("--histories knows no \(which)")
    }
    states = wanted ?? (which == "exhaustive" ? Int.max : 20_000)
    isJSON = options.flag("--json")
    folder = options.text("--keep")
    if let history = options.text("--history") {
      let parts = history.split(separator: ":")
      guard parts.count == 2, let number = UInt64(parts[1]) else { throw UsageError("--history needs KIND:NUMBER") }
      histories = 1
      states = wanted ?? Int.max
      switch parts[0] {
      case "random": choice = .random(seed: number)
      case "exhaustive" where number < ExhaustiveHistories.count: choice = .exhaustive(Int(number)...Int(number))
      default: throw UsageError("--history knows no \(history)")
      }
    }
    try options.finish()
  }

  func run() -> Int32 {
    Simulation.prepareProcess()
    let campaign = CrashCampaign(choice, states: states, histories: histories, imageFolder: folder)
    let result = campaign.run { states, seconds in
      printError("\(states) states after \(Int(seconds)) s")
    }
    for violation in result.violations { printError("violation: \(violation)") }
    if isJSON {
      printJSON([
        ("states", "\(result.states)"), ("violations", "\(result.violationCount)"), ("rate", "\(Int(result.rate))"),
        ("seed", "\(seed)"), ("histories", "\(result.histories)"), ("damaged", "\(result.damaged)"),
        ("seconds", String(format: "%.1f", result.seconds)),
      ])
    } else {
      print(
        """
        \(result.states) states of \(result.histories) histories and \(result.damaged) damaged ones in \
        \(String(format: "%.1f", result.seconds)) s, \(Int(result.rate)) a second: \(result.violationCount) violations
        to repeat: roost-crash simulate --states \(states) --seed \(seed)
        """)
    }
    return result.violationCount == 0 ? 0 : 1
  }
}
