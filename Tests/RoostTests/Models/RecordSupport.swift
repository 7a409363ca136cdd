@testable import Roost

/// A copy of an object, by way of a record.
func recoded<Model: PersistentModel>(_ model: Model) -> Model {
  withRecord(of: model) { Model(_$record: $0) }
}

/// A reader of an object's record.
func withRecord<Result>(
  of model: some PersistentModel, _ body: (borrowing RecordReader) -> Result
) -> Result {
  var writer = RecordWriter()
  model._$encode(&writer)
  return body(RecordReader(writer))
}
