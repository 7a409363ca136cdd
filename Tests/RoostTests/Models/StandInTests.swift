import RoostKV
import TestSupport
import Testing

@testable import Roost

/// What is read where there is no value: of objects that don't exist, and of damaged records.
@Suite struct StandInTests {
  enum Shade: String, Codable { case light, dark }
  enum Form: Codable, Equatable { case circle(radius: Double, shade: Shade), line }
  indirect enum Tree: Codable { case branch(Tree, Tree), leaf }

  struct Style: Codable, Equatable {
    var shade: Shade
    var form: Form
    var names: [String: Int]
  }

  /// Its decoding refuses what is neutral.
  struct Email: Codable, Equatable {
    let text: String
    init(_ text: String) { self.text = text }
    init(from decoder: any Decoder) throws {
      text = try decoder.singleValueContainer().decode(String.self)
      guard text.contains("@") else {
        throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no address"))
      }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }
  }

  @Model final class Card {
    var style: Style
    var address = Email("nobody@nowhere")
    init(style: Style) { self.style = style }
  }

  @Model final class Contact {
    var email: Email
    init(_ text: String) { email = Email(text) }
  }

  private let folder = TemporaryDirectory()

  private func context() throws -> ModelContext {
    ModelContext(
      try ModelContainer(
        for: Card.self, Contact.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
  }

  @Test func neutralValues() {
    #expect(neutral(Style.self, depth: 0) == Style(shade: .light, form: .circle(radius: 0, shade: .light), names: [:]))
    #expect(neutral(Tree.self, depth: 0) == nil)
    #expect(neutral(Email.self, depth: 0) == nil)
    #expect(neutral([Email].self, depth: 0) == [])
  }

  @Test func objectsThatDoNotExistAreHarmless() throws {
    let context = try context()
    let identifier = try PersistentIdentifier.identifier(for: "x", entityName: "Card", primaryKey: 5)
    let card = try #require(context.model(for: identifier) as? Card)
    #expect(card.isDeleted)
    #expect(card.style.form == .circle(radius: 0, shade: .light))
    #expect(card.address == Email("nobody@nowhere"))
    let stranger = try PersistentIdentifier.identifier(for: "x", entityName: "Stranger", primaryKey: 5)
    #expect(context.model(for: stranger).isDeleted)
    let empty = ModelContext(
      try ModelContainer(for: Schema([]), configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    let nobody = empty.model(for: identifier)
    #expect(nobody.isDeleted && nobody.modelContext == nil)
    empty.insert(card)
    #expect(throws: RoostError.self) { try empty.save() }
  }

  @Test func damagedRecordsThrowOrHaveStandIns() throws {
    let context = try context()
    let (contact, card) = (Contact("a@b"), Card(style: .init(shade: .dark, form: .line, names: [:])))
    context.insert(contact)
    context.insert(card)
    try context.save()
    for (entity, number) in [("Contact", contact.persistentModelID.number), ("Card", card.persistentModelID.number)] {
      try context.container.engine.write(.relaxed) { transaction in
        let table = try transaction.table(TableNames.records(entity))
        var record = try #require(try transaction.get(RecordKey.bytes(number), in: table))
        // Bytes that no coded value has, neither as its head nor as text.
        for place in record.indices.suffix(record.count - 17) { record[place] = 0xFF }
        RecordHeader.setCommit(99, of: &record)
        try transaction.put(RecordKey.bytes(number), record, in: table)
      }
    }
    let other = ModelContext(context.container)
    let error = #expect(throws: RoostError.self) { try other.fetch(FetchDescriptor<Contact>()) }
    #expect(error?.code == .recordDamaged)
    #expect(throws: RoostError.self) { try context.fetch(FetchDescriptor<Contact>()) }
    #expect(contact.email == Email("a@b"))
    let there = try #require(try other.fetch(FetchDescriptor<Card>()).first)
    #expect(there.style.shade == .light)
    #expect(there.address == Email("nobody@nowhere"))
  }
}
