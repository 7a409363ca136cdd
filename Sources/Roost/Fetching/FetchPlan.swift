/// How a fetch finds its rows: a predicate as far as it can be said as a condition, and where to look.
struct FetchPlan<T: PersistentModel> {
  let entity: EntityBinding
  let predicate: Predicate<T>?
  let compiled: CompiledCondition

  init(_ predicate: Predicate<T>?, _ entity: EntityBinding) {
    self.entity = entity
    self.predicate = predicate
    guard let predicate else {
      compiled = CompiledCondition(condition: .constant(true), isExact: true)
      return
    }
    let identifierPath = \T.persistentModelID
    let compiler = ConditionCompiler(variable: predicate.variable.key) { keyPath in
      if let index = entity.columns[keyPath] {
        return entity.properties[index].isComparable ? .property(index) : nil
      }
      return keyPath == identifierPath ? .identifier : nil
    }
    compiled = compiler.compile(predicate.expression)
  }

  /// Whether an object of the context is one that is looked for.
  func accepts(_ model: T) throws -> Bool {
    guard let predicate else { return true }
    return try predicate.evaluate(model)
  }

  /// The verdict on a record that needs no object; `unknown` when the predicate itself has to be asked.
  func filter(_ member: EntityBinding) -> ConditionFilter.Decide {
    let decide = ConditionFilter(member).decide(compiled.condition)
    if compiled.isExact { return decide }
    return { view, number in decide(view, number) == .no ? .no : .unknown }
  }
}

extension PropertyDescription {
  /// Whether conditions compare the property's field just as Swift compares its values.
  fileprivate var isComparable: Bool {
    guard case .scalar = kind else { return false }
    return valueType is any ScalarConvertible.Type
  }
}
