import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Model`.
///
/// Each stored property becomes a computed one over a stored one whose name begins with `_$stored_`
/// (`PropertyMacro`). The class gains its state, an initializer that decodes a record, a function that
/// encodes one, and the table of its properties. The generated code is straight-line: which form a
/// property has in a record follows from overloads of the runtime, for a macro sees names and not types.
enum ModelMacro {}

extension ModelMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let checks = ModelChecks(context: context)
    guard let model = checks.modelClass(declaration) else { return [] }
    checks.checkProperties(of: model)
    // A class that inherits from a model conforms already.
    let isRoot =
      protocols.contains { $0.trimmedDescription.hasSuffix("PersistentModel") }
      || model.inheritedTypes.contains { $0.trimmedDescription.hasSuffix("PersistentModel") }
    return ModelMembers(
      model, parent: isRoot ? nil : model.inheritedTypes.first, originalName: node.argument("originalName")
    ).declarations
  }
}

extension ModelMacro: MemberAttributeMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
  ) throws -> [AttributeSyntax] {
    guard let model = declaration.as(ClassDeclSyntax.self), model.canBeModel(in: context),
      let property = StoredProperty(member), property.isExpandable
    else { return [] }
    if property.isTransient { return ["@Roost._ModelTransient"] }
    guard let index = model.persistentProperties.firstIndex(where: { $0.name == property.name }) else {
      return []
    }
    return ["@Roost._ModelProperty(\(raw: index))"]
  }
}

extension ModelMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard let model = declaration.as(ClassDeclSyntax.self) else {
      ModelChecks(context: context).reportNoClass(declaration)
      return []
    }
    guard model.canBeModel(in: context), !protocols.isEmpty else { return [] }
    // Without 'nonisolated' no model would conform in a module whose default is the main actor.
    let conformances = protocols.map { "nonisolated \($0.trimmedDescription)" }.joined(separator: ", ")
    return [try ExtensionDeclSyntax("extension \(type.trimmed): \(raw: conformances) {}")]
  }
}

extension ClassDeclSyntax {
  var inheritedTypes: [TypeSyntax] {
    inheritanceClause?.inheritedTypes.map { $0.type.trimmed } ?? []
  }

  var storedProperties: [StoredProperty] {
    memberBlock.members.compactMap { StoredProperty($0.decl) }.filter(\.isExpandable)
  }

  var persistentProperties: [StoredProperty] { storedProperties.filter { !$0.isTransient } }
}
