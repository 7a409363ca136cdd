import Foundation
import Roost

/// One first version, and second versions that differ from it in one thing each.
enum Changes {
  enum Mood: String, Codable { case calm, cross }
  enum WiderMood: String, Codable { case calm, cross, merry }

  enum V1: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self, Spare.self] }
    @Model final class Item {
      #Index<Item>([\.size])
      var name: String
      var size: Int32
      var note: String?
      var mood: Mood
      var tag: Tag?
      init(_ name: String, _ size: Int32, _ note: String?, _ mood: Mood, _ tag: Tag?) {
        self.name = name
        self.size = size
        self.note = note
        self.mood = mood
        self.tag = tag
      }
    }
    @Model final class Tag {
      var name: String
      @Relationship(inverse: nil) var favourites: [Item] = []
      init(_ name: String) { self.name = name }
    }
    @Model final class Spare {
      @Attribute(.unique) var key: Int
      init(_ key: Int) { self.key = key }
    }
  }

  enum Added: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self, V1.Spare.self, Fresh.self] }
    @Model final class Item {
      #Index<Item>([\.size], [\.rank, \.name])
      var name: String
      var size: Int32
      var note: String?
      var mood: Mood
      var tag: Tag?
      var rank = 7
      var stamp = UUID()
      var remark: String?
      var extra: [Fresh] = []
      init() { (name, size, mood) = ("", 0, .calm) }
    }
    @Model final class Tag {
      var name: String
      @Relationship(inverse: nil) var favourites: [Item] = []
      init(_ name: String) { self.name = name }
    }
    @Model final class Fresh {
      var value = 1
      init() {}
    }
  }

  enum Removed: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self] }
    @Model final class Item {
      var name: String
      var size: Int32
      var mood: Mood
      var tag: Tag?
      init() { (name, size, mood) = ("", 0, .calm) }
    }
    @Model final class Tag {
      var name: String
      init(_ name: String) { self.name = name }
    }
  }

  enum Renamed: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self, Reserve.self] }
    @Model final class Item {
      #Index<Item>([\.width])
      @Attribute(originalName: "name") var title: String
      @Attribute(originalName: "size") var width: Int32
      var note: String?
      var mood: Mood
      @Relationship(originalName: "tag") var label: Tag?
      init() { (title, width, mood) = ("", 0, .calm) }
    }
    @Model final class Tag {
      var name: String
      @Relationship(originalName: "favourites", inverse: nil) var best: [Item] = []
      init(_ name: String) { self.name = name }
    }
    @Model(originalName: "Spare") final class Reserve {
      @Attribute(.unique, originalName: "key") var number: Int
      init(_ number: Int) { self.number = number }
    }
  }

  enum RenamedModels: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Article.self, Label.self, V1.Spare.self] }
    @Model(originalName: "Item") final class Article {
      #Index<Article>([\.size])
      var name: String
      var size: Int32
      var note: String?
      var mood: Mood
      var tag: Label?
      init() { (name, size, mood) = ("", 0, .calm) }
    }
    @Model(originalName: "Tag") final class Label {
      var name: String
      @Relationship(inverse: nil) var favourites: [Article] = []
      init(_ name: String) { self.name = name }
    }
  }

  enum Loosened: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self, Spare.self] }
    @Model final class Item {
      var name: String?
      var size: Int
      var note: String = "none"
      var mood: WiderMood
      @Relationship(deleteRule: .cascade) var tag: Tag?
      init() { (size, mood) = (0, .merry) }
    }
    @Model final class Tag {
      var name: String
      @Relationship(inverse: nil) var favourites: [Item] = []
      init(_ name: String) { self.name = name }
    }
    @Model final class Spare {
      var key: Int
      init(_ key: Int) { self.key = key }
    }
  }

  enum Inherited: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Thing.self, Item.self, Tag.self, V1.Spare.self] }
    @Model class Thing {
      var name: String
      init(_ name: String) { self.name = name }
    }
    @Model final class Item: Thing {
      #Index<Item>([\.size])
      var size: Int32 = 0
      var note: String?
      var mood: Mood = Mood.calm
      var tag: Tag?
      override init(_ name: String) { super.init(name) }
    }
    @Model final class Tag {
      var name: String
      @Relationship(inverse: nil) var favourites: [Item] = []
      init(_ name: String) { self.name = name }
    }
  }

  /// The tag becomes tags, whose items know of it; what the favourites are of is known too.
  enum Linked: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self, V1.Spare.self] }
    @Model final class Item {
      #Index<Item>([\.size])
      var name: String
      var size: Int32
      var note: String?
      var mood: Mood
      @Relationship(originalName: "tag") var tags: [Tag] = []
      var admirers: [Tag] = []
      init() { (name, size, mood) = ("", 0, .calm) }
    }
    @Model final class Tag {
      var name: String
      @Relationship(inverse: \Item.admirers) var favourites: [Item] = []
      @Relationship(inverse: \Item.tags) var items: [Item] = []
      init(_ name: String) { self.name = name }
    }
  }

  /// The tag's items are known.
  enum Inverse: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self, V1.Spare.self] }
    @Model final class Item {
      #Index<Item>([\.size])
      var name: String
      var size: Int32
      var note: String?
      var mood: Mood
      var tag: Tag?
      init() { (name, size, mood) = ("", 0, .calm) }
    }
    @Model final class Tag {
      var name: String
      @Relationship(inverse: nil) var favourites: [Item] = []
      @Relationship(inverse: \Item.tag) var items: [Item] = []
      init(_ name: String) { self.name = name }
    }
  }

  /// Values made of the old ones: another type, and one from two.
  enum Transformed: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self, V1.Spare.self] }
    @Model final class Item {
      #Index<Item>([\.size], [\.name])
      var name: String
      var size: String
      var note: String
      var mood: Mood
      var tag: Tag?
      init() { (name, size, note, mood) = ("", "", "", .calm) }
    }
    @Model final class Tag {
      var name: String
      @Relationship(inverse: nil) var favourites: [Item] = []
      init(_ name: String) { self.name = name }
    }

    static func label(_ name: String, _ size: Int32) -> String { "\(name)/\(size)" }
    static var transform: RecordTransform {
      .pure(from: V1.Item.self, to: Item.self) { old, new in
        new.set(\.name, to: label(old[\.name], old[\.size]))
        new.set(\.size, to: "\(old[\.size]) cm")
        new.set(\.note, to: old[\.note] ?? "-")
      }
    }
  }

  /// What every record has to be looked at for.
  enum Strict: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Item.self, Tag.self, V1.Spare.self] }
    @Model final class Item {
      #Index<Item>([\.size])
      @Attribute(.unique) var name: String
      var size: Int8
      var note: String?
      var mood: Mood
      var tag: Tag?
      init() { (name, size, mood) = ("", 0, .calm) }
    }
    @Model final class Tag {
      var name: String
      @Relationship(originalName: "favourites", inverse: nil) var favourite: Item?
      init(_ name: String) { self.name = name }
    }
  }

  enum AddedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Added.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: Added.self)] }
  }
  enum RemovedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Removed.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: Removed.self)] }
  }
  enum RenamedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Renamed.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: Renamed.self)] }
  }
  enum RenamedModelsPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, RenamedModels.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: RenamedModels.self)] }
  }
  enum LoosenedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Loosened.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: Loosened.self)] }
  }
  enum InheritedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Inherited.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: Inherited.self)] }
  }
  enum LinkedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Linked.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: Linked.self)] }
  }
  enum InversePlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Inverse.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: Inverse.self)] }
  }
  enum TransformedPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Transformed.self] }
    static var stages: [MigrationStage] {
      [.perRecord(fromVersion: V1.self, toVersion: Transformed.self, transforms: [Transformed.transform])]
    }
  }
  /// The stage that records wait for is gone.
  enum ForgetfulPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Transformed.self] }
    static var stages: [MigrationStage] { [] }
  }
  enum StrictPlan: SchemaMigrationPlan {
    static var schemas: [any VersionedSchema.Type] { [V1.self, Strict.self] }
    static var stages: [MigrationStage] { [.lightweight(fromVersion: V1.self, toVersion: Strict.self)] }
  }
}
