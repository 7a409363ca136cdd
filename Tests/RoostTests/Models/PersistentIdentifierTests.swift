import Foundation
import Testing

@testable import Roost

@Suite struct PersistentIdentifierTests {
  private func identifier(_ number: UInt64, _ entity: String = "Dog", _ store: String? = "s")
    -> PersistentIdentifier
  {
    PersistentIdentifier(number: number, entityName: entity, storeIdentifier: store)
  }

  @Test func aDecodedIdentifierEqualsTheOriginal() throws {
    for original in [identifier(7), identifier(.max, "Ä", nil)] {
      let decoded = try JSONDecoder().decode(
        PersistentIdentifier.self, from: try JSONEncoder().encode(original))
      #expect(decoded == original && decoded.hashValue == original.hashValue)
      #expect(Set([original]).contains(decoded))
    }
  }

  @Test func identifiersDifferByStoreEntityAndNumber() {
    #expect(identifier(1) != identifier(2))
    #expect(identifier(1) != identifier(1, "Cat"))
    #expect(identifier(1) != identifier(1, "Dog", "t"))
    #expect(identifier(1) == identifier(1))
    #expect(identifier(1).id == identifier(1).id && identifier(1).id != identifier(2).id)
  }

  @Test func theOrderIsStoreEntityNumber() {
    let ordered = [
      identifier(9, "Dog", nil), identifier(8, "Cat", "s"), identifier(1, "Dog", "s"),
      identifier(2, "Dog", "s"), identifier(0, "Cat", "t"),
    ]
    #expect(ordered.reversed().sorted() == ordered)
  }

  @Test func anObjectWithoutContextHasATemporaryIdentifier() {
    let (one, two) = (Animal(name: "1"), Animal(name: "2"))
    #expect(one.persistentModelID == one.persistentModelID)
    #expect(one.persistentModelID != two.persistentModelID)
    #expect(one.persistentModelID.isTemporary && one.persistentModelID.entityName == "Animal")
  }

  @Test func primaryKeysAreWholeNumbers() throws {
    let made = try PersistentIdentifier.identifier(for: "s", entityName: "Dog", primaryKey: 5)
    #expect(made == identifier(5))
    #expect(throws: PersistentIdentifier.InvalidPrimaryKey.self) {
      try PersistentIdentifier.identifier(for: "s", entityName: "Dog", primaryKey: "five")
    }
  }
}
