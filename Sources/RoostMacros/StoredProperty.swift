import SwiftSyntax

/// A stored `var` of a model class, as it was written.
struct StoredProperty {
  /// The name as it is written in code, in backticks where it needs them.
  let name: String
  let declaration: VariableDeclSyntax
  let type: TypeSyntax?
  let initializer: ExprSyntax?
  /// `willSet` and `didSet`.
  let observers: [AccessorDeclSyntax]

  /// Nil for what isn't a stored `var`: constants, computed and static properties, patterns.
  init?(_ declaration: some DeclSyntaxProtocol) {
    guard let variable = declaration.as(VariableDeclSyntax.self),
      variable.bindingSpecifier.tokenKind == .keyword(.var), !variable.isTypeProperty,
      variable.bindings.count == 1, let binding = variable.bindings.first,
      let pattern = binding.pattern.as(IdentifierPatternSyntax.self), !binding.isComputed
    else { return nil }
    self.declaration = variable
    name = pattern.identifier.text
    type = binding.typeAnnotation?.type.trimmed
    initializer = binding.initializer?.value.trimmed
    observers = binding.observers
  }

  /// The name without backticks.
  var plainName: String { name.filter { $0 != "`" } }

  /// The name of the stored property behind the computed one.
  var storage: String { "_$stored_" + plainName }
}

extension StoredProperty {
  /// False for what `ModelChecks` rejects anyway, and for what `@Model` itself has made.
  var isExpandable: Bool {
    (type != nil || initializer != nil) && !isTuple && !name.hasPrefix("_$")
      && !declaration.modifiers.contains {
        [.keyword(.lazy), .keyword(.weak), .keyword(.unowned)].contains($0.name.tokenKind)
      }
  }

  var isTuple: Bool {
    guard let tuple = type?.as(TupleTypeSyntax.self) else { return false }
    return tuple.elements.count != 1
  }

  /// Unknown to the store: observed, and nothing else.
  var isTransient: Bool { declaration.attribute(named: "Transient") != nil }

  /// Known to the store and counted among an object's changes, but kept out of records.
  var isEphemeral: Bool {
    guard let arguments = declaration.attribute(named: "Attribute")?.labeledArguments else { return false }
    return arguments.contains { $0.label == nil && $0.expression.isMember(named: "ephemeral") }
  }

  /// `T?`, `T!` or `Optional<T>`: nil is the initial value if no other is given.
  var isOptional: Bool {
    guard let type else { return false }
    if type.is(OptionalTypeSyntax.self) || type.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return true
    }
    return type.as(IdentifierTypeSyntax.self)?.name.text == "Optional"
  }

  /// An optional of an optional, as far as it is written out.
  var isNestedOptional: Bool { type.flatMap(Self.wrapped).flatMap(Self.wrapped) != nil }

  /// What an optional type is the optional of.
  private static func wrapped(_ type: TypeSyntax) -> TypeSyntax? {
    if let optional = type.as(OptionalTypeSyntax.self) { return optional.wrappedType }
    if let optional = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return optional.wrappedType }
    if let tuple = type.as(TupleTypeSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first {
      return wrapped(only.type)
    }
    guard let named = type.as(IdentifierTypeSyntax.self), named.name.text == "Optional",
      let argument = named.genericArgumentClause?.arguments.first?.argument
    else { return nil }
    return TypeSyntax(argument)
  }

  /// Whether the type is certainly one that records hold directly, so that no slot is needed.
  /// A transient property never needs one.
  var isPlain: Bool {
    if isTransient { return true }
    if let type { return Self.isScalar(type) }
    return initializer.map(Self.isScalar) ?? false
  }

  /// The type of the stored property, where the source says it. `T!` is stored as `T?`.
  var storageType: String? {
    guard let type else { return nil }
    if let unwrapped = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return unwrapped.wrappedType.trimmedDescription + "?"
    }
    return type.trimmedDescription
  }

  private static let scalars: Set<String> = [
    "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64",
    "Float", "Double", "String", "Data", "Date", "UUID", "URL", "Decimal",
  ]

  private static func isScalar(_ type: TypeSyntax) -> Bool {
    if let optional = type.as(OptionalTypeSyntax.self) { return isScalar(optional.wrappedType) }
    if let optional = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return isScalar(optional.wrappedType)
    }
    if let member = type.as(MemberTypeSyntax.self) {
      let base = member.baseType.trimmedDescription
      return (base == "Swift" || base == "Foundation") && scalars.contains(member.name.text)
    }
    return type.as(IdentifierTypeSyntax.self).map {
      $0.genericArgumentClause == nil && scalars.contains($0.name.text)
    } ?? false
  }

  private static func isScalar(_ initializer: ExprSyntax) -> Bool {
    switch initializer.kind {
    case .integerLiteralExpr, .floatLiteralExpr, .stringLiteralExpr, .booleanLiteralExpr: return true
    case .prefixOperatorExpr:
      return initializer.as(PrefixOperatorExprSyntax.self).map { isScalar($0.expression) } ?? false
    case .functionCallExpr:
      let called = initializer.as(FunctionCallExprSyntax.self)?.calledExpression
      return called?.as(DeclReferenceExprSyntax.self).map { scalars.contains($0.baseName.text) } ?? false
    default: return false
    }
  }
}

extension VariableDeclSyntax {
  var isTypeProperty: Bool {
    modifiers.contains { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }
  }

  func attribute(named name: String) -> AttributeSyntax? {
    for case .attribute(let attribute) in attributes
    where attribute.attributeName.trimmedDescription.split(separator: ".").last.map(String.init) == name {
      return attribute
    }
    return nil
  }
}

extension PatternBindingSyntax {
  var isComputed: Bool {
    switch accessorBlock?.accessors {
    case nil: return false
    case .getter: return true
    case .accessors(let list): return list.contains { !$0.isObserver }
    @unknown default: return true
    }
  }

  var observers: [AccessorDeclSyntax] {
    guard case .accessors(let list) = accessorBlock?.accessors else { return [] }
    return list.filter(\.isObserver)
  }
}

extension AccessorDeclSyntax {
  fileprivate var isObserver: Bool {
    [.keyword(.willSet), .keyword(.didSet)].contains(accessorSpecifier.tokenKind)
  }
}

extension AttributeSyntax {
  var labeledArguments: LabeledExprListSyntax? {
    guard case .argumentList(let list) = arguments else { return nil }
    return list
  }

  /// The argument with this label.
  func argument(_ label: String) -> ExprSyntax? {
    labeledArguments?.first { $0.label?.text == label }?.expression
  }
}

extension ExprSyntax {
  /// `.name`, or `Something.name`.
  func isMember(named name: String) -> Bool {
    self.as(MemberAccessExprSyntax.self)?.declName.baseName.text == name
  }
}
