import Foundation
import Roost
import TestSupport

/// Models with every kind of relationship, whose objects have unique values.
enum Town {
  @Model final class Person {
    @Attribute(.unique) var code: Int?
    var serial: Int
    @Relationship(inverse: \Pet.owner) var pets: [Pet] = []
    @Relationship(deleteRule: .cascade, inverse: \Paper.holder) var papers: [Paper] = []
    @Relationship(inverse: \Desk.user) var desk: Desk?
    @Relationship(inverse: \Club.people) var clubs: [Club] = []
    @Relationship(inverse: \Person.staff) var boss: Person?
    var staff: [Person] = []
    @Relationship(inverse: nil) var friend: Person?
    @Relationship(inverse: nil) var seen: [Pet] = []
    init(code: Int?, serial: Int) {
      self.code = code
      self.serial = serial
    }
  }

  @Model final class Pet {
    @Attribute(.unique) var code: Int?
    var serial: Int
    var owner: Person?
    init(code: Int?, serial: Int) {
      self.code = code
      self.serial = serial
    }
  }

  @Model final class Paper {
    #Index<Paper>([\.holder])
    @Attribute(.unique) var code: Int?
    var serial: Int
    var holder: Person?
    init(code: Int?, serial: Int) {
      self.code = code
      self.serial = serial
    }
  }

  @Model final class Desk {
    @Attribute(.unique) var code: Int?
    var serial: Int
    var user: Person?
    init(code: Int?, serial: Int) {
      self.code = code
      self.serial = serial
    }
  }

  @Model final class Club {
    @Attribute(.unique) var code: Int?
    var serial: Int
    var people: [Person] = []
    init(code: Int?, serial: Int) {
      self.code = code
      self.serial = serial
    }
  }

  static let schema = Schema([Person.self, Pet.self, Paper.self, Desk.self, Club.self])
}

/// A store in a file of its own that tests can look at from outside.
struct TownStore {
  let folder = TemporaryDirectory()
  var path: String { folder.file("town.store") }

  func container() throws -> ModelContainer {
    try ModelContainer(
      for: Town.schema, configurations: ModelConfiguration(url: URL(fileURLWithPath: path)))
  }
}
