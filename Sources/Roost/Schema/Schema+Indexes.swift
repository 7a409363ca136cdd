extension Schema {
  /// The indexes of a model, as `#Index` declares them.
  public final class Index<Model: PersistentModel>: Sendable {
    /// The kinds of index.
    public enum Types<Root>: @unchecked Sendable {
      /// An ordered index of the values of these properties, the first one most significant.
      case binary([PartialKeyPath<Root>])
      /// Accepted and kept as an ordered index.
      case rtree([PartialKeyPath<Root>])
    }

    public let indices: [Types<Model>]

    public init(_ indices: [PartialKeyPath<Model>]...) {
      self.indices = indices.map { .binary($0) }
    }

    public init(_ indices: Types<Model>...) {
      self.indices = indices
    }
  }

  /// The uniqueness rules of a model, as `#Unique` declares them.
  public final class Unique<Model: PersistentModel>: @unchecked Sendable {
    /// In each list, properties whose values together differ between any two objects.
    public let constraints: [[PartialKeyPath<Model>]]

    public init(_ constraints: [PartialKeyPath<Model>]...) {
      self.constraints = constraints
    }
  }
}
