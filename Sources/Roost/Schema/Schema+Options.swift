extension Schema.Attribute {
  /// How an attribute is stored.
  public struct Option: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
      case unique, externalStorage, allowsCloudEncryption, preserveValueOnDeletion, ephemeral
      case spotlight, codable
    }

    package let kind: Kind

    package init(kind: Kind) { self.kind = kind }

    /// No two objects of the entity have the same value: inserting a second one updates the first.
    public static var unique: Option { Option(kind: .unique) }

    /// Large values are kept beside the record, so that reading the rest of it stays cheap.
    public static var externalStorage: Option { Option(kind: .externalStorage) }

    /// Accepted for the sake of shared source; there is no cloud to encrypt for.
    public static var allowsCloudEncryption: Option { Option(kind: .allowsCloudEncryption) }

    /// The value is kept in the store's history when the object is deleted.
    public static var preserveValueOnDeletion: Option { Option(kind: .preserveValueOnDeletion) }

    /// The property is observed but not stored.
    public static var ephemeral: Option { Option(kind: .ephemeral) }

    /// Accepted for the sake of shared source; there is no search index of the system here.
    public static var spotlight: Option { Option(kind: .spotlight) }

    /// The value is stored through its Codable conformance, which every value without a form of its
    /// own is anyway.
    public static var codable: Option { Option(kind: .codable) }
  }
}

extension Schema.Relationship {
  /// How a relationship is stored.
  public struct Option: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
      case unique
    }

    package let kind: Kind

    package init(kind: Kind) { self.kind = kind }

    /// No two objects refer to the same one.
    public static var unique: Option { Option(kind: .unique) }
  }

  /// What deleting an object does to those it refers to.
  public enum DeleteRule: String, Codable, Hashable, Sendable, CaseIterable {
    /// Nothing.
    case noAction
    /// Their reference back becomes nil, or loses the object.
    case nullify
    /// They are deleted as well.
    case cascade
    /// The deletion fails while there are any.
    case deny
  }
}
