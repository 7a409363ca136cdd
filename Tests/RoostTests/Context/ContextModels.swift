import Roost

/// Models for the tests of contexts and relationships.
enum Zoo {
  @Model final class Keeper {
    @Attribute(.unique) var badge: Int
    var name: String
    @Relationship(deleteRule: .nullify, inverse: \Animal.keeper) var animals: [Animal] = []
    init(badge: Int, name: String) {
      self.badge = badge
      self.name = name
    }
  }

  @Model final class Animal {
    var name: String
    var weight: Double = 0
    var keeper: Keeper?
    @Relationship(deleteRule: .cascade, inverse: \Note.animal) var notes: [Note] = []
    @Relationship(inverse: \Food.eaters) var foods: [Food] = []
    init(name: String, keeper: Keeper? = nil) {
      self.name = name
      self.keeper = keeper
    }
  }

  @Model final class Note {
    var text: String
    var animal: Animal?
    init(_ text: String, animal: Animal? = nil) {
      self.text = text
      self.animal = animal
    }
  }

  @Model final class Food {
    var name: String
    var eaters: [Animal] = []
    init(_ name: String) { self.name = name }
  }

  /// Refers to one it doesn't know back.
  @Model final class Photo {
    var title: String
    @Relationship(inverse: nil) var subject: Animal?
    init(_ title: String, of subject: Animal? = nil) {
      self.title = title
      self.subject = subject
    }
  }

  static let schema = Schema([Keeper.self, Animal.self, Note.self, Food.self, Photo.self])

  static func container() throws -> ModelContainer {
    try ModelContainer(for: schema, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }
}

extension ModelContext {
  func all<T: PersistentModel>(_ type: T.Type) throws -> [T] { try fetch(FetchDescriptor<T>()) }
}
