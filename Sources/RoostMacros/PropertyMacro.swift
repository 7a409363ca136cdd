import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// Makes one property of a model a computed one over its storage. `@Model` attaches it.
enum PropertyMacro {}

extension PropertyMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    guard let property = StoredProperty(declaration) else { return [] }
    var peers: [DeclSyntax] = ["private var \(raw: property.storage)\(raw: storage(of: property))"]
    if !property.observers.isEmpty {
      peers.append("private var \(raw: property.observerFlag) = false")
    }
    return peers
  }

  /// The type and the initial value of the storage. Without an annotation the value gives the type.
  private static func storage(of property: StoredProperty) -> String {
    var value = property.initializer?.trimmedDescription
    if value == nil && property.isOptional { value = "nil" }
    if property.isPlain {
      return (property.storageType.map { ": \($0)" } ?? "") + (value.map { " = \($0)" } ?? "")
    }
    return (property.storageType.map { ": Roost.Slot<\($0)>" } ?? "")
      + (value.map { " = Roost.Slot(\($0))" } ?? "")
  }
}

extension PropertyMacro: AccessorMacro {
  static func expansion(
    of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [AccessorDeclSyntax] {
    guard let property = StoredProperty(declaration) else { return [] }
    let model = context.lexicalContext.first?.as(ClassDeclSyntax.self)
    let local = node.labeledArguments?.first?.expression.trimmedDescription
    // A class that inherits nothing starts at index 0.
    let index = local.map { model?.inheritanceClause == nil ? $0 : "Self._$base + \($0)" }
    return PropertyAccessors(property: property, index: index).declarations
  }
}

/// The accessors of one property. `index` is nil for a transient one, of which no context hears.
private struct PropertyAccessors {
  let property: StoredProperty
  let index: String?

  private var storage: String { property.storage }
  private var isSlot: Bool { !property.isPlain }

  var declarations: [AccessorDeclSyntax] {
    // With observers, a change in place is a read and a set.
    property.observers.isEmpty ? [initialize, get, set, modify] : [initialize, get, observedSet]
  }

  // MARK: Statements

  private func stored(_ value: String) -> String { isSlot ? "Roost.Slot(\(value))" : value }

  private var trackAccess: String {
    "if Roost.ModelState.isTracked { _$access(\\.\(property.name)) }"
  }

  private var read: [String] {
    guard isSlot, let index else { return ["return \(storage)"] }
    return [
      "_$willRead(type(of: \(storage)), at: \(index))",
      "if let value = \(storage).loaded { return value }",
      "let value = _$resolve(\(storage), at: \(index))",
      "_$keep(value, in: &\(storage))",
      "return value",
    ]
  }

  private var announceChange: [String] {
    var statements: [String] = []
    if isSlot, let index { statements.append("_$willChange(type(of: \(storage)), at: \(index))") }
    return statements + (index.map { ["_$willChange(at: \($0))"] } ?? []) + [
      "let _$registrar = _$state.registrar",
      "_$registrar?.willSet(self, keyPath: \\.\(property.name))",
    ]
  }

  private var reportChange: [String] {
    var statements: [String] = []
    if isSlot, let index { statements.append("_$didChange(type(of: \(storage)), at: \(index))") }
    statements.append("_$registrar?.didSet(self, keyPath: \\.\(property.name))")
    return statements
  }

  private func accessor(_ head: String, _ statements: [String]) -> AccessorDeclSyntax {
    "\(raw: head) {\n\(raw: statements.joined(separator: "\n"))\n}"
  }

  // MARK: Accessors

  private var initialize: AccessorDeclSyntax {
    accessor(
      "@storageRestrictions(initializes: \(storage)) init(initialValue)",
      ["\(storage) = \(stored("initialValue"))"])
  }

  private var get: AccessorDeclSyntax { accessor("get", [trackAccess] + read) }

  private var set: AccessorDeclSyntax {
    accessor("set", announceChange + ["\(storage) = \(stored("newValue"))"] + reportChange)
  }

  private var modify: AccessorDeclSyntax {
    var statements = [trackAccess] + announceChange
    if isSlot, let index {
      statements += [
        "if !\(storage).isLoaded {",
        "let value = _$resolve(\(storage), at: \(index))",
        "\(storage) = Roost.Slot(value)",
        "}",
      ]
    }
    statements += ["defer {"] + reportChange + ["}"]
    statements.append(isSlot ? "yield &\(storage).changeable" : "yield &\(storage)")
    return accessor("_modify", statements)
  }

  /// Calls the property's own observers, except for a change that they make themselves. Names of locals
  /// begin with `_$`, for the observers' bodies stand among them.
  private var observedSet: AccessorDeclSyntax {
    let flag = property.observerFlag
    var statements: [String] = []
    for observer in property.observers { statements += function(for: observer) }
    statements += ["let _$isOutermost = !\(flag)", "\(flag) = true"]
    if property.hasObserver(.willSet) { statements.append("if _$isOutermost { _$willSet() }") }
    statements += announceChange + ["\(storage) = \(stored("newValue"))"] + reportChange
    if property.hasObserver(.didSet) { statements.append("if _$isOutermost { _$didSet() }") }
    statements.append("if _$isOutermost { \(flag) = false }")
    return accessor("set", statements)
  }

  /// An observer as a local function, so that it may return early. The old value is read only if used.
  private func function(for observer: AccessorDeclSyntax) -> [String] {
    guard let body = observer.body?.statements else { return [] }
    let isWillSet = observer.accessorSpecifier.tokenKind == .keyword(.willSet)
    let standard = isWillSet ? "newValue" : "oldValue"
    let parameter = observer.parameters?.name.text ?? standard
    let isUsed = body.tokens(viewMode: .sourceAccurate).contains { $0.text == parameter }
    var statements: [String] = []
    if isUsed && !isWillSet { statements.append("let _$oldValue = self.\(property.name)") }
    statements.append("func _$\(observer.accessorSpecifier.text)() {")
    if isUsed && !(isWillSet && parameter == standard) {
      statements.append("let \(parameter) = \(isWillSet ? "newValue" : "_$oldValue")")
    }
    return statements + [body.trimmedDescription, "}"]
  }
}

extension StoredProperty {
  /// The name of the stored flag that is true while the property's own observers run.
  fileprivate var observerFlag: String { "_$observes_" + plainName }

  fileprivate func hasObserver(_ keyword: Keyword) -> Bool {
    observers.contains { $0.accessorSpecifier.tokenKind == .keyword(keyword) }
  }
}
