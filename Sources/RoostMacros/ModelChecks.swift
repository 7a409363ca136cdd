import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// What a model class must be like, and errors that say how to get there.
struct ModelChecks<Context: MacroExpansionContext> {
  let context: Context

  /// The declaration as a class that can be a model; nil if errors were reported that make an
  /// expansion senseless.
  func modelClass(_ declaration: some DeclGroupSyntax) -> ClassDeclSyntax? {
    guard let model = declaration.as(ClassDeclSyntax.self) else { return nil }
    if model.genericParameterClause != nil || context.isGeneric {
      context.error(
        "genericModel", "a model class can't be generic: its entity has one fixed shape",
        at: model.genericParameterClause.map(Syntax.init) ?? Syntax(model.name))
    }
    if context.isLocal {
      context.error(
        "localModel", "a model class can't be declared in a function: move it to file or type scope",
        at: model.name)
    }
    reportMainActor(model)
    return model.canBeModel(in: context) ? model : nil
  }

  /// For the extension role: the member role isn't expanded for, say, an enumeration without raw values.
  func reportNoClass(_ declaration: some DeclGroupSyntax) {
    let message = "@Model can only be applied to a class: models have identity and are shared"
    let keyword: TokenSyntax? =
      declaration.as(StructDeclSyntax.self)?.structKeyword
      ?? declaration.as(ActorDeclSyntax.self)?.actorKeyword
    if let keyword {
      let remedy = FixIt.exchange(keyword, for: "final class", "make it a final class")
      context.error("notAClass", message, at: keyword, fixIts: [remedy])
    } else {
      context.error("notAClass", message, at: declaration.introducer)
    }
  }

  private func reportMainActor(_ model: ClassDeclSyntax) {
    for element in model.attributes {
      guard case .attribute(let attribute) = element,
        attribute.attributeName.trimmedDescription == "MainActor"
      else { continue }
      var attributes = model.attributes
      if let index = attributes.index(of: element) { attributes.remove(at: index) }
      let remedy = FixIt.exchange(
        model, for: model.with(\.attributes, attributes).with(\.leadingTrivia, model.leadingTrivia),
        "remove '@MainActor'")
      context.error(
        "mainActorModel",
        "a model class can't be isolated to the main actor: its objects belong to whichever context they "
          + "are in", at: attribute, fixIts: [remedy])
    }
  }
}

// MARK: - Properties

extension ModelChecks {
  /// Reports the stored properties that can't be persistent.
  func checkProperties(of model: ClassDeclSyntax) {
    for member in model.memberBlock.members {
      if let condition = member.decl.as(IfConfigDeclSyntax.self) { checkConditional(condition) }
      if let variable = member.decl.as(VariableDeclSyntax.self), !variable.isTypeProperty {
        check(variable)
      }
    }
    checkStoredNames(model.memberBlock.members.compactMap { StoredProperty($0.decl) })
  }

  private func check(_ variable: VariableDeclSyntax) {
    guard let binding = variable.bindings.first else { return }
    if binding.pattern.is(TuplePatternSyntax.self) || variable.bindings.count > 1 {
      context.error(
        "severalProperties", "declare each stored property of a model on its own", at: variable.bindings)
      return
    }
    if variable.bindingSpecifier.tokenKind == .keyword(.let) {
      checkConstant(variable, binding)
      return
    }
    guard !binding.isComputed else { return }
    for modifier in variable.modifiers {
      if modifier.name.tokenKind == .keyword(.lazy) {
        context.error(
          "lazyProperty", "a stored property of a model can't be lazy: its value comes from the store",
          at: modifier, fixIts: [removal(of: modifier, from: variable)])
      }
      if [.keyword(.weak), .keyword(.unowned)].contains(modifier.name.tokenKind) {
        context.error(
          "weakProperty",
          "a stored property of a model can't be \(modifier.name.text): a relationship to another model "
            + "doesn't keep it in memory, and other objects can't be stored",
          at: modifier, fixIts: [removal(of: modifier, from: variable)])
      }
    }
    checkType(variable, binding)
  }

  private func checkConstant(_ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax) {
    guard binding.initializer == nil else { return }
    let remedy = FixIt.exchange(variable.bindingSpecifier, for: "var", "make it a 'var'")
    context.error(
      "constantProperty",
      "a stored property of a model must be a 'var', so that its value can be read from the store; use "
        + "'private(set) var' to keep others from changing it",
      at: variable.bindingSpecifier, fixIts: [remedy])
  }

