import Testing

@Suite(.enabled(if: Fixture.buildFolder != nil))
struct ModelDiagnosticsTests {
  private func check(_ source: String) throws {
    let fixture = Fixture(source: source)
    let output = try fixture.compile()
    #expect(output.errors == fixture.expectedErrors, "\(output.text)")
    for fix in fixture.expectedFixes {
      #expect(output.notes.contains(fix), "\(fix) not offered: \(output.notes)")
    }
  }

  @Test func onlyClassesAreModels() throws {
    try check(
      """
      import SwiftData
      // A struct and an actor can become classes.
      @Model struct A { var a = 1 } \
      // error: @Model can only be applied to a class: models have identity and are shared \
      // fix: make it a final class
      @Model actor B { var a = 1 } \
      // error: @Model can only be applied to a class: models have identity and are shared \
      // fix: make it a final class
      @Model enum C { case a } \
      // error: @Model can only be applied to a class: models have identity and are shared
      @Model final class D<T> { var a = 1 } \
      // error: a model class can't be generic: its entity has one fixed shape
      enum E<T> {
        @Model final class F { var a = 1 } \
      // error: a model class can't be generic: its entity has one fixed shape
      }
      """)
  }

  @Test func modelsBelongToNoFunction() throws {
    try check(
      """
      import SwiftData
      func f() {
        @Model final class Local { var a = 1 } \
      // error: a model class can't be declared in a function: move it to file or type scope \
      // error: local type cannot have attached extension macro
      }
      """)
  }

  @Test func recordsHaveOneKindOfNil() throws {
    let message = "a stored property of a model can't be an optional of an optional: records have one kind of nil"
    try check(
      """
      import SwiftData
      @Model final class A {
        var a: Int?? \
      // error: \(message)
        var b: Optional<String?> \
      // error: \(message)
        var c: (Int?)? = 3 \
      // error: \(message)
        @Transient var d: Int?? = nil
        var e: [Int?]? = nil
        init() {}
      }
      """)
  }

  @Test func modelsBelongToNoActor() throws {
    try check(
      """
      import SwiftData
      @MainActor @Model final class A { var a = 1 } \
      // error: a model class can't be isolated to the main actor: its objects belong to whichever context \
      they are in \
      // fix: remove '@MainActor'
      """)
  }

  @Test func onlyActorsAreModelActors() throws {
    try check(
      """
      import SwiftData
      @ModelActor final class A {} // error: @ModelActor can only be applied to an actor
      """)
  }

  @Test func propertiesMustBeStorable() throws {
    try check(
      """
      import SwiftData
      @Model final class A {
        let fixed: Int \
      // error: a stored property of a model must be a 'var', so that its value can be read from the \
      store; use 'private(set) var' to keep others from changing it \
      // fix: make it a 'var'
        lazy var delayed: Int = 3 \
      // error: a stored property of a model can't be lazy: its value comes from the store \
      // fix: remove 'lazy'
        weak var other: A? \
      // error: a stored property of a model can't be weak: a relationship to another model doesn't keep \
      it in memory, and other objects can't be stored \
      // fix: remove 'weak'
        var pair: (Int, Int) = (1, 2) \
      // error: a stored property of a model can't be a tuple: use a struct that conforms to Codable
        var (x, y) = (1, 2) // error: declare each stored property of a model on its own
        var m = 1, n = 2 // error: declare each stored property of a model on its own
        var untyped // error: a stored property of a model needs a type or an initial value \
      // error: type annotation missing in pattern \
      // fix: add a type
        init() { fixed = 1 }
      }
      """)
  }

  @Test func annotationsMustMakeSense() throws {
    try check(
      """
      import SwiftData
      @Model final class A {
        @Transient var a: Int \
      // error: 'a' isn't stored, so it needs an initial value for objects that are read from the store
        @Attribute(.ephemeral) var b: Int \
      // error: 'b' isn't stored, so it needs an initial value for objects that are read from the store
        @Transient var c: Int?
        @Attribute @Relationship var d: A? // error: a property is either an attribute or a relationship
        @Attribute(originalName: "o") var e = 0
        @Attribute(originalName: "o") var f = 0 // error: 'e' and 'f' both have the original name 'o'
        #if true
        var g: Int = 1 \
      // error: a stored property of a model can't be inside '#if': declare the class once for each condition
        @Transient var h = 1
        #endif
        init(a: Int) { self.a = a; self.b = a }
      }
      """)
  }

