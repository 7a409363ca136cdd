import Foundation
import Roost
import TestSupport

/// What the objects of the first version are, in plain values: what any version's have to be told from.
struct PlainItem {
  var name: String
  var size: Int32
  var note: String?
  var mood: Changes.Mood
  var tag: Int?
}

struct PlainStore {
  static let tags = ["red", "green", "blue"]
  var items: [PlainItem] = []
  /// By tag: its favourites, in their order.
  var favourites: [[Int]] = []

  init(seed: UInt64, count: Int = 12) {
    var random = SplitMix64(seed: seed)
    for index in 0..<count {
      items.append(
        PlainItem(
          name: "item \(index)", size: Int32.random(in: 0..<5, using: &random),
          note: Bool.random(using: &random) ? "note \(index % 3)" : nil,
          mood: Bool.random(using: &random) ? .calm : .cross, tag: [nil, 0, 1, 2].randomElement(using: &random) ?? nil))
    }
    // None is the favourite of two tags: each could have one tag only.
    let order = (0..<count).shuffled(using: &random)
    favourites = [Array(order[0..<1]), Array(order[1..<2]), []]
  }

  /// Makes the objects of the first version.
  func fill(_ context: ModelContext) throws {
    let tags = Self.tags.map { Changes.V1.Tag($0) }
    for tag in tags { context.insert(tag) }
    let objects = items.map { item in
      Changes.V1.Item(item.name, item.size, item.note, item.mood, item.tag.map { tags[$0] })
    }
    for object in objects { context.insert(object) }
    for (tag, members) in zip(tags, favourites) { tag.favourites = members.map { objects[$0] } }
    for key in 0..<5 { context.insert(Changes.V1.Spare(key)) }
    try context.save()
  }

  func tagName(_ item: PlainItem) -> String { item.tag.map { Self.tags[$0] } ?? "none" }

  func items(of tag: Int) -> [String] { items.filter { $0.tag == tag }.map(\.name) }
  func favourites(of tag: Int) -> [String] { favourites[tag].map { items[$0].name } }

  /// Lines that all versions have in common, and one's own.
  func lines(_ own: (PlainItem) -> String) -> [String] { items.map(own) }
}

/// A kind of change: what a program of the second version has to read in a store of the first.
enum ChangeCase: String, CaseIterable, Sendable {
  case added, removed, renamed, renamedModels, loosened, inherited, linked, inverse, transformed, strict

  var version: any VersionedSchema.Type {
    switch self {
    case .added: Changes.Added.self
    case .removed: Changes.Removed.self
    case .renamed: Changes.Renamed.self
    case .renamedModels: Changes.RenamedModels.self
    case .loosened: Changes.Loosened.self
    case .inherited: Changes.Inherited.self
    case .linked: Changes.Linked.self
    case .inverse: Changes.Inverse.self
    case .transformed: Changes.Transformed.self
    case .strict: Changes.Strict.self
    }
  }

  var plan: any SchemaMigrationPlan.Type {
    switch self {
    case .added: Changes.AddedPlan.self
    case .removed: Changes.RemovedPlan.self
    case .renamed: Changes.RenamedPlan.self
    case .renamedModels: Changes.RenamedModelsPlan.self
    case .loosened: Changes.LoosenedPlan.self
    case .inherited: Changes.InheritedPlan.self
    case .linked: Changes.LinkedPlan.self
    case .inverse: Changes.InversePlan.self
    case .transformed: Changes.TransformedPlan.self
    case .strict: Changes.StrictPlan.self
    }
  }

  /// Whether the change asks for a look at the records.
  var isLazy: Bool { self != .strict }

  /// What the program is to read.
  func expected(_ plain: PlainStore) -> [String] {
    func item(_ item: PlainItem) -> String {
      "\(item.name) \(item.size) \(item.note ?? "nil") \(item.mood) \(plain.tagName(item))"
    }
    let favourites = PlainStore.tags.indices.map { "\(PlainStore.tags[$0]): \(plain.favourites(of: $0))" }
    let large = "large \(plain.items.count { $0.size >= 3 })"
    switch self {
    case .added:
      return plain.lines { "\(item($0)) 7 nil []" } + favourites + [large, "ranked \(plain.items.count)", "one stamp"]
    case .removed:
      return plain.lines { "\($0.name) \($0.size) \($0.mood) \(plain.tagName($0))" } + [large]
    case .renamed:
      return plain.lines(item) + favourites + [large, "[0, 1, 2, 3, 4]"]
    case .renamedModels, .inherited, .strict:
      return plain.lines(item) + favourites + [large]
    case .loosened:
      let none = plain.items.count { $0.note == nil }
      return plain.lines {
        "\($0.name) \($0.size) \($0.note ?? "none") \($0.mood) \(plain.tagName($0))"
      } + favourites + [large, "without \(none)", "[0, 1, 2, 3, 4]"]
    case .linked:
      return plain.lines { each in
        let admirers = PlainStore.tags.indices.filter { plain.favourites(of: $0).contains(each.name) }
        return "\(each.name) \(each.tag.map { [PlainStore.tags[$0]] } ?? []) \(admirers.map { PlainStore.tags[$0] })"
      } + favourites + PlainStore.tags.indices.map { "\(plain.items(of: $0))" } + [large]
    case .inverse:
      return plain.lines(item) + favourites + PlainStore.tags.indices.map { "\(plain.items(of: $0))" } + [large]
    case .transformed:
      let labels = plain.items.map { Changes.Transformed.label($0.name, $0.size) }
      let sorted = labels.sorted(by: >).prefix(3)
      return zip(plain.items, labels).map {
        "\($1) \($0.size) cm \($0.note ?? "-") \($0.mood) \(plain.tagName($0))"
      } + favourites + [
        "wide \(plain.items.count { $0.size == 3 })", "last \(Array(sorted))", "\(labels.contains("item 3/1"))",
      ]
    }
  }
}
