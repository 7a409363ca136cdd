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
      case entityRenamed(from: String)
      case possibleEntityRename(from: String)
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
      case inverseAdded
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
    /// How many records the entity has.
    package let records: Int
    /// What has to be done when the effect isn't `lazy`.
    package let remedy: String

    init(
      _ entity: String, _ property: String?, _ kind: Kind, _ effect: Effect = .lazy, losesData: Bool = false,
      records: Int, remedy: String = ""
    ) {
      self.entity = entity
      self.property = property
      self.kind = kind
      self.effect = effect
      self.losesData = losesData
      self.records = records
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
    let match = EntityMatch(from: stored.map(\.name), to: description.entities)
    let before = Dictionary(
      stored.map { ($0.name, $0.renamed(match.names)) }, uniquingKeysWith: { first, _ in first })
    var removed = try match.removed.map { (name: $0, records: try records($0)) }
    var changes: [Change] = []
    for entity in description.entities {
      guard let name = match.stored[entity.name], let old = before[name] else {
        let isSaidNew = entity.originalName == entity.name
        let twin = removed.firstIndex { $0.records > 0 && before[$0.name]?.looksLike(entity.shape) ?? false }
        if let twin, !isSaidNew {
          changes.append(.possibleRename(of: entity.name, from: removed.remove(at: twin)))
        } else {
          changes.append(Change(entity.name, nil, .entityAdded, records: 0))
        }
        continue
      }
      let count = try records(name)
      if name != entity.name {
        changes.append(Change(entity.name, nil, .entityRenamed(from: name), records: count))
      }
      guard old.identityBytes != entity.shape.identityBytes else { continue }
      let comparison = EntityComparison(old, entity, count: count) { inverse, destination in
        guard let now = description.entities.first(where: { $0.name == destination }),
          let before = match.stored[destination].flatMap({ before[$0] }),
          let place = now.shape.properties.firstIndex(where: { $0.name == inverse }),
          let former = PropertyMatch(from: before, to: now).stored[place]
        else { return false }
        return before.properties[former].kind != .attribute
      }
      changes += comparison.changes.map {
        count == 0 ? $0.withoutRecords : $0
      }
    }
    changes += removed.map { name, records in
      Change(name, nil, .entityRemoved, losesData: records > 0, records: records)
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
  fileprivate var withoutRecords: Self { Self(entity, property, kind, .lazy, records: 0) }

  fileprivate static func possibleRename(of name: String, from old: (name: String, records: Int)) -> Self {
    Self(
      name, nil, .possibleEntityRename(from: old.name), .unclear, losesData: true, records: old.records,
      remedy:
        "write @Model(originalName: \"\(old.name)\") if it was renamed, or @Model(originalName: \"\(name)\") if it is a new model"
    )
  }
}

extension EntityShape {
  /// Whether the other entity could be this one under another name: their properties are named alike and
  /// of the same types.
  fileprivate func looksLike(_ other: EntityShape) -> Bool {
    func traits(_ shape: EntityShape) -> Set<[String]> {
      Set(shape.properties.map { [$0.name, $0.kind.rawValue, $0.type.name] })
    }
    return !properties.isEmpty && traits(self) == traits(other)
  }
}

/// Which stored entity each of the program's entities continues.
package struct EntityMatch: Sendable {
  /// By the program's name: the stored one.
  package let stored: [String: String]
  /// New names by old ones, of those that have another name.
  package let names: [String: String]
  /// Stored entities that none of the program's continues.
  package let removed: [String]

  /// An entity continues the one of its own name; else the one of its original name, unless another entity
  /// has that name now.
  package init(from stored: [String], to entities: [EntityDescription]) {
    let own = Set(entities.map(\.name))
    var matches: [String: String] = [:]
    var used: Set<String> = []
    for entity in entities where stored.contains(entity.name) {
      matches[entity.name] = entity.name
      used.insert(entity.name)
    }
    for entity in entities where matches[entity.name] == nil {
      guard let original = entity.originalName, !own.contains(original), stored.contains(original),
        used.insert(original).inserted
      else { continue }
      matches[entity.name] = original
    }
    self.stored = matches
    names = Dictionary(
      matches.filter { $0.key != $0.value }.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
    removed = stored.filter { !used.contains($0) }
  }
}

extension SchemaDifference.Change: CustomStringConvertible {
  package var description: String {
    switch kind {
    case .entityAdded: "the model is new"
    case .entityRemoved: "the model is gone"
    case .entityRenamed(let old): "the model was named \(old)"
    case .possibleEntityRename(let old): "the model may be the former \(old), of the same form, which is gone"
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
    case .inverseAdded: "the relationship is new and its inverse is not"
    case .rulesChanged: "the property's rules change"
    case .uniqueAdded(let names): "\(names.joined(separator: ", ")) must be unique"
    case .uniqueRemoved(let names): "\(names.joined(separator: ", ")) need not be unique any more"
    case .indexAdded(let names): "\(names.joined(separator: ", ")) gets an index"
    case .indexRemoved(let names): "\(names.joined(separator: ", ")) loses its index"
    }
  }
}
