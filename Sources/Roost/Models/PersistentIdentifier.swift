import Synchronization

/// Names one object of one store.
///
/// An object gets its final identifier when it is inserted: saving doesn't change it, and an
/// identifier that was encoded and decoded again equals the original.
public struct PersistentIdentifier: Sendable {
  let space: IdentifierSpace

  /// The object's number, unique in the whole store and never given to another object.
  package let number: UInt64

  init(number: UInt64, in space: IdentifierSpace) {
    self.number = number
    self.space = space
  }

  package init(number: UInt64, entityName: String, storeIdentifier: String?) {
    self.init(
      number: number, in: IdentifierSpace(storeIdentifier: storeIdentifier, entityName: entityName))
  }

  /// The store that holds the object; nil while the identifier is temporary.
  public var storeIdentifier: String? { space.storeIdentifier }

  /// The name of the object's entity.
  public var entityName: String { space.entityName }

  /// Whether the object has not been inserted into a context when its identifier was asked for.
  public var isTemporary: Bool { space.storeIdentifier == nil }
}

/// What all identifiers of one entity in one store share. A context makes one for each entity, so
/// that an identifier is one number and one reference.
package final class IdentifierSpace: Sendable {
  package let storeIdentifier: String?
  package let entityName: String

  package init(storeIdentifier: String?, entityName: String) {
    self.storeIdentifier = storeIdentifier
    self.entityName = entityName
  }
}

extension PersistentIdentifier {
  private static let temporaryNumbers = Atomic<UInt64>(0)

  /// An identifier for an object without a context, unique in this process.
  static func temporary(entityName: String) -> PersistentIdentifier {
    let number = temporaryNumbers.wrappingAdd(1, ordering: .relaxed).newValue
    return PersistentIdentifier(number: number, entityName: entityName, storeIdentifier: nil)
  }

  /// Makes the identifier of an object whose store, entity and number are known.
  ///
  /// - Throws: `InvalidPrimaryKey` unless the key's description is a whole number.
  public static func identifier<Key: Comparable & Codable & Hashable & CustomStringConvertible>(
    for storeIdentifier: String, entityName: String, primaryKey: Key
  ) throws -> PersistentIdentifier {
    guard let number = UInt64(primaryKey.description) else {
      throw InvalidPrimaryKey(description: "'\(primaryKey)' is not the number of a stored object")
    }
    return PersistentIdentifier(
      number: number, entityName: entityName, storeIdentifier: storeIdentifier)
  }

  /// The error of `identifier(for:entityName:primaryKey:)`.
  public struct InvalidPrimaryKey: Error, CustomStringConvertible {
    public let description: String
  }
}

extension PersistentIdentifier: Hashable, Comparable {
  public static func == (lhs: PersistentIdentifier, rhs: PersistentIdentifier) -> Bool {
    guard lhs.number == rhs.number else { return false }
    if lhs.space === rhs.space { return true }
    return lhs.storeIdentifier == rhs.storeIdentifier && lhs.entityName == rhs.entityName
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(number) }

  /// Orders by store, then entity, then the order of insertion.
  public static func < (lhs: PersistentIdentifier, rhs: PersistentIdentifier) -> Bool {
    if lhs.space !== rhs.space {
      let (left, right) = (lhs.storeIdentifier ?? "", rhs.storeIdentifier ?? "")
      if left != right { return left < right }
      if lhs.entityName != rhs.entityName { return lhs.entityName < rhs.entityName }
    }
    return lhs.number < rhs.number
  }
}

extension PersistentIdentifier: Identifiable {
  /// The identifier as an opaque value.
  public struct ID: Hashable, Sendable {
    let identifier: PersistentIdentifier
  }

  public var id: ID { ID(identifier: self) }
}

extension PersistentIdentifier: Codable {
  private enum CodingKeys: String, CodingKey {
    case store
    case entity
    case number
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      number: try container.decode(UInt64.self, forKey: .number),
      entityName: try container.decode(String.self, forKey: .entity),
      storeIdentifier: try container.decodeIfPresent(String.self, forKey: .store))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(storeIdentifier, forKey: .store)
    try container.encode(entityName, forKey: .entity)
    try container.encode(number, forKey: .number)
  }
}

extension PersistentIdentifier: CustomDebugStringConvertible {
  public var debugDescription: String { "\(entityName) \(number) in \(storeIdentifier ?? "no store")" }
}
