import RoostKV

extension SaveTransaction {
  /// Appends the save's row to the history and trims what is more than there should be.
  mutating func writeHistory(_ transaction: inout WriteTransaction) throws {
    let limit = UInt64(clamping: store.configuration.historyLimit)
    guard limit > 0 else {
      if let table = try transaction.tableIfPresent(TableNames.history), try transaction.count(table) > 0 {
        try transaction.deleteRange(.all, in: table)
      }
      return
    }
    for row in outcome.touched {
      history.update(row.number, of: row.entity, touched[row.number]?.properties ?? PropertySet())
    }
    for (number, item) in touched where pending[number] != nil { history.update(number, item.properties) }
    let row = history.row(date: Date().timeIntervalSinceReferenceDate, author: author)
    let table = try transaction.createTableIfMissing(TableNames.history)
    try transaction.put(RecordKey.bytes(outcome.commit), row.bytes, in: table)
    // A little at a time rather than a row with every save.
    let count = UInt64(clamping: try transaction.count(table))
    guard count > limit, count - limit > min(limit / 8, 64), outcome.commit > limit else { return }
    var range = KeyRange.all
    range.upper = .included(RecordKey.bytes(outcome.commit - limit))
    try transaction.deleteRange(range, in: table)
  }
}
