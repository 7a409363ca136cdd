import SwiftSyntax
import SwiftSyntaxBuilder

/// The members that `@Model` adds to a class.
struct ModelMembers {
  private let model: ClassDeclSyntax
  private let name: String
  private let properties: [StoredProperty]
  /// The model class that this one inherits from, as written.
  private let parent: String?
  /// The entity's name in the previous version of the schema, as written.
  private let originalName: String
  private let isFinal: Bool
  /// `public ` or the like: generated members are as visible as the class.
  private let access: String

  init(_ model: ClassDeclSyntax, parent: TypeSyntax?, originalName: ExprSyntax?) {
    self.model = model
    self.originalName = originalName?.trimmedDescription ?? "nil"
    self.parent = parent?.trimmedDescription
    name = model.name.text
    properties = model.persistentProperties
    isFinal = model.modifiers.contains { $0.name.tokenKind == .keyword(.final) }
    access =
      model.modifiers.lazy.compactMap { modifier in
        switch modifier.name.tokenKind {
        case .keyword(.public), .keyword(.open): "public "
        case .keyword(.package): "package "
        default: nil
        }
      }.first ?? ""
  }

  var declarations: [DeclSyntax] {
    var members = [decodingInitializer, encode, refresh] + table + [indexes] + names
    if parent == nil { members.insert("\(raw: access)var _$state = Roost.ModelState()", at: 0) }
    if let emptyInitializer { members.append(emptyInitializer) }
    return members
  }

  // MARK: Modifiers

  private var overriding: String { parent == nil ? "" : "override " }

  /// Of a computed type property that classes below override.
  private var typeMember: String {
    if parent != nil { return "override class " }
    return isFinal ? "static " : "class "
  }

  /// The index of a property, as code. A class that inherits learns its first index when it runs.
  private func index(_ local: Int) -> String {
    parent == nil ? "\(local)" : "\(name)._$base + \(local)"
  }

  /// One statement for each property that records hold.
  private func forEachField(_ statement: (String, StoredProperty) -> String) -> [String] {
    properties.enumerated().filter { !$1.isEphemeral }.map { statement(index($0), $1) }
  }

  private func body(_ statements: [String]) -> String { statements.joined(separator: "\n") }

  // MARK: Coding

  private var decodingInitializer: DeclSyntax {
    var statements = forEachField { "self.\($1.storage) = reader.read(\($0))" }
    if parent != nil { statements.append("super.init(_$record: reader)") }
    return """
      \(raw: access)\(raw: isFinal && parent == nil ? "" : "required ")init(\
      _$record reader: borrowing Roost.RecordReader) {
      \(raw: body(statements))
      }
      """
  }

  private var encode: DeclSyntax {
    var statements = forEachField { "writer.write(\($1.storage), at: \($0))" }
    if parent != nil { statements.insert("super._$encode(&writer)", at: 0) }
    return """
      \(raw: access)\(raw: overriding)func _$encode(_ writer: inout Roost.RecordWriter) {
      \(raw: body(statements))
      }
      """
  }

  private var refresh: DeclSyntax {
    var statements: [String] = []
    if parent != nil { statements.append("super._$refresh(reader, properties)") }
    let fields = forEachField { index, property in
      """
      if properties.contains(\(index)) {
      registrar?.willSet(self, keyPath: \\.\(property.name))
      \(property.storage) = reader.read(\(index))
      registrar?.didSet(self, keyPath: \\.\(property.name))
      }
      """
    }
    if !fields.isEmpty { statements += ["let registrar = _$state.registrar"] + fields }
    return """
      \(raw: access)\(raw: overriding)func _$refresh(_ reader: borrowing Roost.RecordReader, \
      _ properties: Roost.PropertyMask) {
      \(raw: body(statements))
      }
      """
  }

  // MARK: The table

