import Foundation
import Testing

@testable import Roost

@Suite struct SchemaTests {
  private let schema = Schema(versionedSchema: SchemaVersionOne.self)

  private func relationship(_ entity: String, _ name: String) throws -> Schema.Relationship {
    try #require(schema.entitiesByName[entity]?.relationshipsByName[name])
  }

  @Test func reachesModelsThroughRelationships() {
    #expect(schema.entities.map(\.name) == ["Author", "Book", "Subject"])
    #expect(schema.version == Schema.Version(1, 2, 3))
    #expect(schema.problem == nil)
    #expect(schema.entity(for: SchemaModelsV1.Book.self)?.name == "Book")
  }

  @Test func describesProperties() throws {
    let book = try #require(schema.entitiesByName["Book"])
    #expect(book.properties.map(\.name) == ["title", "year", "author", "subjects", "kind", "isOpen"])
    let kind = try #require(book.attributesByName["kind"])
    #expect(
      kind.shape.type == .string && kind.typeName == "Kind"
        && kind.defaultValue as? SchemaModelsV1.Kind == .novel)
    #expect(book.attributesByName["isOpen"]?.isTransient == true)
    #expect(book.indices == [["title"], ["year", "title"]])
    let author = try #require(schema.entitiesByName["Author"])
    #expect(author.uniquenessConstraints == [["name"]])
    #expect(try relationship("Author", "books").deleteRule == .cascade)
    #expect(try relationship("Author", "favourite").isToOneRelationship)
    #expect(book.description.initialized == ["year", "kind", "isOpen"])
  }

  @Test func findsInverses() throws {
    #expect(try relationship("Author", "books").inverseName == "author")
    #expect(try relationship("Book", "author").inverseName == "books")
    // Written out, so that `favourite` is not taken for one side of it.
    #expect(try relationship("Author", "favourite").inverseName == nil)
    // The only ones that can be meant.
    #expect(try relationship("Book", "subjects").inverseName == "books")
    #expect(try relationship("Subject", "books").inverseName == "subjects")
    #expect(try relationship("Subject", "parent").inverseName == nil)
  }

  @Test func inheritedPropertiesComeFirst() throws {
    let schema = Schema([Puppy.self])
    let puppy = try #require(schema.entitiesByName["Puppy"])
    #expect(schema.entities.map(\.name).contains("Animal"))
    #expect(puppy.superentity?.name == "Dog")
    #expect(!puppy.inheritedProperties.isEmpty)
    let dog = try #require(schema.entitiesByName["Dog"])
    #expect(puppy.properties.map(\.name).starts(with: dog.properties.map(\.name)))
    #expect(dog.subentities.contains(puppy))
    for case let inherited as Schema.Relationship in puppy.inheritedProperties {
      #expect(dog.relationshipsByName[inherited.name]?.inverseName == inherited.inverseName)
    }
  }

  @Test func savesAndLoads() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: url) }
    try schema.save(to: url)
    let loaded = try Schema.load(from: url)
    #expect(loaded == schema)
    #expect(loaded.entities.map(\.shape) == schema.entities.map(\.shape))
    #expect(SchemaDescription(loaded).digest == SchemaDescription(schema).digest)
    #expect(loaded.hashValue == schema.hashValue)
  }

  @Test func twoModelsOfOneName() {
    let schema = Schema([First.Habit.self, Second.Habit.self])
    #expect(schema.problem?.code == .invalidSchema && schema.problem?.entity == "Habit")
    #expect(throws: RoostError.self) { try schema.validate() }
  }

  @Test func versionsOrder() {
    #expect(Schema.Version(1, 9, 9) < Schema.Version(2, 0, 0))
    #expect(Schema.Version(1, 0, 1) > Schema.Version(1, 0, 0))
    #expect("\(Schema.Version(1, 2, 3))" == "1.2.3")
    #expect(Schema.Version(-1, 0, 0) == Schema.Version(0, 0, 0))
  }

  /// SPEC.md [M-5] [M-6]
  @Test func digestsFollowShapesAlone() {
    let a = entity("A", PropertyShape("x", .int64, typeName: "Int"))
    let b = entity("B", PropertyShape("y", .string, frozenDefault: [1]))
    let other = entity("A", PropertyShape("x", .int64, typeName: "Count"))
    let changed = entity("A", PropertyShape("x", .int32))
    #expect(description(a, b).digest == description(b, other, label: .init(9, 0, 0)).digest)
    #expect(description(a, b).digest != description(changed, b).digest)
    #expect(description(a, b).digest != description(a).digest)
  }

  @Test func shapesSurviveTheirRows() throws {
    for entity in schema.entities {
      var shape = entity.shape
      shape.properties[0].frozenDefault = [1, 2]
      shape.properties[0].lineage = 7
      #expect(EntityShape(try CodedValue(shape.coded.bytes)) == shape)
    }
    let bytes = try #require(schema.entitiesByName["Book"]).shape.coded.bytes
    for place in bytes.indices {
      for flip: UInt8 in [1, 0x20, 0xFF] {
        var damaged = bytes
        damaged[place] ^= flip
        _ = (try? CodedValue(damaged)).flatMap { EntityShape($0) }.map { RecordLayout($0.properties) }
      }
    }
  }
}
