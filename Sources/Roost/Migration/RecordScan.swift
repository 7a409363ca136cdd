import RoostKV

/// Looks for records that can't be read as the program's model.
struct RecordScan {
  private let entity: EntityBinding
  private let properties: [Int]

  init(_ entity: EntityBinding, _ names: [String]) {
    self.entity = entity
    properties = names.compactMap { name in entity.properties.first { $0.name == name }?.index }
  }

  /// Throws `.valuesDontFit` with the first of them and their number.
  func run(_ transaction: borrowing some ReadOperations & ~Copyable) throws {
    guard let records = entity.records else { return }
    var found: (property: String, reason: RecordFailure.Reason)?
    var numbers: [UInt64] = []
    let shapes = entity.description.shape.properties
    try transaction.forEach(in: records, .all, reversed: false) { key, record in
      guard let number = RecordKey.number(key) else { return true }
      entity.withView(record) { view in
        for index in properties where shapes.indices.contains(index) {
          guard let reason = view.problem(index, shapes[index]) else { continue }
          if found == nil { found = (shapes[index].name, reason) }
          return numbers.append(number)
        }
      }
      return true
    }
    guard let found else { return }
    let some = numbers.prefix(5).map(String.init).joined(separator: ", ")
    throw RoostError(
      .valuesDontFit, "\(found.reason) in objects \(some)\(numbers.count > 5 ? " and others" : "")",
      remedy: "set the values in a custom stage's willMigrate, or give the property an initial value",
      entity: entity.name, property: found.property, rows: numbers.count)
  }
}