  private var table: [DeclSyntax] {
    var members: [DeclSyntax] = []
    if let parent {
      members.append("private static let _$base: Int = \(raw: parent)._$properties.count")
    } else if model.inheritanceClause != nil {
      members.append("private static var _$base: Int { 0 }")
    }
    members.append("private static let _$table: [Roost.PropertyDescription] = _$describe(\(raw: name).self)")
    members.append(
      "\(raw: access)\(raw: typeMember)var _$properties: [Roost.PropertyDescription] { _$table }")
    members.append(describe)
    return members
  }

  /// Generic, because a subclass lists the properties under its own key paths: `\Child.name` and
  /// `\Parent.name` are different.
  private var describe: DeclSyntax {
    let entries = properties.enumerated().map { local, property in
      "table.append(\(entry(property, at: index(local))))"
    }
    let start = parent.map { "\($0)._$describe(root)" } ?? "[]"
    // One statement each: a single array literal takes the type checker long.
    return """
      \(raw: access)static func _$describe<_$Root: \(raw: name)>(\
      _ root: _$Root.Type) -> [Roost.PropertyDescription] {
      \(raw: entries.isEmpty ? "let" : "var") table: [Roost.PropertyDescription] = \(raw: start)
      \(raw: body(entries))
      return table
      }
      """
  }

  private func entry(_ property: StoredProperty, at index: String) -> String {
    var arguments = [
      "\"\(property.plainName)\"", "\\_$Root.\(property.name)", "\\_$Root.\(property.storage)",
      "at: \(index)", property.metadata,
    ]
    if let initializer = property.initializer {
      arguments.append("default: { \(initializer.trimmedDescription) }")
    }
    return ".stored(\(arguments.joined(separator: ", ")))"
  }

  private var indexes: DeclSyntax {
    let start = parent.map { "\($0)._$indexes" } ?? "[]"
    let entries = model.memberBlock.members.compactMap { member -> String? in
      guard let macro = member.decl.as(MacroExpansionDeclSyntax.self) else { return nil }
      let function: String
      switch macro.macroName.text {
      case "Index": function = "index"
      case "Unique": function = "unique"
      default: return nil
      }
      return "indexes += Roost.IndexDescription.\(function)(\(name).self, "
        + "\(macro.arguments.trimmedDescription))"
    }
    return """
      \(raw: access)\(raw: typeMember)var _$indexes: [Roost.IndexDescription] {
      \(raw: entries.isEmpty ? "let" : "var") indexes: [Roost.IndexDescription] = \(raw: start)
      \(raw: body(entries))
      return indexes
      }
      """
  }

  // MARK: Names

  private var names: [DeclSyntax] {
    [
      """
      \(raw: access)\(raw: typeMember)var _$entityName: String { \
      "\(raw: name.filter { $0 != "`" })" }
      """,
      "\(raw: access)\(raw: typeMember)var _$originalName: String? { \(raw: originalName) }",
      """
      \(raw: access)\(raw: typeMember)var _$superentity: (any Roost.PersistentModel.Type)? { \
      \(raw: parent.map { "\($0).self" } ?? "nil") }
      """,
    ]
  }

  /// What Swift gives a class whose properties all have values, had it no other initializer.
  private var emptyInitializer: DeclSyntax? {
    let hasInitializer = model.memberBlock.members.contains { $0.decl.is(InitializerDeclSyntax.self) }
    let allHaveValues = model.storedProperties.allSatisfy { $0.initializer != nil || $0.isOptional }
    guard parent == nil, !hasInitializer, allHaveValues else { return nil }
    return "init() {}"
  }
}

extension StoredProperty {
  /// The arguments of `@Attribute` or `@Relationship` as a `PropertyMetadata` expression.
  fileprivate var metadata: String {
    if let attribute = declaration.attribute(named: "Attribute") {
      return ".attribute(\(attribute.labeledArguments?.trimmedDescription ?? ""))"
    }
    if let relationship = declaration.attribute(named: "Relationship") {
      let arguments = relationship.labeledArguments?.trimmedDescription ?? ""
      let isOneWay = relationship.argument("inverse")?.is(NilLiteralExprSyntax.self) ?? false
      return ".relationship(\(arguments))\(isOneWay ? ".oneWay" : "")"
    }
    return ".none"
  }
}
