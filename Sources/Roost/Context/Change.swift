/// An object's unsaved state. The context keeps changed objects alive through it.
final class Change {
  enum Kind {
    case inserted
    case updated
    case deleted
  }

  let model: any PersistentModel
  let entity: EntityBinding
  let number: UInt64
  /// The order in which objects were first changed, which is that of saving and reporting.
  let sequence: Int
  /// The object was inserted since the last save: the store has no record of it.
  let isNew: Bool
  var kind: Kind

  /// The object as it was last saved, encoded; nil for a new one.
  let clean: [UInt8]?
  /// The commit that `clean` was read at.
  let commit: UInt64

  /// The to-many relationships that the program itself has changed: their order has to be written.
  var rearranged: Set<Int> = []

  /// The to-many relationships that only followed changes of their other side, which say all about them.
  var followed: Set<Int> = []

  /// The members of changed relationships whose inverses are right. Absent: empty for a new object,
  /// otherwise the relationship hasn't been changed.
  var settled: [Int: [UInt64]] = [:]

  /// The members that the store had when a to-many relationship was first changed.
  var stored: [Int: [UInt64]] = [:]

  init(
    _ model: any PersistentModel, _ entity: EntityBinding, _ number: UInt64, kind: Kind, clean: [UInt8]?,
    commit: UInt64, sequence: Int
  ) {
    self.model = model
    self.entity = entity
    self.number = number
    self.kind = kind
    self.clean = clean
    self.commit = commit
    self.sequence = sequence
    isNew = kind == .inserted
  }

  var identifier: PersistentIdentifier { entity.identifier(number) }

  /// The object's own record has to be written.
  var changesRecord: Bool { isNew || !model._$state.changes.isEmpty }

  /// The properties whose unsaved values must not be read over.
  var unsaved: PropertyMask {
    var properties = model._$state.changes
    for index in followed { properties.insert(index) }
    return properties
  }
}

/// A relationship of one object.
struct LinkKey: Hashable {
  let owner: UInt64
  let relationship: Int
}

/// Unsaved members of a to-many relationship that isn't loaded: they are laid over the stored ones when
/// it is.
struct LinkOverlay {
  private(set) var removed: Set<UInt64> = []
  private(set) var added: [UInt64] = []
  private var addedSet: Set<UInt64> = []

  mutating func add(_ number: UInt64) {
    removed.remove(number)
    if addedSet.insert(number).inserted { added.append(number) }
  }

  mutating func remove(_ number: UInt64) {
    if addedSet.remove(number) != nil { added.removeAll { $0 == number } }
    removed.insert(number)
  }

  /// The members as the context has them.
  func applied(to stored: [UInt64]) -> [UInt64] {
    let known = Set(stored)
    return stored.filter { !removed.contains($0) } + added.filter { !known.contains($0) }
  }
}
