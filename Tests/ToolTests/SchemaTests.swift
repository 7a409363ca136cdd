import Foundation
import Roost
import RoostKV
import Testing

private enum LibraryV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Book.self, Author.self] }

  @Model final class Book {
    @Attribute(.unique) var isbn: String
    var pages: Int
    var author: Author?
    init(isbn: String, pages: Int, author: Author?) {
      self.isbn = isbn
      self.pages = pages
      self.author = author
    }
  }

  @Model final class Author {
    #Index<Author>([\.name])
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Book.author) var books: [Book] = []
    init(name: String) { self.name = name }
  }
}

private enum LibraryV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 1, 0)
  static var models: [any PersistentModel.Type] { [Book.self, Author.self] }

  @Model final class Book {
    @Attribute(.unique) var isbn: String
    var pages: Int
    var author: Author?
    var language = "en"
    init(isbn: String, pages: Int, author: Author?) {
      self.isbn = isbn
      self.pages = pages
      self.author = author
    }
  }

  @Model final class Author {
    #Index<Author>([\.name])
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Book.author) var books: [Book] = []
    init(name: String) { self.name = name }
  }
}

private enum LibraryPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [LibraryV1.self, LibraryV2.self] }
  static var stages: [MigrationStage] { [.lightweight(fromVersion: LibraryV1.self, toVersion: LibraryV2.self)] }
}

/// `schema` and `records` on a store of related models, halfway through a migration.
@Suite struct SchemaTests {
  let folder: TemporaryFolder
  let store: String
  let roost = Program.roost

  init() throws {
    folder = try TemporaryFolder()
    store = folder.path("library.store")
    try makeFirstVersion()
  }

  private func makeFirstVersion() throws {
    let container = try ModelContainer(
      for: Schema(versionedSchema: LibraryV1.self),
      configurations: ModelConfiguration(url: URL(fileURLWithPath: store)))
    let context = ModelContext(container)
    let author = LibraryV1.Author(name: "Ada")
    context.insert(author)
    context.insert(LibraryV1.Book(isbn: "1", pages: 100, author: author))
    context.insert(LibraryV1.Book(isbn: "2", pages: 200, author: author))
    try context.save()
  }

  /// Opens the store with the second version, and rewrites one record of three.
  private func migrateLazily() throws {
    let container = try ModelContainer(
      for: LibraryV2.Book.self, LibraryV2.Author.self, migrationPlan: LibraryPlan.self,
      configurations: ModelConfiguration(url: URL(fileURLWithPath: store), migration: .lazy))
    let context = ModelContext(container)
    let first = try context.fetch(FetchDescriptor<LibraryV2.Book>(predicate: #Predicate { $0.isbn == "1" })).first
    try #require(first).language = "de"
    try context.save()
  }

  private func entities() throws -> [String: [String: Any]] {
    let schema = try roost.run(["schema", store, "--json"], in: folder).json() as? [String: Any]
    let list = try #require(schema?["entities"] as? [[String: Any]])
    return Dictionary(list.map { ($0["name"] as? String ?? "", $0) }, uniquingKeysWith: { $1 })
  }

  @Test func entitiesAreDescribed() throws {
    let text = try roost.run(["schema", store], in: folder).text
    #expect(text.hasPrefix("schema 1.0.0, ready\n"))
    #expect(text.contains("\nBook: 2 records, shape "))
    #expect(text.contains("\n  unique: isbn\n"))
    #expect(text.contains("\n  index: name\n"))
    #expect(text.contains("to-many Book"))
    #expect(text.contains("inverse author, delete rule cascade"))

    let entities = try self.entities()
    #expect(entities["Book"]?["records"] as? Int == 2)
    #expect(entities["Book"]?["uniques"] as? [[String]] == [["isbn"]])
    #expect(entities["Author"]?["indexes"] as? [[String]] == [["name"]])
    let books = try #require((entities["Author"]?["properties"] as? [[String: Any]])?.last)
    #expect(books["kind"] as? String == "toMany")
    #expect(books["destination"] as? String == "Book")
    #expect(books["inverse"] as? String == "author")
    #expect(books["deleteRule"] as? String == "cascade")
  }

  @Test(arguments: ["records/Book", "links/Author/books", "counters", "history", "unique/Book/isbn"])
  func linesAreNotLoadedIntoModels(_ table: String) throws {
    let before = try roost.run(["dump", store], in: folder).text
    let lines = folder.path("lines")
    try "a line\tof text\n".write(toFile: lines, atomically: false, encoding: .utf8)
    let result = try roost.run(["load", store, table, "--tsv", lines], in: folder)
    #expect(result.status == 6)
    #expect(result.errors.contains("for its models"))
    #expect(try roost.run(["dump", store], in: folder).text == before)
    #expect(try roost.run(["load", store, "mine", "--tsv", lines], in: folder).status == 0)
  }

  @Test func olderShapesAreCounted() throws {
    try migrateLazily()
    let text = try roost.run(["schema", store], in: folder).text
    #expect(text.hasPrefix("schema 1.1.0, sweeping\n"))
    #expect(text.contains("\n  language   String  default \"en\"\n") || text.contains("  default \"en\"\n"))
    #expect(text.contains("\n  1 record of them in shape "))
    #expect(text.contains("\nearlier versions\n  1.0.0: "))

    let book = try #require(try entities()["Book"])
    let outdated = try #require((book["outdated"] as? [[String: Any]])?.first)
    #expect(outdated["records"] as? Int == 1)
    let names = (outdated["properties"] as? [[String: Any]])?.map { $0["name"] as? String }
    #expect(names == ["isbn", "pages", "author"])
    let info = try roost.run(["info", store, "--json"], in: folder).json() as? [String: Any]
    #expect(info?["schemaVersion"] as? String == "1.1.0")
    #expect(info?["schemaState"] as? String == "sweeping")
  }

  @Test func recordsAreReadable() throws {
    try migrateLazily()
    let books = try #require(
      try roost.run(["records", store, "Book", "--json"], in: folder).json() as? [[String: Any]])
    #expect(books.map { $0["current"] as? Bool } == [true, false])
    let values = books.compactMap { $0["values"] as? [String: Any] }
    #expect(values.map { $0["isbn"] as? String } == ["1", "2"])
    #expect(values.map { $0["language"] as? String } == ["de", nil])
    let authors = try #require(
      try roost.run(["records", store, "Author", "--json"], in: folder).json() as? [[String: Any]])
    let author = try #require(authors.first)
    #expect(values.allSatisfy { $0["author"] as? Int == author["id"] as? Int })
    #expect((author["values"] as? [String: Any])?["books"] as? [Int] == books.compactMap { $0["id"] as? Int })
    let text = try roost.run(["records", store, "Book"], in: folder).text
    #expect(text.contains("isbn: \"2\", pages: 200, author: "))
    #expect(text.contains("  (shape "))
    #expect(try roost.run(["records", store, "Magazine"], in: folder).status == 4)
  }

