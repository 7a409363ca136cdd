import Testing

/// The direction of the folders, as the table in ARCHITECTURE.md has them: one names only types of those above it.
@Suite struct LayerTests {
  private struct Layers {
    var base: String
    var order: [String]
    /// Types of lower folders that may be named, by the folder that names them.
    var allowed: [String: Set<String>]
  }

  private static let engine = Layers(
    base: "Sources/RoostKV",
    order: [
      "Platform", "Checksums", "Format", "Pages", "Tree", "Space", "Journal", "Transactions", "Integrity", "Keys",
      "API",
    ],
    // Plain values, which programs hand in and get, and the engine hands on.
    allowed: [
      "Format": ["StoreOptions"],
      "Journal": ["KeyRange"],
      "Transactions": ["Durability", "Entry", "KeyRange", "StoreOptions", "Table"],
      "Integrity": ["CheckReport", "Entry", "SalvageOptions", "SalvageProgress", "SalvageReport", "Table"],
      "Keys": ["ByteSource"],
    ])

  private static let models = Layers(
    base: "Sources/Roost",
    order: ["Models", "Records", "Schema", "Container", "History", "Context", "Fetching", "Migration"],
    allowed: [
      // A model reads and writes itself, and says what schema it has.
      "Models": ["PersistentScalar", "RecordReader", "RecordWriter", "Schema"],
      // Records are laid out by the shapes that the stored schema has.
      "Records": [
        "EntityDescription", "FrozenDefaults", "PropertyMatch", "PropertyShape", "RecordTransform", "StoredEntityShape",
      ],
      "Schema": ["ModelContext", "Relationship", "Change"],
      // Opening a container may migrate; a container has contexts; what is bound may be halfway through a migration.
      "Container": [
        "ContextCore", "LinkOrder", "MigrationReport", "MigrationRoute", "Migrator", "ModelContext", "ModelVersion",
        "ReadOnlyAdoption", "RecordUpgrade", "UnbuiltLinks",
      ],
      "Context": ["FetchDescriptor", "FormerTargets", "LinkBuilder", "MigrationTransaction"],
    ])

  private static let keywords: Set<String> = ["class", "struct", "enum", "protocol", "actor", "typealias"]

  @Test("A folder names no type of a folder below it", arguments: [true, false])
  func direction(_ isEngine: Bool) {
    let layers = isEngine ? Self.engine : Self.models
    let files = SourceTree.files(layers.base)
    #expect(files.count > 30)
    func folder(_ file: SourceFile) -> Int? {
      let parts = file.path.dropFirst(layers.base.count + 1).split(separator: "/")
      return parts.count > 1 ? layers.order.firstIndex(of: String(parts[0])) : nil
    }
    // Types declared at the beginning of a line, with the highest folder that has one of the name.
    var declared: [String: Int] = [:]
    for file in files {
      guard let folder = folder(file) else {
        #expect(file.path.split(separator: "/").count == 3, "\(file.path) is in no folder of the table")
        continue
      }
      for line in file.code where line.first.map({ $0 != " " && $0 != "}" }) == true {
        let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        for (word, name) in zip(words, words.dropFirst()) where Self.keywords.contains(String(word)) {
          declared[String(name)] = min(declared[String(name)] ?? .max, folder)
        }
      }
    }
    var used: [String: Set<String>] = [:]
    for file in files {
      guard let folder = folder(file) else { continue }
      let name = layers.order[folder]
      for token in file.tokens where !token.isMember {
        guard let lower = declared[token.text], lower > folder else { continue }
        used[name, default: []].insert(token.text)
        #expect(
          layers.allowed[name]?.contains(token.text) == true,
          "\(file.path):\(token.line) names \(token.text) of \(layers.order[lower])")
      }
    }
    for (name, types) in layers.allowed {
      #expect(types.subtracting(used[name] ?? []).isEmpty, "no longer needed for \(name)")
    }
  }

  @Test("ARCHITECTURE.md lists the folders in this order")
  func table() throws {
    let text = try SourceTree.text("ARCHITECTURE.md")
    for layers in [Self.engine, Self.models] {
      var place = text.startIndex
      for folder in layers.order {
        let found = text.range(of: "/\(folder)`", range: place..<text.endIndex)
        #expect(found != nil, "\(folder) isn't where it should be")
        place = found?.upperBound ?? place
      }
    }
  }
}
