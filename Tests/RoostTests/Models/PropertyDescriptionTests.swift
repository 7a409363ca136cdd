import Foundation
import Testing

@testable import Roost

@Suite struct PropertyDescriptionTests {
  private func property(_ name: String, of model: any PersistentModel.Type) throws -> PropertyDescription {
    try #require(model._$properties.first { $0.name == name })
  }

  private func kind(_ name: String) throws -> String {
    switch try property(name, of: Everything.self).kind {
    case .scalar(let type): "scalar \(type)"
    case .rawRepresentable(let type): "raw \(type)"
    case .codable: "codable"
    case .toOne(let type): "one \(type)"
    case .toMany(let type): "many \(type)"
    }
  }

  @Test func kindsFollowFromTypes() throws {
    #expect(try kind("flag") == "scalar Bool")
    #expect(try kind("double") == "scalar Double")
    #expect(try kind("score") == "scalar Double")
    #expect(try kind("uuid") == "scalar UUID")
    #expect(try kind("optionalInt") == "scalar Optional<Int>")
    #expect(try kind("mood") == "raw String")
    #expect(try kind("optionalLevel") == "raw Int")
    for name in ["media", "address", "optionalAddress", "tags", "counts", "numbers"] {
      #expect(try kind(name) == "codable", "\(name)")
    }
    #expect(try kind("partner") == "one Everything")
    #expect(try kind("friends") == "many Everything")
    #expect(try kind("others") == "many Everything")
  }

  @Test func indicesCountFromZero() {
    for model in [Everything.self, Puppy.self, Keeper.self] as [any PersistentModel.Type] {
      #expect(model._$properties.map(\.index) == Array(model._$properties.indices))
    }
    #expect(Puppy._$properties.map(\.name) == ["name", "owner", "breed", "tag", "weeks"])
  }

  @Test func optionalityIsKnown() throws {
    #expect(try property("url", of: Everything.self).isOptional)
    #expect(try property("partner", of: Everything.self).isOptional)
    #expect(try property("others", of: Everything.self).isOptional)
    #expect(try !property("int", of: Everything.self).isOptional)
    #expect(try !property("friends", of: Everything.self).isOptional)
  }

  @Test func annotationsAreTakenOver() throws {
    let name = try property("name", of: Keeper.self)
    #expect(name.isUnique && name.originalName == "title" && !name.isRelationship)
    let picture = try property("picture", of: Keeper.self)
    #expect(picture.metadata.attributeOptions == [.externalStorage])
    #expect(picture.metadata.hashModifier == "v2" && picture.originalName == "picture")
    let animals = try property("animals", of: Keeper.self)
    #expect(animals.metadata.deleteRule == .cascade && animals.metadata.inverse == \Animal.owner)
    #expect(animals.isRelationship && !animals.metadata.isOneWay)
    let favourite = try property("favourite", of: Keeper.self)
    #expect(favourite.metadata.isOneWay && favourite.metadata.deleteRule == .nullify)
  }

  @Test func defaultsAreEvaluatedAtEachCall() throws {
    let uuid = try #require(try property("uuid", of: Everything.self).defaultValue)
    let (first, second) = (uuid() as? UUID, uuid() as? UUID)
    #expect(first != nil && first != second)
    #expect(try property("double", of: Everything.self).defaultValue?() as? Double == 0)
    #expect(try property("int", of: Everything.self).defaultValue == nil)
    #expect(try property("address", of: Everything.self).encodeDefault != nil)
    #expect(try property("friends", of: Everything.self).encodeDefault == nil)
    #expect(try property("index", of: Awkward.self).defaultValue?() as? Int == 4)
  }

  @Test func keyPathsEqualThoseOfASubclass() throws {
    let keyPaths = Puppy._$properties.map(\.keyPath)
    #expect(keyPaths == [\Puppy.name, \Puppy.owner, \Puppy.breed, \Puppy.tag, \Puppy.weeks])
    #expect(try property("name", of: Dog.self).keyPath == \Dog.name)
    #expect(try property("name", of: Animal.self).keyPath == \Animal.name)
    #expect(\Animal.name != \Dog.name)
  }

  @Test func modelsOfOneNameStayApart() {
    #expect(First.Habit._$entityName == "Habit" && Second.Habit._$entityName == "Habit")
    #expect(First.Habit._$properties[0].keyPath == \First.Habit.name)
    #expect(First.Habit._$properties[0].keyPath != Second.Habit._$properties[0].keyPath)
  }

  @Test func superentitiesAndIndexesAreInherited() {
    #expect(Animal._$superentity == nil && Dog._$superentity == Animal.self)
    #expect(Puppy._$superentity == Dog.self && Puppy._$entityName == "Puppy")
    #expect(Puppy._$indexes.map(\.isUnique) == [false, true, true])
    #expect(Puppy._$indexes[2].keyPaths == [\Dog.breed, \Dog.tag])
  }

  @Test func subclassesEncodeWhatTheyInherit() {
    let puppy = Puppy(weeks: 6)
    puppy.name = "Rex"
    puppy.breed = "pug"
    let copy = recoded(puppy)
    #expect(copy.name == "Rex" && copy.breed == "pug" && copy.tag == 9 && copy.weeks == 6)
    let erased: any PersistentModel.Type = Puppy.self
    #expect(withRecord(of: puppy) { erased.init(_$record: $0) } is Puppy)
  }
}
