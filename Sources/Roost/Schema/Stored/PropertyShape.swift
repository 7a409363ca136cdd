/// A property as the store knows it: enough to read and print its values without the program.
package struct PropertyShape: Sendable, Hashable {
  package enum Kind: String, Sendable {
    case attribute
    case toOne
    case toMany
  }

  /// What a relationship has beyond other properties.
  package struct Relationship: Sendable, Hashable {
    package var destination: String
    package var inverse: String?
    package var deleteRule: String
    package var minimum: Int?
    package var maximum: Int?

    package init(
      destination: String, inverse: String? = nil, deleteRule: String = "nullify", minimum: Int? = nil,
      maximum: Int? = nil
    ) {
      self.destination = destination
      self.inverse = inverse
      self.deleteRule = deleteRule
      self.minimum = minimum
      self.maximum = maximum
    }
  }

  package var name: String
  package var kind: Kind
  /// The type of the stored field; `.identifier` for to-one and `.identifiers` for to-many relationships.
  package var type: FieldType
  package var isOptional: Bool
  /// The Swift type's name, for people; no part of the shape's identity.
  package var typeName: String
  /// Names of attribute and relationship options, sorted.
  package var options: [String] = []
  package var hashModifier: String?
  package var relationship: Relationship?
  /// The field that stands in where a record has none, as it was settled when the shape was adopted. No part
  /// of the shape's identity.
  package var frozenDefault: [UInt8]?
  /// What the property is across the versions of its entity: a renamed property keeps its number, one that
  /// is dropped and later added again gets another. 0 outside a store. No part of the shape's identity.
  package var lineage: UInt32 = 0

  package init(
    _ name: String, _ type: FieldType, isOptional: Bool = false, typeName: String? = nil,
    options: [String] = [], hashModifier: String? = nil, frozenDefault: [UInt8]? = nil
  ) {
    self.name = name
    kind = .attribute
    self.type = type
    self.isOptional = isOptional
    self.typeName = typeName ?? type.name
    self.options = options.sorted()
    self.hashModifier = hashModifier
    self.frozenDefault = frozenDefault
  }

  package init(
    _ name: String, toMany: Bool, _ relationship: Relationship, isOptional: Bool = true,
    options: [String] = [],
    hashModifier: String? = nil
  ) {
    self.name = name
    kind = toMany ? .toMany : .toOne
    type = toMany ? .identifiers : .identifier
    self.isOptional = isOptional
    typeName = relationship.destination
    self.options = options.sorted()
    self.hashModifier = hashModifier
    self.relationship = relationship
  }

  /// Whether the value is observed but never stored.
  package var isEphemeral: Bool { options.contains("ephemeral") }

  /// The type of the property's field in the store's records; `nil` when they have none.
  package var fieldType: FieldType? { isEphemeral || kind == .toMany ? nil : type }

  /// The type of the property's field in a snapshot of an object.
  package var snapshotType: FieldType? { isEphemeral ? nil : type }

  /// The property as far as it decides what the shape is.
  package var identity: PropertyShape {
    var shape = self
    shape.typeName = ""
    shape.frozenDefault = nil
    shape.lineage = 0
    return shape
  }
}
