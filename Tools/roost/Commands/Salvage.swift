import RoostKV

extension Command {
  static let salvage = Command(
    name: "salvage",
    summary: "Makes a new store of what can be read of a damaged one.",
    positionals: ["IN", "OUT"],
    options: [
      Option(name: "--store-id", value: "ID", meaning: "IN's id, for when both headers are lost"), .json,
    ],
    details: """
      IN is only read, and needs neither its headers nor its list of tables, free map or journal: the pages
      name the table that they belong to. OUT must not exist, and appears whole or not at all.
      Nobody may write IN meanwhile.

      Each entry of OUT was read from bytes whose checksums hold. Entries on pages found only by
      scanning are in the newest state where the free map says so; else the newest page counts
      for each key, and they are counted as uncertain: an older value, or an entry deleted since,
      may be among them. Transactions in the journal are carried out; those behind a gap too,
      and the missing ones are listed.

      When both headers are lost, the checksums can only be tested with the store's id: `roost
      info` prints it for any copy or backup of the store, and for the store while it was whole.

      Exits with 0 when all of the newest state is known to have come back, else with 1: OUT is
      made in both cases, and the lines say what is lost.
      JSON: {"complete", "origin", "storeID", "pageSize", "headers", "generation", "catalogWhole",
      "pages", "damagedPages", "entries", "tables", "journal"}. A table is {"name", "id", "nameKnown",
      "entries", "scanned", "uncertain", "lostEntries", "lostValues", "losses"}, a loss {"page",
      "reason", "lower", "upper", "entries", "recovered"}: the keys from lower up to upper (null: no bound)
      lay there, so many entries of them, and so many were found elsewhere. The journal is
      {"applied", "missing", "lostRecords", "readable", "startKnown"}.
      """,
    run: salvageStore)

  private static func salvageStore(_ arguments: Arguments, _ output: Output) throws -> ExitCode {
    let progress = Progress("salvaging:")
    defer { progress.finish() }
    let report: SalvageReport
    do throws(StoreError) {
      report = try Store.salvage(
        arguments.positionals[0], to: arguments.positionals[1],
        SalvageOptions(storeID: arguments.value("--store-id"))
      ) { state in
        progress.update(Int(clamping: state.done), of: state.total.map { Int(clamping: $0) })
        return true
      }
    } catch {
      throw ToolError(error.isAboutInput ? .cannotOpen : .failed, error.description)
    }
    progress.finish()
    try arguments.json ? report.writeJSON(output) : report.writeText(output)
    return report.isComplete ? .success : .problemsFound
  }
}

extension StoreError {
  fileprivate var isAboutInput: Bool {
    [.notFound, .notAStore, .emptyFile, .newerFormat, .headerDamaged].contains(code)
  }
}

extension SalvageReport {
  fileprivate func writeText(_ output: Output) throws {
    if origin == .scan {
      try output.write("no header could be read; the newest pages that fit together were taken for the newest state\n")
    }
    if !isCatalogWhole {
      try output.write("the list of tables is damaged: names, and tables without entries, may be lost\n")
    }
    for table in tables { try table.writeText(output) }
    try journal.writeText(output)
    let damaged = damagedPages.isEmpty ? "" : ", \(damagedPages.count) of them needed and unreadable"
    try output.write(
      """
      \(isComplete ? "complete" : "incomplete"): \(tables.count) tables with \(entries) entries from \(pages) \
      pages\(damaged)

      """)
  }

  fileprivate func writeJSON(_ output: Output) throws {
    let json = JSONWriter(output)
    try json.beginObject()
    try json.name("complete").value(isComplete)
    try json.name("origin").value(origin.rawValue)
    try storeID.map { try json.name("storeID").value($0) } ?? json.name("storeID").null()
    try json.name("pageSize").value(pageSize)
    try json.name("headers").value(headers)
    try json.name("generation").value(generation)
    try json.name("catalogWhole").value(isCatalogWhole)
    try json.name("pages").value(pages)
    try json.name("damagedPages").values(damagedPages) { try json.value($0) }
    try json.name("entries").value(entries)
    try json.name("tables").values(tables) { try $0.writeJSON(json) }
    try json.name("journal")
    try journal.writeJSON(json)
    try json.end()
  }
}

extension SalvageReport.TableResult {
  fileprivate func writeText(_ output: Output) throws {
    var facts = ["\(entries) entries"]
    if scanned > 0 { facts.append("\(scanned) found only by scanning") }
    if uncertain > 0 { facts.append("\(uncertain) may be older than the newest state") }
    if lostEntries > 0 { facts.append("\(lostEntries) lost") }
    if lostValues > 0 { facts.append("\(lostValues) large values lost") }
    if !isNameKnown { facts.append("the name isn't certain") }
    try output.write("table \(Escaping.escape(name)): \(facts.joined(separator: ", "))\n")
    for loss in losses {
      let lower = loss.lower.map { "from \(Escaping.escape($0)) " } ?? ""
      let upper = loss.upper.map { "below \(Escaping.escape($0))" } ?? "to the end"
      try output.write(
        "  page \(loss.page): \(loss.reason); keys \(lower)\(upper), \(loss.entries) entries, \(loss.recovered) found elsewhere\n"
      )
    }
  }

  fileprivate func writeJSON(_ json: JSONWriter) throws {
    try json.beginObject()
    try json.name("name").value(name)
    try json.name("id").value(id)
    try json.name("nameKnown").value(isNameKnown)
    try json.name("entries").value(entries)
    try json.name("scanned").value(scanned)
    try json.name("uncertain").value(uncertain)
    try json.name("lostEntries").value(lostEntries)
    try json.name("lostValues").value(lostValues)
    try json.name("losses").values(losses) { loss in
      try json.beginObject()
      try json.name("page").value(loss.page)
      try json.name("reason").value(loss.reason)
      for (name, key) in [("lower", loss.lower), ("upper", loss.upper)] {
        try json.name(name)
        if let key { try key.withUnsafeBytes { try json.value($0) } } else { try json.null() }
      }
      try json.name("entries").value(loss.entries)
      try json.name("recovered").value(loss.recovered)
      try json.end()
    }
    try json.end()
  }
}

extension SalvageReport.Journal {
  fileprivate func writeText(_ output: Output) throws {
    if applied > 0 { try output.write("journal: \(applied) transactions carried out\n") }
    for range in missing {
      let numbers =
        range.count == 1 ? "transaction \(range.lowerBound)" : "transactions \(range.lowerBound) to \(range.upperBound)"
      try output.write("journal: \(numbers) missing, later ones carried out nevertheless\n")
    }
    if lostRecords > 0 { try output.write("journal: \(lostRecords) changes could not be carried out\n") }
    if !isReadable { try output.write("journal: parts can't be read; newest transactions may be lost\n") }
    if !isStartKnown {
      try output.write("journal: its beginning isn't known; the newest unbroken row was carried out\n")
    }
  }

  fileprivate func writeJSON(_ json: JSONWriter) throws {
    try json.beginObject()
    try json.name("applied").value(applied)
    try json.name("missing").values(missing) { range in
      try json.beginArray()
      try json.value(range.lowerBound)
      try json.value(range.upperBound)
      try json.end()
    }
    try json.name("lostRecords").value(lostRecords)
    try json.name("readable").value(isReadable)
    try json.name("startKnown").value(isStartKnown)
    try json.end()
  }
}
