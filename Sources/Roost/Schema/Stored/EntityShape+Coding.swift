extension EntityShape {
  /// The shape as a row of the schema table holds it.
  package var coded: CodedValue {
    var entries: [String: CodedValue] = [
      "name": .string(name),
      "properties": .array(properties.map(\.coded)),
    ]
    if let parent { entries["parent"] = .string(parent) }
    if !uniques.isEmpty { entries["uniques"] = Self.coded(uniques) }
    if !indexes.isEmpty { entries["indexes"] = Self.coded(indexes) }
    if lineage != 0 { entries["lineage"] = .integer(Int64(lineage)) }
    if isTransformed { entries["transformed"] = .bool(true) }
    return .map(entries)
  }

  /// `nil` when `coded` isn't an entity's shape.
  package init?(_ coded: CodedValue) {
    guard let name = coded["name"]?.string, let list = coded["properties"]?.array else { return nil }
    let properties = list.compactMap { PropertyShape($0) }
    guard properties.count == list.count else { return nil }
    let uniques = coded["uniques"].map(Self.names) ?? []
    let indexes = coded["indexes"].map(Self.names) ?? []
    guard let uniques, let indexes else { return nil }
    self.init(name, parent: coded["parent"]?.string, properties, uniques: uniques, indexes: indexes)
    lineage = coded["lineage"]?.integer() ?? 0
    isTransformed = coded["transformed"]?.bool ?? false
  }

  private static func coded(_ lists: [[String]]) -> CodedValue {
    .array(lists.map { .array($0.map { .string($0) }) })
  }

  private static func names(_ coded: CodedValue) -> [[String]]? {
    guard let lists = coded.array else { return nil }
    let names = lists.compactMap { list in list.array.map { $0.compactMap(\.string) } }
    return names.count == lists.count ? names : nil
  }
}

extension PropertyShape {
  var coded: CodedValue {
    var entries: [String: CodedValue] = [
      "name": .string(name),
      "kind": .string(kind.rawValue),
      "type": .integer(Int64(type.rawValue)),
    ]
    if isOptional { entries["optional"] = .bool(true) }
    if !typeName.isEmpty { entries["swift"] = .string(typeName) }
    if !options.isEmpty { entries["options"] = .array(options.map { .string($0) }) }
    if let hashModifier { entries["modifier"] = .string(hashModifier) }
    if let frozenDefault { entries["default"] = .data(frozenDefault) }
    if lineage != 0 { entries["lineage"] = .integer(Int64(lineage)) }
    if let relationship { entries["relationship"] = relationship.coded }
    return .map(entries)
  }

  init?(_ coded: CodedValue) {
    guard let name = coded["name"]?.string, let kindName = coded["kind"]?.string,
      let kind = Kind(rawValue: kindName), let typeCode = coded["type"]?.integer(UInt8.self),
      let type = FieldType(rawValue: typeCode)
    else { return nil }
    self.init(name, type)
    self.kind = kind
    isOptional = coded["optional"]?.bool ?? false
    typeName = coded["swift"]?.string ?? ""
    options = coded["options"]?.array?.compactMap(\.string) ?? []
    hashModifier = coded["modifier"]?.string
    frozenDefault = coded["default"]?.data
    lineage = coded["lineage"]?.integer() ?? 0
    if kind == .attribute { if type == .identifier || type == .identifiers { return nil } else { return } }
    guard let relationship = coded["relationship"].flatMap({ Relationship($0) }),
      type == (kind == .toOne ? .identifier : .identifiers)
    else { return nil }
    self.relationship = relationship
  }
}

extension PropertyShape.Relationship {
  var coded: CodedValue {
    var entries: [String: CodedValue] = [
      "to": .string(destination),
      "delete": .string(deleteRule),
    ]
    if let inverse { entries["inverse"] = .string(inverse) }
    if let minimum { entries["minimum"] = .integer(Int64(minimum)) }
    if let maximum { entries["maximum"] = .integer(Int64(maximum)) }
    return .map(entries)
  }

  init?(_ coded: CodedValue) {
    guard let destination = coded["to"]?.string, let deleteRule = coded["delete"]?.string else { return nil }
    self.init(
      destination: destination, inverse: coded["inverse"]?.string, deleteRule: deleteRule,
      minimum: coded["minimum"]?.integer(), maximum: coded["maximum"]?.integer())
  }
}
