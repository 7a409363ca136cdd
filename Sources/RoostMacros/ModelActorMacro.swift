import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@ModelActor`.
enum ModelActorMacro {}

extension ModelActorMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    guard declaration.is(ActorDeclSyntax.self) else {
      context.error("notAnActor", "@ModelActor can only be applied to an actor", at: declaration.introducer)
      return []
    }
    let access =
      declaration.modifiers.first {
        [.keyword(.public), .keyword(.package)].contains($0.name.tokenKind)
      }.map { $0.name.text + " " } ?? ""
    return [
      "\(raw: access)nonisolated let modelExecutor: any Roost.ModelExecutor",
      "\(raw: access)nonisolated let modelContainer: Roost.ModelContainer",
      """
      \(raw: access)init(modelContainer: Roost.ModelContainer) {
      let modelContext = Roost.ModelContext(modelContainer)
      self.modelExecutor = Roost.DefaultSerialModelExecutor(modelContext: modelContext)
      self.modelContainer = modelContainer
      }
      """,
    ]
  }
}

extension ModelActorMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard declaration.is(ActorDeclSyntax.self), !protocols.isEmpty else { return [] }
    return [try ExtensionDeclSyntax("extension \(type.trimmed): Roost.ModelActor {}")]
  }
}
