import Roost

/// Prints a schema for people.
struct SchemaText {
  private let models: ModelStore
  private let output: Output

  init(_ models: ModelStore, _ output: Output) {
    self.models = models
    self.output = output
  }

  func write() throws {
    let schema = models.schema
    try output.write("schema \(schema.current.label), \(models.state)\n")
    for entity in schema.entities { try write(entity) }
    let earlier = schema.versions.filter { $0.number != schema.current.number }
    guard !earlier.isEmpty else { return }
    try output.write("\nearlier versions\n")
    for version in earlier {
      let shapes = version.shapes.compactMap { schema.shapes[$0] }
      let names = shapes.map { "\($0.shape.name) (shape \($0.id))" }
      try output.write("  \(version.label): \(names.joined(separator: ", "))\n")
    }
  }

  private func write(_ entity: StoredEntityShape) throws {
    let parent = entity.shape.parent.map { ", inherits from \($0)" } ?? ""
    try output.write(
      "\n\(entity.shape.name): \(records(models.count(entity))), shape \(entity.id)\(parent)\n")
    try writeProperties(of: entity.shape)
    for names in entity.shape.uniques { try output.write("  unique: \(names.joined(separator: ", "))\n") }
    for names in entity.shape.indexes { try output.write("  index: \(names.joined(separator: ", "))\n") }
    for (shape, count) in models.outdated(entity) {
      try output.write("  \(records(count)) of them in shape \(shape.id):\n")
      try writeProperties(of: shape.shape, indent: "    ")
    }
  }

  private func writeProperties(of shape: EntityShape, indent: String = "  ") throws {
    let names = shape.properties.map(\.name.count).max() ?? 0
    let types = shape.properties.map { typeText($0).count }.max() ?? 0
    for property in shape.properties {
      let remarks = try self.remarks(property)
      try output.write("\(indent)\(property.name.padded(to: names))  ")
      try output.write(remarks.isEmpty ? typeText(property) : typeText(property).padded(to: types))
      try output.write(remarks.isEmpty ? "\n" : "  \(remarks.joined(separator: ", "))\n")
    }
  }

  private func typeText(_ property: PropertyShape) -> String {
    let mark = property.isOptional ? "?" : ""
    switch property.kind {
    case .attribute: return property.typeName.hasSuffix("?") ? property.typeName : property.typeName + mark
    case .toOne: return "to-one \(property.typeName)\(mark)"
    case .toMany: return "to-many \(property.typeName)"
    }
  }

  private func remarks(_ property: PropertyShape) throws -> [String] {
    var remarks: [String] = []
    if property.kind == .attribute, property.typeName != property.type.name, property.fieldType != nil {
      remarks.append("stored as \(property.type.name)")
    }
    if let relationship = property.relationship {
      remarks.append(relationship.inverse.map { "inverse \($0)" } ?? "no inverse")
      remarks.append("delete rule \(relationship.deleteRule)")
      if let minimum = relationship.minimum { remarks.append("at least \(minimum)") }
      if let maximum = relationship.maximum { remarks.append("at most \(maximum)") }
    }
    remarks += property.options
    if let value = property.settledDefault { remarks.append("default \(try JSONWriter.text(of: value))") }
    return remarks
  }

  private func records(_ count: Int) -> String {
    count == 1 ? "1 record" : "\(count) records"
  }
}

extension PropertyShape {
  /// The value that stands in where a record has none.
  var settledDefault: FieldValue? {
    guard let frozenDefault, let fieldType else { return nil }
    return frozenDefault.withUnsafeBytes { FieldValue(RecordField(bytes: $0, type: fieldType)) }
  }
}
