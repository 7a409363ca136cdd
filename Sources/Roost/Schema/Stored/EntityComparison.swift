/// Compares an entity's stored shape with the program's.
struct EntityComparison {
  typealias Change = SchemaDifference.Change

  private let old: EntityShape
  private let entity: EntityDescription
  private let count: Int
  /// Whether a property of another entity was there before.
  private let wasThere: (_ inverse: String, _ destination: String) -> Bool
  private(set) var changes: [Change] = []

  init(
    _ old: EntityShape, _ entity: EntityDescription, count: Int,
    wasThere: @escaping (_ inverse: String, _ destination: String) -> Bool
  ) {
    self.wasThere = wasThere
    self.old = old
    self.entity = entity
    self.count = count
    compareProperties()
    compareParents()
    compareRules()
  }

  private mutating func add(
    _ property: String?, _ kind: Change.Kind, _ effect: SchemaDifference.Effect = .lazy,
    losesData: Bool = false,
    remedy: String = ""
  ) {
    changes.append(
      Change(entity.name, property, kind, effect, losesData: losesData, records: count, remedy: remedy))
  }

  // MARK: Properties

  private mutating func compareProperties() {
    let match = PropertyMatch(from: old, to: entity)
    var removed = match.removed.map { old.properties[$0] }
    for (index, property) in entity.shape.properties.enumerated() {
      if let before = match.stored[index].map({ old.properties[$0] }) {
        if before.name != property.name { add(property.name, .propertyRenamed(from: before.name)) }
        compare(before, property)
        continue
      }
      let isSaidNew = entity.originalNames[index] == property.name
      let twin = isSaidNew ? nil : removed.firstIndex { Self.mayBe(property, $0) }
      if let twin {
        add(
          property.name, .possibleRename(from: removed[twin].name), .unclear, losesData: true,
          remedy:
            "write originalName: \"\(removed[twin].name)\" if it was renamed, or originalName: \"\(property.name)\" if it is a new property"
        )
        removed.remove(at: twin)
      } else {
        addProperty(property)
      }
    }
    for property in removed { add(property.name, .propertyRemoved, losesData: property.fieldType != nil) }
  }

  /// Whether a new property could be a removed one under another name.
  private static func mayBe(_ new: PropertyShape, _ removed: PropertyShape) -> Bool {
    new.kind == removed.kind && new.type == removed.type && !new.isEphemeral && !removed.isEphemeral
      && new.relationship?.destination == removed.relationship?.destination
  }

  private mutating func addProperty(_ property: PropertyShape) {
    let hasValue =
      property.isOptional || property.kind == .toMany || property.isEphemeral
      || entity.initialized.contains(property.name)
    if property.kind == .toOne, let relationship = property.relationship, let inverse = relationship.inverse,
      wasThere(inverse, relationship.destination)
    {
      // Whom each record refers to is known by the other side alone.
      return add(property.name, .inverseAdded, .scan)
    }
    guard !hasValue else { return add(property.name, .propertyAdded) }
    add(
      property.name, .propertyAdded, .custom,
      remedy: "give it an initial value in its declaration, or make it optional")
  }

  private mutating func compare(_ before: PropertyShape, _ after: PropertyShape) {
    if before.kind != after.kind {
      compareKinds(before, after)
    } else if before.type != after.type {
      add(
        after.name, .typeChanged(from: before.type, to: after.type),
        Self.effect(from: before.type, to: after.type),
        remedy: "add a custom stage that makes the new values of the old ones")
    }
    if after.kind == .toMany {
      // A to-many relationship has no field that could be nil.
    } else if !before.isOptional && after.isOptional {
      add(after.name, .becameOptional)
    } else if before.isOptional && !after.isOptional {
      let hasDefault = entity.initialized.contains(after.name)
      add(
        after.name, .becameRequired, hasDefault ? .lazy : .scan,
        remedy: "give it an initial value, or set the missing values in a custom stage's willMigrate")
    }
    if let from = before.relationship?.destination, let to = after.relationship?.destination, from != to {
      add(
        after.name, .destinationChanged(from: from, to: to), .custom,
        remedy: "add a custom stage that makes the new relationships")
    }
    compareRest(before, after)
  }

