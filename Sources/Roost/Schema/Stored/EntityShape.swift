import RoostKV

/// An entity as the store knows it, whole.
package struct EntityShape: Sendable, Hashable {
  package var name: String
  package var parent: String?
  /// Inherited properties first, then in the order of declaration. To-many relationships are among them.
  package var properties: [PropertyShape]
  /// Names of properties whose values together are different in each record.
  package var uniques: [[String]]
  /// Names of properties that have an index together.
  package var indexes: [[String]]

  package init(
    _ name: String, parent: String? = nil, _ properties: [PropertyShape], uniques: [[String]] = [],
    indexes: [[String]] = []
  ) {
    self.name = name
    self.parent = parent
    self.properties = properties
    self.uniques = uniques
    self.indexes = indexes
  }

  package func property(_ name: String) -> PropertyShape? {
    properties.first { $0.name == name }
  }

  /// The shape's identity: two entities are of one shape when these bytes are equal.
  package var identityBytes: [UInt8] {
    var shape = self
    shape.properties = properties.map(\.identity)
    return shape.coded.bytes
  }

  package var digest: UInt64 {
    identityBytes.withUnsafeBytes { XXH3.hash($0) }
  }
}

/// A shape that a store holds, under the number by which records name it.
package struct StoredEntityShape: Sendable, Hashable {
  package let id: UInt32
  package var shape: EntityShape

  package init(id: UInt32, shape: EntityShape) {
    self.id = id
    self.shape = shape
  }
}
