import Roost
import RoostKV

extension Command {
  static let check = Command(
    name: "check",
    summary: "Reads every page and value of a store and says what is wrong.",
    positionals: ["STORE"],
    options: [.json],
    details: """
      Prints a line for each problem and exits with 1 when there is one. A store that can't be
      opened because it is damaged is a problem; a file that is no store, or can't be read, is not
      checked (3).
      JSON: {"sound", "pages", "entries", "runs", "problems", "notices"}: how much was checked, and a list of
      {"kind", "table", "page", "message"}, where table and page are null if none is concerned; the kinds are
      \(CheckReport.Problem.Kind.allCases.map(\.rawValue).joined(separator: ", ")),
      schema, and the code of the error with which a store can't be opened. "notices" is a list of
      the same form: traces of a crash, which are no fault.
      """,
    run: checkStore)

  private static func checkStore(_ arguments: Arguments, _ output: Output) throws -> ExitCode {
    let finding = try examine(arguments.positionals[0])
    try arguments.json ? finding.writeJSON(output) : finding.writeText(output)
    return finding.problems.isEmpty ? .success : .problemsFound
  }

  private static func examine(_ path: String) throws -> CheckFinding {
    let store: Store
    do throws(StoreError) {
      store = try Store.open(path, StoreOptions(access: .readOnly))
    } catch {
      guard error.isDamage else { throw ToolError(.cannotOpen, error.description) }
      let message = "\(error.message): \(error.remedy)"
      return CheckFinding(
        problems: [.init(kind: error.code.rawValue, table: nil, page: error.page, message: message)],
        report: nil)
    }
    let report = try store.check()
    let problems = report.problems.map {
      CheckFinding.Problem(kind: $0.kind.rawValue, table: $0.table, page: $0.page, message: $0.message)
    }
    // A schema that lies on damaged pages is no further problem.
    return CheckFinding(problems: problems.isEmpty ? try checkSchema(of: store) : problems, report: report)
  }

  private static func checkSchema(of store: Store) throws -> [CheckFinding.Problem] {
    do {
      _ = try store.read { try ModelStore($0) }
      return []
    } catch let error as RoostError {
      return [.init(kind: "schema", table: nil, page: nil, message: error.description)]
    }
  }
}

/// What a check comes to. Without a report the store could not even be opened.
private struct CheckFinding {
  struct Problem {
    let kind: String
    let table: String?
    let page: UInt64?
    let message: String

    func writeJSON(_ json: JSONWriter) throws {
      try json.beginObject()
      try json.name("kind").value(kind)
      try table.map { try json.name("table").value($0) } ?? json.name("table").null()
      try page.map { try json.name("page").value($0) } ?? json.name("page").null()
      try json.name("message").value(message)
      try json.end()
    }
  }

  let problems: [Problem]
  let report: CheckReport?

  func writeText(_ output: Output) throws {
    for problem in problems {
      let table = problem.table.map { " table \(Escaping.escape($0))," } ?? ""
      let page = problem.page.map { " page \($0)," } ?? ""
      try output.write("\(problem.kind):\(table)\(page) \(problem.message)\n")
    }
    for notice in report?.notices ?? [] { try output.write("notice: \(notice)\n") }
    let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
    guard let report else { return try output.write("\(count); the store can't be opened\n") }
    try output.write(
      """
      \(problems.isEmpty ? "sound" : count): checked \(report.pagesChecked) pages, \(report.entriesChecked) \
      entries, \(report.runsChecked) large values

      """)
  }

  func writeJSON(_ output: Output) throws {
    let json = JSONWriter(output)
    try json.beginObject()
    try json.name("sound").value(problems.isEmpty)
    try json.name("pages").value(report?.pagesChecked ?? 0)
    try json.name("entries").value(report?.entriesChecked ?? 0)
    try json.name("runs").value(report?.runsChecked ?? 0)
    try json.name("problems").values(problems) { try $0.writeJSON(json) }
    let notices = (report?.notices ?? []).map {
      Problem(kind: $0.kind.rawValue, table: $0.table, page: $0.page, message: $0.message)
    }
    try json.name("notices").values(notices) { try $0.writeJSON(json) }
    try json.end()
  }
}

extension StoreError {
  /// Whether what is wrong is in the store's bytes.
  fileprivate var isDamage: Bool {
    [.headerDamaged, .pageDamaged, .runDamaged, .journalDamaged, .catalogDamaged, .truncated].contains(code)
  }
}
