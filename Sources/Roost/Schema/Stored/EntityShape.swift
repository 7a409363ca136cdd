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
  /// What the entity is across its names and shapes: the number of the first shape it had; 0 in that shape
  /// itself, and outside a store. No part of the shape's identity.
  package var lineage: UInt32 = 0
  /// Records of the entity's older shapes can be read as this one only by the program's code: a stage's
  /// transform. No part of the shape's identity.
  package var isTransformed = false

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

  /// The shape as it would be had entities other names.
  package func renamed(_ names: [String: String]) -> EntityShape {
    if names.isEmpty { return self }
    var shape = self
    shape.name = names[name] ?? name
    shape.parent = parent.map { names[$0] ?? $0 }
    for index in properties.indices {
      guard let destination = properties[index].relationship?.destination, let name = names[destination] else {
        continue
      }
      shape.properties[index].relationship?.destination = name
      shape.properties[index].typeName = name
    }
    return shape
  }

  /// The shape's identity: two entities are of one shape when these bytes are equal.
  package var identityBytes: [UInt8] {
    var shape = self
    shape.properties = properties.map(\.identity)
    shape.lineage = 0
    shape.isTransformed = false
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

  /// The number of the first shape that the entity had.
  package var lineage: UInt32 { shape.lineage == 0 ? id : shape.lineage }
}