  private func checkType(_ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax) {
    guard let property = StoredProperty(variable) else { return }
    if property.isTuple, let type = binding.typeAnnotation?.type {
      context.error(
        "tupleProperty",
        "a stored property of a model can't be a tuple: use a struct that conforms to Codable",
        at: type)
    }
    if property.isNestedOptional && !property.isTransient, let type = binding.typeAnnotation?.type {
      context.error(
        "nestedOptional",
        "a stored property of a model can't be an optional of an optional: records have one kind of nil",
        at: type)
    }
    if property.type == nil && property.initializer == nil {
      let typed = TokenSyntax.identifier("\(property.name): <#Type#>")
      let pattern = PatternSyntax(IdentifierPatternSyntax(identifier: typed))
      let remedy = FixIt.exchange(
        binding.pattern, for: pattern.with(\.trailingTrivia, binding.pattern.trailingTrivia), "add a type")
      context.error(
        "untypedProperty", "a stored property of a model needs a type or an initial value",
        at: binding.pattern, fixIts: [remedy])
    }
    if (property.isTransient || property.isEphemeral) && property.initializer == nil && !property.isOptional {
      context.error(
        "transientWithoutValue",
        "'\(property.name)' isn't stored, so it needs an initial value for objects that are read from the "
          + "store", at: binding.pattern)
    }
    if let attribute = variable.attribute(named: "Attribute"),
      variable.attribute(named: "Relationship") != nil
    {
      context.error(
        "attributeAndRelationship", "a property is either an attribute or a relationship", at: attribute)
    }
  }

  private func checkConditional(_ condition: IfConfigDeclSyntax) {
    for clause in condition.clauses {
      guard case .decls(let members) = clause.elements else { continue }
      for member in members {
        guard let property = StoredProperty(member.decl), !property.isTransient else { continue }
        context.error(
          "conditionalProperty",
          "a stored property of a model can't be inside '#if': declare the class once for each condition",
          at: member.decl)
      }
    }
  }

  /// Two properties that claim one property of the previous version.
  private func checkStoredNames(_ properties: [StoredProperty]) {
    var owners: [String: String] = [:]
    for property in properties where !property.isTransient {
      guard let name = property.originalName else { continue }
      if let owner = owners.updateValue(property.name, forKey: name) {
        context.error(
          "duplicateName", "'\(owner)' and '\(property.name)' both have the original name '\(name)'",
          at: property.declaration.bindings)
      }
    }
  }

  private func removal(of modifier: DeclModifierSyntax, from variable: VariableDeclSyntax) -> FixIt {
    let rest = variable.modifiers.filter { $0 != modifier }
    let changed = variable.with(\.modifiers, rest).with(\.leadingTrivia, variable.leadingTrivia)
    return FixIt.exchange(variable, for: changed, "remove '\(modifier.name.text)'")
  }
}

extension ClassDeclSyntax {
  /// Whether an expansion makes sense. If not, `ModelChecks.modelClass` says why.
  func canBeModel(in context: some MacroExpansionContext) -> Bool {
    genericParameterClause == nil && !context.isGeneric && !context.isLocal
  }
}

extension MacroExpansionContext {
  /// Inside of a generic type.
  fileprivate var isGeneric: Bool {
    lexicalContext.contains {
      $0.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause != nil
    }
  }

  /// Inside of a function's body.
  fileprivate var isLocal: Bool {
    lexicalContext.contains {
      $0.is(FunctionDeclSyntax.self) || $0.is(ClosureExprSyntax.self) || $0.is(InitializerDeclSyntax.self)
        || $0.is(AccessorDeclSyntax.self) || $0.is(DeinitializerDeclSyntax.self)
        || $0.is(SubscriptDeclSyntax.self)
    }
  }
}

extension StoredProperty {
  /// The `originalName:` of its `@Attribute` or `@Relationship`, if that is a plain text.
  fileprivate var originalName: String? {
    let attribute = declaration.attribute(named: "Attribute") ?? declaration.attribute(named: "Relationship")
    return attribute?.argument("originalName")?.as(StringLiteralExprSyntax.self)?.representedLiteralValue
  }
}
