/// How the records of one stored shape are read as the program's model: for each of the program's properties
/// the stored field, if there is one, and the value that stands in where there is none or it is nil.
///
/// Made once for a stored shape and a program's entity; reading through it costs the same whether
/// the record is of the current shape or an older one.
package final class RecordProjection: Sendable {
  /// Where a property's value comes from.
  struct Source: Sendable {
    enum Place: UInt8, Sendable {
      /// The stored records have no such field.
      case absent
      case fixed
      case variable
    }

    var place = Place.absent
    /// The stored field's type.
    var type: FieldType
    var width: UInt8 = 0
    var nullMask: UInt8 = 0
    var nullByte: UInt32 = 0
    var position: UInt32 = 0
    /// The default's bytes, of `defaultType`, in the projection's `defaults`.
    var defaultStart = 0
    var defaultCount: Int?
    var defaultType: FieldType
  }

  /// The stored shape's number.
  package let shape: UInt32
  /// Whether every stored field is where, and of the type, that the program's own layout would have it.
  package let isIdentity: Bool

  nonisolated(unsafe) let sources: UnsafePointer<Source>
  let sourceCount: Int
  nonisolated(unsafe) let defaults: UnsafeRawBufferPointer
  /// What the stored records must at least hold.
  let fixedEnd: Int
  let variableCount: Int
  /// By property index; `nil` for attributes.
  let spaces: [IdentifierSpace?]

  /// - Parameters:
  ///   - stored: the shape that the records were written in.
  ///   - entity: the program's entity.
  ///   - defaults: what was settled when the program's schema was adopted.
  ///   - isSnapshot: for reading snapshots; `stored` is then the program's own shape.
  ///   - space: gives the identifiers of an entity.
  package init(
    from stored: StoredEntityShape, to entity: EntityDescription, defaults: FrozenDefaults,
    isSnapshot: Bool = false, space: (String) -> IdentifierSpace
  ) {
    shape = stored.id
    let layout = RecordLayout(stored.shape.properties, isSnapshot: isSnapshot)
    fixedEnd = layout.fixedEnd
    variableCount = layout.variableCount
    let own = isSnapshot ? entity.snapshotLayout : entity.layout
    let match = PropertyMatch(from: stored.shape, to: entity, settled: defaults)
    var table: [Source] = []
    var blob: [UInt8] = []
    for (index, property) in entity.shape.properties.enumerated() {
      let source = match.stored[index].flatMap { layout.fields[$0] }
      table.append(
        Self.source(for: property, at: source, default: defaults[property.name], in: &blob))
    }
    sources = Self.copy(table)
    sourceCount = table.count
    self.defaults = Self.copy(blob)
    spaces = entity.shape.properties.map { $0.relationship.map { space($0.destination) } }
    isIdentity =
      own.fields.elementsEqual(
        match.stored.map { $0.flatMap { layout.fields[$0] } }, by: { $0?.bits == $1?.bits })
      && layout.fields.count { $0 != nil } == own.fields.count { $0 != nil }
  }

  /// Whether the stored records hold the number of one object for this property.
  func holdsTarget(_ index: Int) -> Bool {
    index >= 0 && index < sourceCount && sources[index].place == .fixed
      && sources[index].type == .identifier
  }

  deinit {
    sources.deallocate()
    defaults.deallocate()
  }

  private static func source(
    for property: PropertyShape, at field: RecordLayout.Field?, default value: [UInt8]?,
    in blob: inout [UInt8]
  ) -> Source {
    let type = property.snapshotType ?? .coded
    var source = Source(type: type, defaultType: type)
    if let field {
      source.place = field.isFixed ? .fixed : .variable
      source.type = field.type
      source.width = field.width
      source.nullMask = field.nullMask
      source.nullByte = field.nullByte
      source.position = field.position
    }
    // A property that may be nil reads nil where nil was stored, and its default only where nothing was.
    if let value, field == nil || !property.isOptional {
      source.defaultStart = blob.count
      source.defaultCount = value.count
      blob += value
    }
    return source
  }

  private static func copy(_ table: [Source]) -> UnsafePointer<Source> {
    let memory = UnsafeMutablePointer<Source>.allocate(capacity: max(table.count, 1))
    memory.initialize(from: table, count: table.count)
    return UnsafePointer(memory)
  }

  private static func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
    memory.copyBytes(from: bytes)
    return UnsafeRawBufferPointer(memory)
  }
}

extension RecordLayout.Field {
  /// All that a field is, for comparison.
  fileprivate var bits: [UInt32] { [UInt32(type.rawValue), nullByte, UInt32(nullMask), position] }
}
