/// What has to happen to a store's records, if anything, for the store to take over another schema.
package struct SchemaDifference: Sendable {
  /// What a change asks of the migration, from least to most.
  package enum Effect: Int, Comparable, Sendable {
    /// Nothing: records are read through it.
    case lazy
    /// Every record has to be looked at first: some may not fit.
    case scan
    /// A custom stage, unless there are no records.
    case custom
    /// The author has to say first whether a property was renamed or another one dropped.
    case unclear

    package static func < (left: Effect, right: Effect) -> Bool { left.rawValue < right.rawValue }
  }

  /// One difference.
  package struct Change: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
      case entityAdded
      case entityRemoved
      case parentChanged(from: String?, to: String?)
      case propertyAdded
      case propertyRemoved
      case propertyRenamed(from: String)
      case possibleRename(from: String)
      case becameOptional
      case becameRequired
      case typeChanged(from: FieldType, to: FieldType)
      case kindChanged(from: PropertyShape.Kind, to: PropertyShape.Kind)
      case destinationChanged(from: String, to: String)
      case rulesChanged
      case uniqueAdded([String])
      case uniqueRemoved([String])
      case indexAdded([String])
      case indexRemoved([String])
    }

    package let entity: String
    package let property: String?
    package let kind: Kind
    package let effect: Effect
    /// Whether stored values go.
    package let losesData: Bool
    /// What has to be done when the effect isn't `lazy`.
    package let remedy: String

    init(
      _ entity: String, _ property: String?, _ kind: Kind, _ effect: Effect = .lazy, losesData: Bool = false,
      remedy: String = ""
    ) {
      self.entity = entity
      self.property = property
      self.kind = kind
      self.effect = effect
      self.losesData = losesData
      self.remedy = remedy
    }
  }

  package let changes: [Change]

  /// The difference between the shapes of a store and a program.
  ///
  /// - Parameter records: how many records an entity has. Without records anything is lazy, and nothing is lost.
  package init(
    from stored: [EntityShape], to description: SchemaDescription, records: (_ entity: String) throws -> Int
  ) rethrows {
    let before = Dictionary(stored.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    var changes: [Change] = []
    for entity in description.entities {
      guard let old = before[entity.name] else {
        changes.append(Change(entity.name, nil, .entityAdded))
        continue
      }
      guard old.identityBytes != entity.shape.identityBytes else { continue }
      let count = try records(entity.name)
      changes += EntityComparison(old, entity, count: count).changes.map {
        count == 0 ? $0.withoutRecords : $0
      }
    }
    let names = Set(description.entities.map(\.name))
    for old in stored where !names.contains(old.name) {
      changes.append(Change(old.name, nil, .entityRemoved, losesData: try records(old.name) > 0))
    }
    self.changes = changes
  }

  /// What the whole asks of the migration.
  package var effect: Effect { changes.map(\.effect).max() ?? .lazy }
  package var isEmpty: Bool { changes.isEmpty }
  package var losses: [Change] { changes.filter(\.losesData) }
}

extension SchemaDifference.Change {
  /// The same change to an entity without records.
  fileprivate var withoutRecords: Self { Self(entity, property, kind, .lazy) }
}

extension SchemaDifference.Change: CustomStringConvertible {
  package var description: String {
    switch kind {
    case .entityAdded: "the model is new"
    case .entityRemoved: "the model is gone"
    case .parentChanged(let old, let new): "the superclass changes from \(old ?? "none") to \(new ?? "none")"
    case .propertyAdded: "the property is new"
    case .propertyRemoved: "the property is gone"
    case .propertyRenamed(let old): "the property was named \(old)"
    case .possibleRename(let old): "the property may be the former \(old), of the same type, which is gone"
    case .becameOptional: "the property becomes optional"
    case .becameRequired: "the property is no longer optional"
    case .typeChanged(let old, let new): "the property's type changes from \(old.name) to \(new.name)"
    case .kindChanged(let old, let new): "the property changes from \(old.rawValue) to \(new.rawValue)"
    case .destinationChanged(let old, let new): "the relationship's destination changes from \(old) to \(new)"
    case .rulesChanged: "the property's rules change"
    case .uniqueAdded(let names): "\(names.joined(separator: ", ")) must be unique"
    case .uniqueRemoved(let names): "\(names.joined(separator: ", ")) need not be unique any more"
    case .indexAdded(let names): "\(names.joined(separator: ", ")) gets an index"
    case .indexRemoved(let names): "\(names.joined(separator: ", ")) loses its index"
    }
  }
}