  /// What doesn't touch records: delete rules, inverses, limits, options.
  private mutating func compareRest(_ before: PropertyShape, _ after: PropertyShape) {
    var before = before
    before.name = after.name
    before.kind = after.kind
    before.type = after.type
    before.isOptional = after.isOptional
    if let destination = after.relationship?.destination { before.relationship?.destination = destination }
    if before.relationship == nil || after.relationship == nil { before.relationship = after.relationship }
    if before.identity != after.identity { add(after.name, .rulesChanged) }
  }

  private mutating func compareKinds(_ before: PropertyShape, _ after: PropertyShape) {
    let effect: SchemaDifference.Effect
    switch (before.kind, after.kind) {
    case (.toOne, .toMany): effect = .lazy
    case (.toMany, .toOne): effect = .scan
    default: effect = .custom
    }
    add(
      after.name, .kindChanged(from: before.kind, to: after.kind), effect,
      remedy: "add a custom stage that makes the new values of the old ones")
  }

  /// What a change of a field's type asks for.
  static func effect(from old: FieldType, to new: FieldType) -> SchemaDifference.Effect {
    if let from = old.integerRange {
      if let to = new.integerRange {
        return to.contains(from.lowerBound) && to.contains(from.upperBound) ? .lazy : .scan
      }
      switch new {
      case .decimal: return .lazy
      case .double: return from.upperBound <= 1 << 53 ? .lazy : .scan
      case .float: return from.upperBound <= 1 << 24 ? .lazy : .scan
      default: return .custom
      }
    }
    switch (old, new) {
    case (.float, .double), (.url, .string): return .lazy
    case (.double, .float), (.string, .url): return .scan
    case (.double, _), (.float, _): return new.integerRange != nil ? .scan : .custom
    default: return .custom
    }
  }

  // MARK: Entity

  private mutating func compareParents() {
    if old.parent != entity.shape.parent {
      add(nil, .parentChanged(from: old.parent, to: entity.shape.parent))
    }
  }

  private mutating func compareRules() {
    let renamed = Dictionary(
      zip(entity.shape.properties, entity.originalNames).compactMap { property, original in
        original.map { ($0, property.name) }
      }, uniquingKeysWith: { first, _ in first })
    func now(_ lists: [[String]]) -> [[String]] { lists.map { $0.map { renamed[$0] ?? $0 } } }
    let (uniques, indexes) = (now(old.uniques), now(old.indexes))
    for names in entity.shape.uniques {
      if !uniques.contains(names) {
        addUnique(names)
      } else if names.contains(where: changesValues) {
        add(
          nil, .uniqueAdded(names), .scan, remedy: "remove duplicates in a custom stage's willMigrate")
      }
    }
    for names in uniques where !entity.shape.uniques.contains(names) { add(nil, .uniqueRemoved(names)) }
    for names in entity.shape.indexes where !indexes.contains(names) { add(nil, .indexAdded(names)) }
    for names in indexes where !entity.shape.indexes.contains(names) { add(nil, .indexRemoved(names)) }
  }

  /// Whether the property's values may have other index keys than before.
  private func changesValues(_ name: String) -> Bool {
    changes.contains { change in
      guard change.property == name else { return false }
      switch change.kind {
      case .becameRequired: return true
      case .typeChanged(let from, let to): return from.keyForm != to.keyForm
      default: return false
      }
    }
  }

  private mutating func addUnique(_ names: [String]) {
    let added = Set(changes.filter { $0.kind == .propertyAdded }.compactMap(\.property))
    // New properties have one and the same value in all records; nil is equal to nothing.
    let isSame = names.allSatisfy { added.contains($0) && entity.shape.property($0)?.isOptional == false }
    guard isSame, count > 1 else {
      return add(
        nil, .uniqueAdded(names), .scan, remedy: "remove duplicates in a custom stage's willMigrate")
    }
    add(
      nil, .uniqueAdded(names), .custom,
      remedy: "make it optional, or add a stage that gives each record a value of its own")
  }
}
