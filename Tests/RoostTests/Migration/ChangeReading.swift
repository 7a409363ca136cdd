import Foundation
import Roost

// What programs of the second versions read, in lines.

extension ChangeCase {
  func read(_ context: ModelContext) throws -> [String] {
    switch self {
    case .added: try readAdded(context)
    case .removed: try readRemoved(context)
    case .renamed: try readRenamed(context)
    case .renamedModels: try readRenamedModels(context)
    case .loosened: try readLoosened(context)
    case .inherited: try readInherited(context)
    case .linked: try readLinked(context)
    case .inverse: try readInverse(context)
    case .transformed: try readTransformed(context)
    case .strict: try readStrict(context)
    }
  }

  private func readAdded(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.Added.Item>())
    let tags = try context.fetch(FetchDescriptor<Changes.Added.Tag>())
    let large = try context.fetchCount(FetchDescriptor<Changes.Added.Item>(predicate: #Predicate { $0.size >= 3 }))
    let ranked = try context.fetchCount(FetchDescriptor<Changes.Added.Item>(predicate: #Predicate { $0.rank == 7 }))
    return items.map { item in
      "\(item.name) \(item.size) \(item.note ?? "nil") \(item.mood) \(item.tag?.name ?? "none") \(item.rank) "
        + "\(item.remark ?? "nil") \(item.extra.map(\.value))"
    } + tags.map { "\($0.name): \($0.favourites.map(\.name))" }
      + ["large \(large)", "ranked \(ranked)", Set(items.map(\.stamp)).count == 1 ? "one stamp" : "stamps"]
  }

  private func readRemoved(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.Removed.Item>())
    let large = try context.fetchCount(FetchDescriptor<Changes.Removed.Item>(predicate: #Predicate { $0.size >= 3 }))
    return items.map { "\($0.name) \($0.size) \($0.mood) \($0.tag?.name ?? "none")" } + ["large \(large)"]
  }

  private func readRenamed(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.Renamed.Item>())
    let tags = try context.fetch(FetchDescriptor<Changes.Renamed.Tag>())
    let large = try context.fetchCount(FetchDescriptor<Changes.Renamed.Item>(predicate: #Predicate { $0.width >= 3 }))
    let reserve = try context.fetch(FetchDescriptor<Changes.Renamed.Reserve>())
    return items.map { "\($0.title) \($0.width) \($0.note ?? "nil") \($0.mood) \($0.label?.name ?? "none")" }
      + tags.map { "\($0.name): \($0.best.map(\.title))" } + ["large \(large)", "\(reserve.map(\.number))"]
  }

  private func readRenamedModels(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.RenamedModels.Article>())
    let tags = try context.fetch(FetchDescriptor<Changes.RenamedModels.Label>())
    let large = try context.fetchCount(
      FetchDescriptor<Changes.RenamedModels.Article>(predicate: #Predicate { $0.size >= 3 }))
    return items.map { "\($0.name) \($0.size) \($0.note ?? "nil") \($0.mood) \($0.tag?.name ?? "none")" }
      + tags.map { "\($0.name): \($0.favourites.map(\.name))" } + ["large \(large)"]
  }

  private func readLoosened(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.Loosened.Item>())
    let tags = try context.fetch(FetchDescriptor<Changes.Loosened.Tag>())
    let large = try context.fetchCount(FetchDescriptor<Changes.Loosened.Item>(predicate: #Predicate { $0.size >= 3 }))
    let without = try context.fetchCount(
      FetchDescriptor<Changes.Loosened.Item>(predicate: #Predicate { $0.note == "none" }))
    let spares = try context.fetch(FetchDescriptor<Changes.Loosened.Spare>())
    return items.map { "\($0.name ?? "nil") \($0.size) \($0.note) \($0.mood) \($0.tag?.name ?? "none")" }
      + tags.map { tag in "\(tag.name): \(tag.favourites.map { $0.name ?? "nil" })" }
      + ["large \(large)", "without \(without)", "\(spares.map(\.key))"]
  }

  private func readInherited(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.Inherited.Thing>()).compactMap {
      $0 as? Changes.Inherited.Item
    }
    let tags = try context.fetch(FetchDescriptor<Changes.Inherited.Tag>())
    let large = try context.fetchCount(FetchDescriptor<Changes.Inherited.Item>(predicate: #Predicate { $0.size >= 3 }))
    return items.map { "\($0.name) \($0.size) \($0.note ?? "nil") \($0.mood) \($0.tag?.name ?? "none")" }
      + tags.map { "\($0.name): \($0.favourites.map(\.name))" } + ["large \(large)"]
  }

  private func readLinked(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.Linked.Item>())
    let tags = try context.fetch(FetchDescriptor<Changes.Linked.Tag>())
    let large = try context.fetchCount(FetchDescriptor<Changes.Linked.Item>(predicate: #Predicate { $0.size >= 3 }))
    return items.map { "\($0.name) \($0.tags.map(\.name)) \($0.admirers.map(\.name))" }
      + tags.map { "\($0.name): \($0.favourites.map(\.name))" } + tags.map { "\($0.items.map(\.name))" }
      + ["large \(large)"]
  }

  private func readInverse(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.Inverse.Item>())
    let tags = try context.fetch(FetchDescriptor<Changes.Inverse.Tag>())
    let large = try context.fetchCount(FetchDescriptor<Changes.Inverse.Item>(predicate: #Predicate { $0.size >= 3 }))
    return items.map { "\($0.name) \($0.size) \($0.note ?? "nil") \($0.mood) \($0.tag?.name ?? "none")" }
      + tags.map { "\($0.name): \($0.favourites.map(\.name))" } + tags.map { "\($0.items.map(\.name))" }
      + ["large \(large)"]
  }

  private func readTransformed(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.Transformed.Item>())
    let tags = try context.fetch(FetchDescriptor<Changes.Transformed.Tag>())
    let wide = try context.fetchCount(
      FetchDescriptor<Changes.Transformed.Item>(predicate: #Predicate { $0.size == "3 cm" }))
    var last = FetchDescriptor<Changes.Transformed.Item>(sortBy: [SortDescriptor(\.name, order: .reverse)])
    last.fetchLimit = 3
    let one = try context.fetchCount(
      FetchDescriptor<Changes.Transformed.Item>(predicate: #Predicate { $0.name == "item 3/1" }))
    return items.map { "\($0.name) \($0.size) \($0.note) \($0.mood) \($0.tag?.name ?? "none")" }
      + tags.map { "\($0.name): \($0.favourites.map { String($0.name.prefix { $0 != "/" }) })" }
      + ["wide \(wide)", "last \(try context.fetch(last).map(\.name))", "\(one == 1)"]
  }

  private func readStrict(_ context: ModelContext) throws -> [String] {
    let items = try context.fetch(FetchDescriptor<Changes.Strict.Item>())
    let tags = try context.fetch(FetchDescriptor<Changes.Strict.Tag>())
    let large = try context.fetchCount(FetchDescriptor<Changes.Strict.Item>(predicate: #Predicate { $0.size >= 3 }))
    return items.map { "\($0.name) \($0.size) \($0.note ?? "nil") \($0.mood) \($0.tag?.name ?? "none")" }
      + tags.map { tag in "\(tag.name): \(tag.favourite.map { [$0.name] } ?? [])" } + ["large \(large)"]
  }

  /// Rewrites every other object without changing what is read.
  func touch(_ context: ModelContext) throws {
    func touch<T: PersistentModel, V>(_ property: ReferenceWritableKeyPath<T, V>) throws {
      for (place, object) in try context.fetch(FetchDescriptor<T>()).enumerated() where place % 2 == 0 {
        object[keyPath: property] = object[keyPath: property]
      }
    }
    switch self {
    case .added: try touch(\Changes.Added.Item.rank)
    case .removed: try touch(\Changes.Removed.Item.size)
    case .renamed:
      try touch(\Changes.Renamed.Item.width)
      try touch(\Changes.Renamed.Reserve.number)
    case .renamedModels:
      try touch(\Changes.RenamedModels.Article.size)
      try touch(\Changes.RenamedModels.Label.name)
    case .loosened: try touch(\Changes.Loosened.Item.size)
    case .inherited: try touch(\Changes.Inherited.Item.size)
    case .linked:
      try touch(\Changes.Linked.Item.size)
      try touch(\Changes.Linked.Tag.name)
    case .inverse:
      try touch(\Changes.Inverse.Item.size)
      try touch(\Changes.Inverse.Tag.name)
    case .transformed: try touch(\Changes.Transformed.Item.note)
    case .strict: try touch(\Changes.Strict.Item.size)
    }
    try context.save()
  }
}
