/// Makes values of a migrated record from those it had before, one record at a time.
///
/// Properties that the transform doesn't set have the values a lightweight stage gives them.
public struct RecordTransform: Sendable {
  /// The entity whose records are transformed.
  package let entity: String
  package let old: any PersistentModel.Type
  package let new: any PersistentModel.Type
  /// Whether the transform is pure and can't fail, so that it may run whenever a record is read.
  package let isLazy: Bool
  package let apply: @Sendable (RecordView, inout RecordWriter) throws -> Void

  /// A transform that may run whenever a record is read. It must give the same values each time.
  public static func pure<Old: PersistentModel, New: PersistentModel>(
    from old: Old.Type, to new: New.Type,
    _ body: @escaping @Sendable (OldRecord<Old>, inout NewRecord<New>) -> Void
  ) -> RecordTransform {
    RecordTransform(entity: New._$entityName, old: old, new: new, isLazy: true) { view, writer in
      var record = NewRecord<New>(writer)
      body(OldRecord<Old>(view), &record)
      writer = record.writer
    }
  }

  /// A transform that may throw, which gives the whole migration up. Runs when the store is opened.
  public static func throwing<Old: PersistentModel, New: PersistentModel>(
    from old: Old.Type, to new: New.Type,
    _ body: @escaping @Sendable (OldRecord<Old>, inout NewRecord<New>) throws -> Void
  ) -> RecordTransform {
    RecordTransform(entity: New._$entityName, old: old, new: new, isLazy: false) { view, writer in
      var record = NewRecord<New>(writer)
      try body(OldRecord<Old>(view), &record)
      writer = record.writer
    }
  }
}

/// A record before it is migrated. Valid only inside the transform.
public struct OldRecord<Model: PersistentModel> {
  private let view: RecordView

  init(_ view: RecordView) {
    self.view = view
  }

  /// A property's value.
  public subscript<Value: PersistentScalar>(property: KeyPath<Model, Value>) -> Value {
    index(property).flatMap { view.scalar($0) } ?? Value._$neutral
  }

  /// The value of a property that is stored by its raw value; `nil` where there is no such case.
  public subscript<Value: RawRepresentable>(property: KeyPath<Model, Value>) -> Value?
  where Value.RawValue: PersistentScalar {
    index(property).flatMap { view.scalar($0, as: Value.RawValue.self) }.flatMap { Value(rawValue: $0) }
  }

  /// The value of a property that is stored through Codable. Throws when it can't be decoded.
  public func decoded<Value: Decodable>(_ property: KeyPath<Model, Value>) throws -> Value {
    let value = index(property).map { view.value($0) }
    if case .coded(let coded) = value { return try CodedDecoder.decode(Value.self, from: coded) }
    return try CodedDecoder.decode(Value.self, from: .null)
  }

  private func index(_ property: PartialKeyPath<Model>) -> Int? {
    Model._$properties.first { $0.keyPath == property }?.index
  }
}

/// A record as it will be after the migration.
public struct NewRecord<Model: PersistentModel> {
  fileprivate(set) var writer: RecordWriter

  init(_ writer: RecordWriter) {
    self.writer = writer
  }

  /// Gives a property a value.
  public mutating func set<Value: PersistentScalar>(_ property: KeyPath<Model, Value>, to value: Value) {
    if let index = index(property) { writer.scalar(value, at: index) }
  }

  /// Gives a property that is stored by its raw value a value.
  public mutating func set<Value: RawRepresentable>(_ property: KeyPath<Model, Value>, to value: Value)
  where Value.RawValue: PersistentScalar {
    if let index = index(property) { writer.scalar(value.rawValue, at: index) }
  }

  /// Gives a property that is stored through Codable a value.
  @_disfavoredOverload
  public mutating func set<Value: Encodable>(_ property: KeyPath<Model, Value>, to value: Value) {
    if let index = index(property) { writer.codable(value, at: index) }
  }

  private func index(_ property: PartialKeyPath<Model>) -> Int? {
    Model._$properties.first { $0.keyPath == property }?.index
  }
}
