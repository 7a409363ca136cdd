/// One stored property of a model, as `@Model` found it. The only table about properties: the schema,
/// predicates, sorts and dumps read it.
public struct PropertyDescription: @unchecked Sendable {
  package enum Kind {
    /// A type with a column form of its own, or an optional of one.
    case scalar(any PersistentScalar.Type)
    /// An enumeration (or other raw-representable type), stored as this raw type.
    case rawRepresentable(any PersistentScalar.Type)
    /// A value stored through its Codable conformance.
    case codable
    case toOne(any PersistentModel.Type)
    case toMany(any PersistentModel.Type)
  }

  package let name: String
  /// The property's place in the model's table, which is also its field number in records.
  package let index: Int
  package let keyPath: AnyKeyPath
  package let valueType: any Any.Type
  package let kind: Kind
  package let isOptional: Bool
  package let metadata: PropertyMetadata

  /// The initial value written in the declaration, evaluated anew at each call.
  package let defaultValue: (() -> Any)?
  /// Writes that value as the property's field; nil where there is none, and for relationships.
  package let encodeDefault: ((inout RecordWriter) -> Void)?
  /// How the context reaches a relationship without following it; nil for other kinds.
  package let relationship: RelationshipAccess?

  /// The name the property had in the previous version of the schema.
  package var originalName: String { metadata.originalName ?? name }

  package var isUnique: Bool {
    metadata.attributeOptions.contains(.unique) || metadata.relationshipOptions.contains(.unique)
  }

  package var isRelationship: Bool { relationship != nil }
}

/// The arguments of `@Attribute` or `@Relationship`, taken over by `@Model` as they were written.
public struct PropertyMetadata: @unchecked Sendable {
  package var attributeOptions: [Schema.Attribute.Option] = []
  package var relationshipOptions: [Schema.Relationship.Option] = []
  package var originalName: String?
  package var hashModifier: String?
  package var deleteRule = Schema.Relationship.DeleteRule.nullify
  package var minimumModelCount: Int?
  package var maximumModelCount: Int?
  package var inverse: AnyKeyPath?
  /// `inverse: nil` was written out: the relationship has no inverse and none is to be inferred.
  package var isOneWay = false

  public static var none: PropertyMetadata { PropertyMetadata() }

  public static func attribute(
    _ options: Schema.Attribute.Option..., originalName: String? = nil, hashModifier: String? = nil
  ) -> PropertyMetadata {
    var metadata = PropertyMetadata()
    metadata.attributeOptions = options
    metadata.originalName = originalName
    metadata.hashModifier = hashModifier
    return metadata
  }

  public static func relationship(
    _ options: Schema.Relationship.Option...,
    deleteRule: Schema.Relationship.DeleteRule = .nullify,
    minimumModelCount: Int? = 0, maximumModelCount: Int? = 0, originalName: String? = nil,
    inverse: AnyKeyPath? = nil, hashModifier: String? = nil
  ) -> PropertyMetadata {
    var metadata = PropertyMetadata()
    metadata.relationshipOptions = options
    metadata.deleteRule = deleteRule
    metadata.minimumModelCount = minimumModelCount
    metadata.maximumModelCount = maximumModelCount
    metadata.originalName = originalName
    metadata.inverse = inverse
    metadata.hashModifier = hashModifier
    return metadata
  }

  /// The same relationship, declared with `inverse: nil`.
  public var oneWay: PropertyMetadata {
    var metadata = self
    metadata.isOneWay = true
    return metadata
  }
}

/// A `#Index` or `#Unique` of a model.
public struct IndexDescription: @unchecked Sendable {
  package let keyPaths: [AnyKeyPath]
  package let isUnique: Bool

  public static func index<Model: PersistentModel>(
    _ model: Model.Type, _ indices: [PartialKeyPath<Model>]...
  ) -> [IndexDescription] {
    indices.map { IndexDescription(keyPaths: $0, isUnique: false) }
  }

  public static func index<Model: PersistentModel>(
    _ model: Model.Type, _ indices: Schema.Index<Model>.Types<Model>...
  ) -> [IndexDescription] {
    indices.map { index in
      switch index {
      case .binary(let keyPaths), .rtree(let keyPaths):
        IndexDescription(keyPaths: keyPaths, isUnique: false)
      }
    }
  }

  public static func unique<Model: PersistentModel>(
    _ model: Model.Type, _ constraints: [PartialKeyPath<Model>]...
  ) -> [IndexDescription] {
    constraints.map { IndexDescription(keyPaths: $0, isUnique: true) }
  }
}
