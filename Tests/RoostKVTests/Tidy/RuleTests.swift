import Testing

/// Rules of SPEC.md, and where they are cited.
@Suite struct RuleTests {
  /// Rules that no test cites, and why.
  private static let untested = [
    "D-5": "how files have to be treated by their users",
    "X-4": "allows something, so nothing can fail",
    "G-3": "keeps names for the library; programs aren't hindered",
    "R-1": "names tables, which every test of the model layer uses",
  ]

  /// Ids in brackets: `[A-1]`, `[A-1, A-2]`.
  private static func cited(_ line: String) -> [String] {
    line.split(separator: "[", omittingEmptySubsequences: false).dropFirst().flatMap { part -> [String] in
      guard let end = part.firstIndex(of: "]") else { return [] }
      let ids = part[..<end].split(separator: ",").map { $0.drop { $0 == " " } }
      return ids.allSatisfy(isRule) ? ids.map(String.init) : []
    }
  }

  private static func isRule(_ text: Substring) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    return parts.count == 2 && parts[0].count == 1 && parts[0].allSatisfy { $0.isUppercase && $0.isASCII }
      && !parts[1].isEmpty && parts[1].allSatisfy { ("0"..."9").contains($0) }
  }

  /// The ids that SPEC.md defines: in bold.
  private func defined() throws -> [String] {
    try SourceTree.text("SPEC.md").split(separator: "\n").flatMap { line in
      line.split(separator: "**").filter { $0.hasPrefix("[") && $0.hasSuffix("]") }
        .flatMap { Self.cited(String($0)) }
    }
  }

  @Test("No rule is defined twice, and every one is cited by a test")
  func everyRuleIsTested() throws {
    let rules = try defined()
    #expect(rules.count > 90)
    #expect(Set(rules).count == rules.count)
    let tests =
      SourceTree.files("Tests") + SourceTree.files("Tools/model", ".py")
      + SourceTree.files("Tools/reader", ".py").filter { $0.name.hasPrefix("test_") }
    let cited = Set(tests.flatMap(\.lines).flatMap(Self.cited))
    for rule in rules where !cited.contains(rule) {
      #expect(Self.untested[rule] != nil, "[\(rule)] is cited by no test")
    }
    for rule in Self.untested.keys {
      #expect(rules.contains(rule) && !cited.contains(rule), "[\(rule)] is no exception any more")
    }
  }

  @Test("Every rule that is cited exists")
  func citedRulesExist() throws {
    let rules = Set(try defined())
    for file in SourceTree.files {
      for (number, line) in file.lines.enumerated() {
        for rule in Self.cited(line) { #expect(rules.contains(rule), "[\(rule)] in \(file.path):\(number + 1)") }
      }
    }
  }
}
