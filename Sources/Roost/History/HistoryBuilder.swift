/// Gathers what a save does.
struct HistoryBuilder {
  private var inserted: [UInt32: [UInt64]] = [:]
  private var updated: [UInt64: (shape: UInt32, properties: PropertySet)] = [:]
  private var deleted: [UInt32: [HistoryRow.Deletion]] = [:]

  /// A record that is written.
  mutating func write(_ number: UInt64, of entity: EntityBinding, _ record: [UInt8], over old: [UInt8]?) {
    guard let old else { return inserted[entity.shapeNumber, default: []].append(number) }
    update(number, of: entity, entity.changedFields(from: old, to: record))
  }

  /// Properties of an object that existed before have changed.
  mutating func update(_ number: UInt64, of entity: EntityBinding, _ properties: PropertySet) {
    updated[number, default: (entity.shapeNumber, PropertySet())].properties.formUnion(properties)
  }

  /// Relationships have changed: of an object that is written anyway, or of another.
  mutating func update(_ number: UInt64, _ properties: PropertySet) {
    updated[number]?.properties.formUnion(properties)
  }

  mutating func delete(_ number: UInt64, of entity: EntityBinding, _ record: [UInt8]) {
    var deletion = HistoryRow.Deletion(number: number)
    if !entity.preserved.isEmpty {
      deletion.kept =
        entity.withView(record) { view in
          entity.preserved.map { property in
            let type = entity.description.layout.fields[property]?.type
            let bytes = type.flatMap { view.value(property).fieldBytes(as: $0) }
            return HistoryRow.Value(property: property, field: bytes)
          }
        } ?? []
    }
    deleted[entity.shapeNumber, default: []].append(deletion)
  }

  func row(date: Double, author: String?) -> HistoryRow {
    var changes: [UInt32: HistoryRow.Changes] = [:]
    for (shape, numbers) in inserted {
      changes[shape, default: .init(shape: shape)].inserted = Self.runs(numbers)
    }
    for (number, update) in updated {
      changes[update.shape, default: .init(shape: update.shape)].updated
        .append(.init(number: number, properties: update.properties))
    }
    for (shape, deletions) in deleted {
      changes[shape, default: .init(shape: shape)].deleted = deletions.sorted { $0.number < $1.number }
    }
    for shape in changes.keys { changes[shape]?.updated.sort { $0.number < $1.number } }
    return HistoryRow(date: date, author: author, changes: changes.values.sorted { $0.shape < $1.shape })
  }

  /// Numbers in ascending order as runs of neighbours.
  private static func runs(_ numbers: [UInt64]) -> [ClosedRange<UInt64>] {
    var runs: [ClosedRange<UInt64>] = []
    for number in numbers {
      if let last = runs.last, number == last.upperBound &+ 1 {
        runs[runs.count - 1] = last.lowerBound...number
      } else {
        runs.append(number...number)
      }
    }
    return runs
  }
}

extension EntityBinding {
  /// The properties whose fields differ.
  func changedFields(from old: [UInt8], to new: [UInt8]) -> PropertySet {
    var changed = PropertySet()
    _ = withView(old) { old in
      withView(new) { new in
        for index in description.layout.fields.indices where description.layout.fields[index] != nil {
          if !Self.isEqual(old.field(index), new.field(index)) { changed.insert(index) }
        }
      }
    }
    return changed
  }

  private static func isEqual(_ a: RecordField, _ b: RecordField) -> Bool {
    guard let first = a.bytes, let second = b.bytes else { return a.bytes == nil && b.bytes == nil }
    if a.type == b.type { return first.elementsEqual(second) }
    return FieldValue(a).converted(to: b.type) == FieldValue(b)
  }
}
