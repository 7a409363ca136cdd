import Foundation

/// `roost-crash`: tries to make Roost lose something.
@main
enum RoostCrash {
  static let help = """
    roost-crash: tries to make Roost lose or mix up what it has acknowledged.

    usage: roost-crash simulate [--states N] [--seed S] [--json]
           roost-crash mutants [--only NAME] [--json]
           roost-crash hammer [--rounds N] [--dir D] [--seed S] [--json]

    simulate
      Runs histories of transactions, checkpoints, faults, ends of the process and power losses on a simulated
      disk, and opens every disk that a power loss could have left at any moment of them, also in the midst of the
      recovery from another one. Stops after N different states (20000).
      --seed S          of the random histories (1); a violation names the history, and the seed to repeat it
      --histories WHICH both (exhaustive and random ones in turns), random, or exhaustive (all histories of up to
                        three transactions over three keys, in which case --states has no default)
      --history NAME    only this one: random:SEED or exhaustive:NUMBER
      --keep D          writes the images of violations into the folder D
      Prints {"states":…,"violations":…,"rate":…} with --json; states are different images, rate is states a second.

    mutants
      Plants bugs in the engine, one at a time, and looks whether simulate finds each. Some are bugs of the disk's
      driver; those in the engine's own logic are compiled into debug builds only, or with ROOST_MUTANTS=1 in the
      environment; from a release build without them it makes such a build, beside this one, and runs that.
      --only NAME       this bug alone
      --list            says which there are
      Prints {"mutants":…,"caught":…} with --json.

    hammer
      Kills writing processes by SIGKILL on the real file system, N times (200), and compares what the next one finds
      with what was acknowledged.
      --dir D           the folder for the stores (a new one in the folder for temporary files)
      --seed S          of the writers' transactions (1)
      Prints {"rounds":…,"lost":…,"torn":…} with --json.

    The status is 0 if nothing was lost, every bug was caught; 1 if not; 2 if the command line can't be understood.
    """

  static func main() {
    var arguments = Array(CommandLine.arguments.dropFirst())
    guard !arguments.isEmpty else { fail("what shall it do?") }
    let command = arguments.removeFirst()
    if command == "help" || command == "--help" || command == "-h" || arguments.contains("--help") {
      print(help)
      exit(0)
    }
    do throws(UsageError) {
      switch command {
      case "simulate": exit(try SimulateCommand(Options(arguments)).run())
      case "mutants": exit(try MutantsCommand(Options(arguments)).run())
      case "hammer": exit(try HammerCommand(Options(arguments)).run())
      // Not for people: the process that hammer kills.
      case "hammer-writer": HammerWriter.run(arguments)
      default: throw UsageError("there is no command \(command)")
      }
    } catch {
      fail(error.message)
    }
  }

  private static func fail(_ message: String) -> Never {
    printError("roost-crash: \(message); see roost-crash --help")
    exit(2)
  }
}

func printError(_ line: String) {
  FileHandle.standardError.write(Data((line + "\n").utf8))
}

struct UsageError: Error {
  let message: String
  init(_ message: String) { self.message = message }
}

/// Options `--name VALUE` and `--name`, each taken out as it is asked for.
struct Options {
  private var values: [String: String] = [:]
  private var flags: Set<String> = []
  private static let flagNames: Set<String> = ["--json", "--list", "--child"]

  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      guard name.hasPrefix("--") else { throw UsageError("\(name) is not an option") }
      if Self.flagNames.contains(name) {
        flags.insert(name)
      } else if let value = rest.popFirst() {
        values[name] = value
      } else {
        throw UsageError("\(name) needs a value")
      }
    }
  }

  mutating func flag(_ name: String) -> Bool { flags.remove(name) != nil }

  mutating func text(_ name: String) -> String? { values.removeValue(forKey: name) }

  mutating func number(_ name: String) throws(UsageError) -> Int? {
    guard let text = text(name) else { return nil }
    guard let number = Int(text), number >= 0 else { throw UsageError("\(name) needs a whole number") }
    return number
  }

  /// Whatever has not been asked for isn't an option of this command.
  func finish() throws(UsageError) {
    if let name = values.keys.first ?? flags.first { throw UsageError("\(name) is no option of this command") }
  }
}

/// One line of JSON with the fields in their order.
func printJSON(_ fields: [(String, String)]) {
  print("{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}")
}
