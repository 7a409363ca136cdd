import RoostKV
import TestSupport
import Testing

/// Every recovered row is a true one, and every row on an unharmed page is recovered.
@Suite struct SalvageTests {
  /// Four stores, checkpointed, and the same with transactions in the journal.
  private static let fixtures = Result {
    try (1...4).flatMap { [try SalvageFixture(Seed($0)), try SalvageFixture(Seed($0), journal: 5)] }
  }

  /// How a page is destroyed.
  enum Harm: CaseIterable {
    case zeros, garbage, previous

    /// The file so harmed; `nil` when it would be the same.
    func apply(_ page: Int, _ image: [UInt8], _ fixture: SalvageFixture, _ generator: inout SplitMix64) -> [UInt8]? {
      let old = image.page(page)
      let new: [UInt8]? =
        switch self {
        case .zeros: [UInt8](repeating: 0, count: 4096)
        case .garbage: generator.bytes(4096)
        case .previous: fixture.older.reversed().map { $0.page(page) }.first { !$0.isEmpty && $0 != old }
        }
      guard let new, new != old else { return nil }
      return image.replacing(page: page, with: new)
    }
  }

  /// - Parameter isExact: whether nothing but rows of the newest state may come back, also where the report is in doubt.
  private func judge(
    _ salvaged: Salvaged, _ fixture: SalvageFixture, harmed: Set<Int>, isExact: Bool, isJournalHarmed: Bool = false,
    _ what: String
  ) {
    for table in salvaged.report.tables {
      let name = fixture.layout.names[table.id] ?? ""
      let mustBeNew =
        isExact || salvaged.report.origin == .header && table.uncertain == 0 && !isJournalHarmed
      let wrong = (salvaged.rows[table.id] ?? [:]).first { key, value in
        mustBeNew
          ? fixture.reference.tables[name]?[key] != value
          : !(fixture.history[name]?[key]?.contains(value) ?? false)
      }
      #expect(wrong == nil, "\(what): a false row in \(name), \(text(wrong?.key ?? []))")
    }
    let lost = fixture.layout.rows.first { row in
      row.pages.isDisjoint(with: harmed) && salvaged.rows[row.table]?[row.key] != row.value
        && !(fixture.journalled[fixture.layout.names[row.table] ?? ""]?.contains(row.key) ?? false)
    }
    if let lost {
      let found = salvaged.rows[lost.table]?[lost.key] == nil ? "missing" : "wrong"
      let older = salvaged.report.tables.first { $0.id == lost.table }
      Issue.record(
        "\(what): \(found) in table \(lost.table): \(text(lost.key)) on \(lost.pages), \(String(describing: older))")
    }
  }

  private func text(_ key: [UInt8]) -> String { String(decoding: key, as: UTF8.self) }

  @Test("Each page destroyed in turn", arguments: Seed.first(1))
  func eachPage(_ seed: Seed) throws {
    let fixture = try SalvageFixture(seed)
    #expect(fixture.layout.branches.count >= 2)
    #expect(fixture.layout.leaves.count > 6)
    #expect(!fixture.layout.runs.isEmpty)
    var generator = seed.generator
    for page in 0..<fixture.pageCount {
      // Pages that nothing needs are harmed in one way only.
      let kinds = fixture.layout.needed.contains(page) || page < 24 ? Harm.allCases : [.previous]
      for harm in kinds {
        guard let image = harm.apply(page, fixture.image, fixture, &generator) else { continue }
        let what = "\(seed), page \(page), \(harm)"
        let salvaged = try Salvaged(image)
        judge(salvaged, fixture, harmed: [page], isExact: true, what)
        let isNeeded =
          fixture.layout.leaves.contains(page) || fixture.layout.runs.contains(page)
          || fixture.layout.catalog.contains(page)
        #expect(!isNeeded || !salvaged.report.isComplete, "\(what): the loss isn't reported")
        if !isNeeded, !fixture.layout.journal.contains(page), !fixture.layout.branches.contains(page) {
          #expect(salvaged.report.isComplete, "\(what): \(salvaged.report)")
        }
        for table in salvaged.report.tables where fixture.layout.leaves.contains(page) {
          let lost = fixture.layout.rows.filter { $0.table == table.id && $0.pages.contains(page) }.count
          #expect(table.lostEntries == lost, "\(what): \(table)")
        }
      }
    }
  }

  @Test("An intact file is copied whole, with its journal")
  func intact() throws {
    let fixture = try SalvageFixture(Seed(5), journal: 6)
    let salvaged = try Salvaged(fixture.image)
    #expect(salvaged.report.isComplete)
    #expect(salvaged.report.journal.applied == 6)
    #expect(try salvaged.store.read { try ReferenceStore($0) } == fixture.reference)
  }

