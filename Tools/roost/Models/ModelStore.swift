import Roost
import RoostKV

/// What a store says of its models, as of one commit.
struct ModelStore {
  let schema: StoredSchema
  /// By entity: the number of records, of all shapes.
  let counts: [String: Int]

  /// `nil` when the store holds no models.
  init?(_ transaction: borrowing ReadTransaction) throws {
    guard let schema = try SchemaStore.load(transaction) else { return nil }
    var counts: [String: Int] = [:]
    for entity in schema.entities {
      guard let table = try transaction.tableIfPresent(TableNames.records(entity.shape.name)) else {
        continue
      }
      counts[entity.shape.name] = try transaction.count(table)
    }
    self.schema = schema
    self.counts = counts
  }

  func count(_ entity: StoredEntityShape) -> Int { counts[entity.shape.name] ?? 0 }

  /// The older shapes of an entity that records still have, with how many.
  func outdated(_ entity: StoredEntityShape) -> [(shape: StoredEntityShape, count: Int)] {
    schema.shapes(of: entity.shape.name).compactMap { shape in
      schema.outdated[shape.id].map { (shape, $0) }
    }
  }

  /// "ready", or "sweeping" as long as records of older shapes are left.
  var state: String { schema.outdated.isEmpty ? "ready" : "sweeping" }
}
