/// Why a record, or a property of it, couldn't be read or written.
public struct RecordFailure: Error, Sendable, Hashable {
  /// The kinds of failure.
  public enum Reason: Sendable, Hashable {
    /// The record is too short for its shape or of an unknown format.
    case damagedRecord
    /// No shape of this number is in the store.
    case unknownShape(UInt32)
    /// The field's bytes lie outside the record or make no sense as its type.
    case damagedField
    /// The field is nil and the property can't be.
    case unexpectedNil
    /// The stored value isn't one of the property's type.
    case notConvertible
    /// The type's own decoding threw.
    case notDecodable(String)
    /// The type's own encoding threw.
    case notEncodable(String)
    /// A value of another type than the schema's was written.
    case wrongType
    /// The values together are longer than a record can be.
    case tooLarge
    /// Said by the model's code.
    case other(String)
  }

  /// The property's index in its model; `nil` when the whole record is concerned.
  public let property: Int?
  public let reason: Reason

  package init(property: Int?, reason: Reason) {
    self.property = property
    self.reason = reason
  }
}

extension RecordFailure: CustomStringConvertible {
  public var description: String {
    let place = property.map { "property \($0): " } ?? ""
    return place + reason.description
  }
}

extension RecordFailure.Reason: CustomStringConvertible {
  public var description: String {
    switch self {
    case .damagedRecord: "the record is damaged"
    case .unknownShape(let shape): "the record has the unknown shape \(shape)"
    case .damagedField: "the field is damaged"
    case .unexpectedNil: "the field is nil and has no default"
    case .notConvertible: "the stored value isn't one of the property's type"
    case .notDecodable(let error): "the value can't be decoded: \(error)"
    case .notEncodable(let error): "the value can't be encoded: \(error)"
    case .wrongType: "a value of another type than the schema's was written"
    case .tooLarge: "the values are longer than a record can be"
    case .other(let reason): reason
    }
  }
}
