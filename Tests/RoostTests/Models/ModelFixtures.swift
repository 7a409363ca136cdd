import Foundation

@testable import Roost

enum Mood: String, Codable { case calm, cross }
enum Level: Int, Codable, CaseIterable {
  case low = 1
  case high
}
enum Media: Codable, Equatable {
  case text(String)
  case count(Int)
  case none
}
struct Address: Codable, Equatable {
  var street = ""
  var number: Int?
}

typealias Score = Double

/// One property of every kind.
@Model final class Everything {
  var flag: Bool
  var int: Int
  var int8: Int8 = 0
  var int16: Int16 = 0
  var int32: Int32 = 0
  var int64: Int64 = 0
  var uint: UInt = 0
  var uint8: UInt8 = 0
  var uint16: UInt16 = 0
  var uint32: UInt32 = 0
  var uint64: UInt64 = 0
  var float: Float = 0
  var double = 0.0
  var string: String
  var data: Data = Data()
  var date: Date = Date.distantPast
  var uuid = UUID()
  var url: URL?
  var decimal: Decimal = 0
  var score: Score = 0
  var optionalInt: Int?
  var optionalDate: Date?
  var mood: Mood
  var optionalLevel: Level?
  var media: Media
  var address: Address = Address()
  var optionalAddress: Address?
  var tags = [String]()
  var counts: [String: Int] = [:]
  var numbers: Set<Int> = []
  var partner: Everything?
  var friends: [Everything] = []
  var others: [Everything]?
  @Transient var cache = 7
  @Attribute(.ephemeral) var volatile: [Int] = [7]

  init(flag: Bool, int: Int, string: String, mood: Mood, media: Media) {
    self.flag = flag
    self.int = int
    self.string = string
    self.mood = mood
    self.media = media
  }
}

/// Names that collide with what models inherit or with keywords.
@Model final class Awkward: CustomStringConvertible {
  var id: UUID
  var description: String = "a description"
  var hash: Int = 3
  var `class`: String = "class"
  var index = 4
  var registrar: String = "registrar" { didSet { value = registrar } }
  var newValue: Int = 1 { didSet { table = "\(oldValue) \(newValue)" } }
  var oldValue: Int = 1 { willSet { table = "\(newValue)" } }
  var value: String = "" { willSet(registrar) { properties = registrar } }
  var table: String = ""
  var state: Int = 8
  var base: Int = 9
  var properties: String = ""
  private(set) var sealed: Int = 5
  let constant = 6
  var doubled: Int { hash * 2 }
  init(id: UUID) { self.id = id }
}

/// A model that has the name of a generated type parameter.
@Model final class Root { var root: Root? }

/// A model without an initializer of its own.
@Model final class Bare {
  var name = "bare"
  var note: String?
}

@Model class Animal {
  #Index<Animal>([\.name])
  var name: String
  var owner: Keeper?
  init(name: String) { self.name = name }
}

@Model class Dog: Animal {
  #Unique<Dog>([\.tag], [\.breed, \.tag])
  var breed: String = "mutt"
  var tag: Int
  init(name: String, tag: Int) {
    self.tag = tag
    super.init(name: name)
  }
}

@Model final class Puppy: Dog {
  var weeks: Int
  @Transient var isAsleep = false
  init(weeks: Int) {
    self.weeks = weeks
    super.init(name: "puppy", tag: 9)
  }
}

@Model final class Keeper {
  @Attribute(.unique, originalName: "title") var name: String
  @Attribute(.externalStorage, hashModifier: "v2") var picture: Data?
  @Relationship(deleteRule: .cascade, inverse: \Animal.owner) var animals: [Animal] = []
  @Relationship(inverse: nil) var favourite: Animal?
  init(name: String) { self.name = name }
}

@Model final class Kennel {
  var dog: Dog
  var level: Level = Level.high
  init(dog: Dog) { self.dog = dog }
}

enum First {
  @Model final class Habit {
    var name: String
    init(name: String) { self.name = name }
  }
}
enum Second {
  @Model final class Habit {
    var name: String
    var createdAt: Date = Date.now
    init(name: String) { self.name = name }
  }
}

@Model final class Watched {
  var plain: Int = 1
  var other: Int = 1
  var list: [Int] = []
  var log: [String] = []
  var clamped: Int = 0 {
    willSet { log.append("will \(newValue)") }
    didSet(previous) {
      log.append("did \(previous)")
      clamped = min(clamped, 10)
    }
  }
  var mood: Mood = Mood.calm {
    didSet {
      if oldValue == mood { return }
      log.append("mood")
    }
  }
  init() {}
}