  @Test func unsupportedTypesAreNamed() throws {
    let output = try Fixture(
      source: """
        import SwiftData
        struct Plain {}
        @Model final class A {
          var plain: Plain = Plain()
          var function: () -> Void = {}
          var models: Set<A> = []
          var fine: [String: [Int?]] = [:]
          init() {}
        }
        """
    ).compile()
    let message = "a model's stored property must be of a standard type, Codable, or another model"
    let lines = output.text.split(separator: "\n")
    #expect(lines.filter { $0.contains("error: ") }.count == 3, "\(output.text)")
    for name in ["plain", "function", "models"] {
      let index = lines.firstIndex { $0.contains("Root._$stored_\(name)") }
      #expect(index.map { lines[$0 - 1].contains(message) } ?? false, "\(name): \(output.text)")
    }
  }

  /// Every way of writing a model that must compile, without a warning, in every mode.
  @Test(arguments: Fixture.Mode.allCases)
  func modelsCompileInEveryMode(_ mode: Fixture.Mode) throws {
    let output = try Fixture(source: Self.accepted).compile(mode)
    #expect(output.errors.isEmpty && output.warnings.isEmpty, "\(output.text)")
    #expect(!output.text.contains("error:") && !output.text.contains("warning:"), "\(output.text)")
  }

  private static let accepted = """
    import SwiftData

    enum HabitSchemaV1 {
        static var models: [any PersistentModel.Type] { [Habit.self] }

        @Model final class Habit {
            var name: String
            var doneToday: Bool
            init(name: String, doneToday: Bool = false) {
                self.name = name
                self.doneToday = doneToday
            }
        }
    }

    enum HabitSchemaV2 {
        static var models: [any PersistentModel.Type] { [Habit.self] }

        @Model final class Habit {
            var name: String
            var doneToday: Bool
            var createdAt: Date = Date.now   // new properties must carry a default value
            init(name: String, doneToday: Bool = false, createdAt: Date = .now) {
                self.name = name
                self.doneToday = doneToday
                self.createdAt = createdAt
            }
        }
    }

    public enum Colour: Int, Codable, Sendable { case red, green }

    @Model open class Animal {
      #Index<Animal>([\\.name], [\\.name, \\.legs])
      #Index<Animal>(.binary([\\.legs]), .rtree([\\.name]))
      #Unique<Animal>([\\.name])
      public var name: String
      public var legs = 4
      public init(name: String) { self.name = name }
    }

    @Model public class Dog: Animal {
      public var breed: String = "mutt" { didSet { note = oldValue } }
      public var note: String = ""
      public private(set) var friends: [Animal] = []
      public init(breed: String, name: String) {
        self.breed = breed
        super.init(name: name)
      }
    }

    @Model public final class Puppy: Dog {
      var weeks: Int
      var keeper: Keeper!
      @Relationship(.unique, deleteRule: .deny, inverse: \\Keeper.puppy) var other: Keeper?
      init(weeks: Int) {
        self.weeks = weeks
        super.init(breed: "", name: "")
      }
    }

    @Model final class Keeper: CustomStringConvertible, Comparable {
      @Attribute(.unique, .spotlight, originalName: "title", hashModifier: "1") var name: String
      var id: UUID
      var hash: Int = 1
      var colours: [Colour: Int] = [:]
      var optional: Optional<Int>
      @Attribute(.externalStorage) var data: Data?
      @Relationship(minimumModelCount: 0, maximumModelCount: 3) var puppy: Puppy?
      @Transient var cache: [String: Animal] = [:]
      var required: Animal
      let constant = 3
      var `default` = true
      private var secret: Int?
      var description: String { name }
      static func < (lhs: Keeper, rhs: Keeper) -> Bool { lhs.name < rhs.name }
      init(required: Animal, name: String = "") {
        self.required = required
        self.id = UUID()
        self.name = name
      }
      convenience init() {
        self.init(required: Animal(name: "x"))
        name = "convenient"
      }
    }

    extension Animal {
      @Model final class Nested {
        var animal: Animal?
        var negative = -1.5
        var date = Date()
      }
    }

    @ModelActor public actor Worker {
      func count() throws -> Int { try modelContext.fetchCount(FetchDescriptor<Animal>()) }
    }

    let filter = #Predicate<Puppy> { $0.name == "x" && $0.weeks > 3 && $0.keeper?.name == "y" }
    nonisolated func entity<Model: PersistentModel>(_ type: Model.Type) -> String { type._$entityName }
    nonisolated func touch(_ habit: HabitSchemaV2.Habit) -> String {
      habit.doneToday = true
      return entity(HabitSchemaV1.Habit.self)
    }
    """
}