  @Test("[R-3] Members are listed in their order, by the tool and by the reader in Python alike")
  func membersInOrder() throws {
    let container = try ModelContainer(
      for: Schema(versionedSchema: LibraryV1.self),
      configurations: ModelConfiguration(url: URL(fileURLWithPath: store)))
    let context = ModelContext(container)
    let author = try #require(try context.fetch(FetchDescriptor<LibraryV1.Author>()).first)
    let books = try context.fetch(FetchDescriptor<LibraryV1.Book>(sortBy: [SortDescriptor(\.isbn)]))
    #expect(books.count == 2)
    author.books = []
    try context.save()
    author.books = books.reversed()
    context.insert(LibraryV1.Book(isbn: "0", pages: 5, author: author))
    try context.save()

    func isbns(_ identifiers: [Int]) throws -> [String] {
      let rows = try #require(
        try roost.run(["records", store, "Book", "--json"], in: folder).json() as? [[String: Any]])
      return identifiers.compactMap { identifier in
        let row = rows.first { $0["id"] as? Int == identifier }
        return (row?["values"] as? [String: Any])?["isbn"] as? String
      }
    }
    let authors = try #require(
      try roost.run(["records", store, "Author", "--json"], in: folder).json() as? [[String: Any]])
    let members = try #require((authors.first?["values"] as? [String: Any])?["books"] as? [Int])
    #expect(try isbns(members) == ["2", "1", "0"])
    #expect(members != members.sorted())

    let reader = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Tools/reader/roost_reader.py").path
    let python = Process()
    python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    python.arguments = ["python3", "-B", reader, "rows", store, "Author"]
    let output = Pipe()
    python.standardOutput = output
    try python.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    python.waitUntilExit()
    // Without Python there is nothing to compare.
    if python.terminationStatus == 127 { return }
    #expect(text.contains("books: [\(members.map(String.init).joined(separator: ", "))]"), "\(text)")
  }

  @Test func aSchemaThatMakesNoSenseIsAProblem() throws {
    let engine = try Store.open(store)
    try engine.write { transaction in
      let table = try transaction.table("\u{0}schema")
      try transaction.put("current", [0xFF], in: table)
    }
    try engine.close()
    let check = try roost.run(["check", store], in: folder)
    #expect(check.status == 1)
    #expect(check.text.hasPrefix("schema: "))
    #expect(try roost.run(["schema", store], in: folder).status == 5)
    let info = try roost.run(["info", store], in: folder)
    #expect(info.status == 0)
    #expect(info.text.contains("schema state      damaged: "))
  }
}