  @Test("Headers, catalog, journal, free map and other pages gone at once", arguments: Seed.first(40))
  func combinations(_ seed: Seed) throws {
    let fixture = try Self.fixtures.get()[Int(seed.value % 8)]
    var generator = seed.generator
    var image = fixture.image
    var harmed: Set<Int> = []
    func harm(_ pages: some Collection<Int>) {
      for page in pages {
        let kinds: [Harm] = pages.count > 2 ? [.zeros, .garbage] : Harm.allCases
        guard let kind = kinds.randomElement(using: &generator),
          let next = kind.apply(page, image, fixture, &generator)
        else { continue }
        image = next
        harmed.insert(page)
      }
    }
    let headers = generator.oneIn(2), journal = generator.oneIn(3)
    if headers {
      for page in 0...1 { image = image.replacing(page: page, with: [UInt8](repeating: 0, count: 4096)) }
    }
    if generator.oneIn(2) { harm(fixture.layout.catalog) }
    if journal { harm(fixture.layout.journal) }
    if generator.oneIn(3) { harm(fixture.layout.map) }
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
      harm([
        fixture.layout.leaves.union(fixture.layout.branches).union(fixture.layout.runs).sorted()
          .randomElement(using: &generator) ?? 30
      ])
    }
    let salvaged = try Salvaged(image, SalvageOptions(storeID: headers ? fixture.storeID : nil))
    judge(
      salvaged, fixture, harmed: harmed, isExact: false, isJournalHarmed: journal,
      "\(seed), headers \(headers), journal \(journal), pages \(harmed.sorted())")
  }

  @Test("A tree of three levels: each branch, and some leaves")
  func branches() throws {
    let fixture = try SalvageFixture(Seed(9), rounds: 2, keys: 4000, valueLength: 300)
    #expect(fixture.layout.branches.count > 3)
    var generator = SplitMix64(seed: 9)
    let pages = fixture.layout.branches.sorted() + fixture.layout.leaves.sorted().prefix(5)
    for page in pages {
      guard
        let image = Harm.previous.apply(page, fixture.image, fixture, &generator)
          ?? Harm.zeros.apply(page, fixture.image, fixture, &generator)
      else { continue }
      let salvaged = try Salvaged(image)
      judge(salvaged, fixture, harmed: [page], isExact: true, "page \(page)")
      #expect(salvaged.report.damagedPages == [UInt64(page)])
    }
  }

  @Test("An empty store: each page destroyed in turn, and both headers")
  func emptyStore() throws {
    let bytes = try Store.emptyFile(SalvageFixture.options())
    let id = bytes[16..<32].map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    for page in 0..<bytes.count / 4096 {
      let harmed = bytes.replacing(page: page, with: [UInt8](repeating: 0xA5, count: 4096))
      let salvaged = try Salvaged(harmed)
      #expect(salvaged.report.tables.isEmpty)
    }
    var headless = bytes
    for page in 0...1 { headless = headless.replacing(page: page, with: [UInt8](repeating: 0, count: 4096)) }
    let error = #expect(throws: StoreError.self) { _ = try Salvaged(headless) }
    #expect(error?.code == .headerDamaged)
    #expect(try Salvaged(headless, SalvageOptions(storeID: id)).report.origin == .scan)
  }

  @Test("The fields of a header whose checksum is wrong are tried")
  func guessedHeader() throws {
    let fixture = try SalvageFixture(Seed(3))
    var image = fixture.image
    for slot in [0, 4096] {
      image[slot + 100] ^= 1
      image[slot] ^= 1
    }
    let salvaged = try Salvaged(image)
    #expect(salvaged.report.origin == .scan)
    #expect(salvaged.report.storeID == fixture.storeID)
    #expect(try salvaged.store.read { try ReferenceStore($0) } == fixture.reference)
  }

  @Test("[J-4] Groups behind a gap are carried out, and the gap is reported")
  func gap() throws {
    let medium = SimulatedMedium(DiskImage(try Store.emptyFile(SalvageFixture.options())))
    let store = try Store.open(SimulatedDisk(medium), SalvageFixture.options())
    for number in 1...10 {
      try store.write { try $0.put("key \(number)", "nr=\(number).", in: try $0.createTableIfMissing("t")) }
    }
    var image = medium.killImage.bytes
    for lost in ["nr=5.", "nr=6."] {
      let place = try #require(image.firstRange(of: Array(lost.utf8))?.lowerBound)
      image[place] ^= 1
    }
    let salvaged = try Salvaged(image)
    #expect(salvaged.report.journal.missing == [5...6])
    #expect(salvaged.report.journal.applied == 8)
    #expect(!salvaged.report.isComplete)
    #expect(salvaged.rows[1]?.count == 8)
    // The last group alone isn't known to have been flushed: nothing tells its rot from a tear.
    image = medium.killImage.bytes
    image[try #require(image.firstRange(of: Array("nr=10.".utf8))?.lowerBound)] ^= 1
    #expect(try Salvaged(image).report.journal.applied == 9)
  }
}
