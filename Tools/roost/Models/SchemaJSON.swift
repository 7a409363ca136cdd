import Roost

extension JSONWriter {
  func value(_ models: ModelStore) throws {
    let schema = models.schema
    try beginObject()
    try name("version").value("\(schema.current.label)")
    try name("number").value(schema.current.number)
    try name("state").value(models.state)
    try name("generation").value(schema.generation)
    try name("entities").values(schema.entities) { try self.value($0, in: models) }
    try name("versions").values(schema.versions) { version in
      try self.beginObject()
      try self.name("number").value(version.number)
      try self.name("version").value("\(version.label)")
      try self.name("shapes").values(version.shapes) { try self.value($0) }
      try self.end()
    }
    try end()
  }

  private func value(_ entity: StoredEntityShape, in models: ModelStore) throws {
    try beginObject()
    try name("name").value(entity.shape.name)
    try entity.shape.parent.map { try name("parent").value($0) } ?? name("parent").null()
    try name("shape").value(entity.id)
    try name("records").value(models.count(entity))
    try name("properties").values(entity.shape.properties) { try self.value($0) }
    try name("uniques").values(entity.shape.uniques) { try self.values($0) { try self.value($0) } }
    try name("indexes").values(entity.shape.indexes) { try self.values($0) { try self.value($0) } }
    try name("outdated").values(models.outdated(entity)) { shape, count in
      try self.beginObject()
      try self.name("shape").value(shape.id)
      try self.name("records").value(count)
      try self.name("properties").values(shape.shape.properties) { try self.value($0) }
      try self.end()
    }
    try end()
  }

  private func value(_ property: PropertyShape) throws {
    try beginObject()
    try name("name").value(property.name)
    try name("kind").value(property.kind.rawValue)
    try name("type").value(property.typeName)
    try name("storedAs").value(property.type.name)
    try name("optional").value(property.isOptional)
    try name("options").values(property.options) { try self.value($0) }
    if let value = property.settledDefault { try name("default").value(value) }
    if let relationship = property.relationship {
      try name("destination").value(relationship.destination)
      try relationship.inverse.map { try name("inverse").value($0) } ?? name("inverse").null()
      try name("deleteRule").value(relationship.deleteRule)
      if let minimum = relationship.minimum { try name("minimum").value(minimum) }
      if let maximum = relationship.maximum { try name("maximum").value(maximum) }
    }
    try end()
  }
}
