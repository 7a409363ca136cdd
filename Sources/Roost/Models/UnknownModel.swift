/// Stands for an object whose model nobody knows: deleted, without properties, of no store.
final class UnknownModel: PersistentModel {
  var _$state = ModelState()

  init() { _$state.isDeleted = true }
  convenience init(_$record: borrowing RecordReader) { self.init() }

  func _$encode(_ writer: inout RecordWriter) {}
  func _$refresh(_ reader: borrowing RecordReader, _ properties: PropertyMask) {}

  static var _$properties: [PropertyDescription] { [] }
  static var _$indexes: [IndexDescription] { [] }
  static var _$entityName: String { "" }
  static var _$superentity: (any PersistentModel.Type)? { nil }
}
