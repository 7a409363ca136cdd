import Testing

/// What declarations must have with them.
@Suite struct DeclarationTests {
  // MARK: Addresses without a length

  /// Types and functions that check no bounds. Buffers, which carry their count, may be used anywhere.
  private static let unchecked: Set<String> = [
    "UnsafeRawPointer", "UnsafeMutableRawPointer", "UnsafePointer", "UnsafeMutablePointer", "OpaquePointer",
    "Unmanaged",
    "unsafeBitCast", "unsafeDowncast", "unsafelyUnwrapped",
  ]

  /// Folders and files in which they may be used; each file says in a comment that begins with `Bounds:` why what it does
  /// with them is sound.
  private static let places = [
    "Sources/Roost/History/DefaultHistory.swift", "Sources/Roost/History/History.swift",
    "Sources/RoostKV/Checksums/", "Sources/RoostKV/Format/Reference.swift",
    "Sources/RoostKV/Integrity/Salvage/SalvageSource.swift", "Sources/RoostKV/Pages/",
    "Sources/RoostKV/Platform/", "Sources/RoostKV/Space/RunReader.swift",
    "Sources/RoostKV/Transactions/Checkpoint.swift", "Sources/RoostKV/Transactions/Freeze.swift",
    "Sources/RoostKV/Transactions/LargeTransaction.swift", "Sources/RoostKV/Transactions/Snapshots.swift",
    "Sources/RoostKV/Tree/",
  ]

  /// Files of the model layer that still lack the comment.
  private static let unexplained: Set<String> = [
    "Sources/Roost/Context/IdentityMap.swift", "Sources/Roost/Fetching/ContextCore+Fetching.swift",
    "Sources/Roost/Fetching/SortDescriptor+Bool.swift", "Sources/Roost/Models/NeutralValue.swift",
    "Sources/Roost/Models/ObservationProbe.swift", "Sources/Roost/Records/RecordProjection.swift",
    "Sources/Roost/Records/RecordView.swift",
  ]

  @Test("Addresses without a length are used where they are meant to be, each file with its argument")
  func addresses() {
    var unexplained: Set<String> = []
    for file in SourceTree.files("Sources") {
      guard let token = file.tokens.first(where: { Self.unchecked.contains($0.text) }) else { continue }
      let isPlace = Self.places.contains { file.path.hasPrefix($0) }
      #expect(
        isPlace || Self.unexplained.contains(file.path), "\(token.text) in \(file.path):\(token.line)")
      let isExplained = file.lines.contains { line in
        let text = line.drop { $0 == " " || $0 == "/" }
        return line.contains("//") && (text.hasPrefix("Bounds:") || text.hasPrefix("Bounds "))
      }
      if isExplained { continue }
      unexplained.insert(file.path)
      #expect(Self.unexplained.contains(file.path), "\(file.path) has no comment on bounds")
    }
    #expect(unexplained == Self.unexplained, "no exceptions any more")
  }

  // MARK: Comments

  /// Witnesses of the standard library's protocols, which say nothing new.
  private static let witnesses = [
    "init(rawValue", "var rawValue", "let rawValue", "var description", "var debugDescription", "static func ==",
    "static func <", "func hash(into", "func encode(to", "init(from ", "var errorDescription", "var failureReason",
    "var recoverySuggestion",
  ]

  /// Files of the model layer with public declarations that lack a comment.
  private static let uncommented: Set<String> = [
    "Container/ModelConfiguration", "Context/ModelActor", "Context/Settling+Model", "Fetching/FetchDescriptor",
    "Fetching/PredicateBuilders", "Macros", "Models/ModelState", "Models/PersistentIdentifier",
    "Models/PersistentModel",
    "Models/PropertyDescription+Stored", "Models/PropertyDescription", "Models/PropertyMask",
    "Models/RecordReader+Properties", "Models/RecordWriter+Properties", "Models/Slot", "Models/SlotResolution",
    "Records/PersistentScalar+Foundation", "Records/PersistentScalar", "Records/RecordFailure",
    "Schema/Schema+Entity", "Schema/Schema+Indexes", "Schema/Schema+Properties", "Schema/Schema+Relationship",
    "Schema/Schema",
  ]

  private static let declarations: Set<String> = [
    "class", "struct", "enum", "protocol", "actor", "func", "var", "let", "init", "subscript", "typealias", "macro",
    "associatedtype",
  ]

  /// Whether a line of code declares something public; not an extension, whose members say it themselves.
  private static func isPublic(_ line: String) -> Bool {
    var isPublic = false
    for word in line.split(separator: " ") {
      if word == "public" || word == "open" { isPublic = true }
      let keyword = word.prefix { $0.isLetter }
      if declarations.contains(String(keyword)) { return isPublic && !witnesses.contains { line.contains($0) } }
      if ["extension", "import"].contains(keyword) { return false }
    }
    return false
  }

  @Test("Every public declaration has a comment")
  func comments() {
    var files: Set<String> = []
    for file in SourceTree.files("Sources") where !file.path.contains("SwiftDataShim") {
      for (number, line) in file.code.enumerated() where Self.isPublic(line) {
        var above = number - 1
        // Attributes and remarks may stand between the comment and the declaration.
        func text(_ number: Int) -> Substring { file.lines[number].drop { $0 == " " } }
        while above >= 0,
          text(above).hasPrefix("@") || text(above).hasPrefix("#if")
            || text(above).hasPrefix("//") && !text(above).hasPrefix("///")
        {
          above -= 1
        }
        if above >= 0, text(above).hasPrefix("///") { continue }
        let short = file.path.replacing("Sources/Roost/", with: "").replacing(".swift", with: "")
        files.insert(short)
        #expect(Self.uncommented.contains(short), "\(file.path):\(number + 1) has no comment")
      }
    }
    #expect(files == Self.uncommented, "no exceptions any more")
  }
}
