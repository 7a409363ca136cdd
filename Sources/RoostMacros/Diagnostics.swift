import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// An error in the use of a macro.
struct MacroError: DiagnosticMessage {
  let message: String
  let id: String

  var diagnosticID: MessageID { MessageID(domain: "Roost", id: id) }
  var severity: DiagnosticSeverity { .error }
}

private struct Remedy: FixItMessage {
  let message: String
  let id: String

  var fixItID: MessageID { MessageID(domain: "Roost", id: id) }
}

extension MacroExpansionContext {
  func error(_ id: String, _ message: String, at node: some SyntaxProtocol, fixIts: [FixIt] = []) {
    diagnose(
      Diagnostic(node: Syntax(node), message: MacroError(message: message, id: id), fixIts: fixIts))
  }
}

extension FixIt {
  static func exchange(
    _ old: some SyntaxProtocol, for new: some SyntaxProtocol, _ message: String
  ) -> FixIt {
    FixIt.replace(message: Remedy(message: message, id: "exchange"), oldNode: old, newNode: new)
  }

  /// Puts a word in a token's place, with the same space around it.
  static func exchange(_ old: TokenSyntax, for text: String, _ message: String) -> FixIt {
    exchange(old, for: old.with(\.tokenKind, .identifier(text)), message)
  }
}
