import Foundation
import RoostKV

@testable import Roost

enum SchemaModelsV1 {
  @Model final class Author {
    @Attribute(.unique) var name: String
    @Relationship(deleteRule: .cascade, inverse: \Book.author) var books: [Book] = []
    var favourite: Book?
    init(name: String) { self.name = name }
  }

  @Model final class Book {
    #Index<Book>([\.title], [\.year, \.title])
    var title: String
    var year: Int = 1900
    var author: Author?
    var subjects: [Subject] = []
    var kind: Kind = Kind.novel
    @Attribute(.ephemeral) var isOpen: Bool = false
    init(title: String) { self.title = title }
  }

  @Model final class Subject {
    var name: String = ""
    var books: [Book] = []
    @Relationship(inverse: nil) var parent: Subject?
    init() {}
  }

  enum Kind: String, Codable { case novel, poem }
}

enum SchemaVersionOne: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 2, 3)
  static var models: [any PersistentModel.Type] { [SchemaModelsV1.Author.self] }
}

/// A schema of hand-made entities.
func description(_ entities: EntityDescription..., label: Schema.Version = .init(1, 0, 0))
  -> SchemaDescription
{
  SchemaDescription(label: label, entities)
}

func entity(
  _ name: String = "E", _ properties: PropertyShape..., originalNames: [String?] = [],
  initialized: Set<String> = [],
  uniques: [[String]] = [], indexes: [[String]] = []
) -> EntityDescription {
  EntityDescription(
    EntityShape(name, properties, uniques: uniques, indexes: indexes), originalNames: originalNames,
    initialized: initialized)
}
