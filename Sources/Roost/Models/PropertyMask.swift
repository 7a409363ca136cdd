/// A set of property indices in one word.
///
/// Bit 63 stands for every property from index 63 on, so a model may have any number of
/// properties; those beyond 63 merely change together.
public struct PropertyMask: Hashable, Sendable {
  public var bits: UInt64

  @inlinable public init(bits: UInt64 = 0) { self.bits = bits }

  /// Every property of any model.
  @inlinable public static var all: PropertyMask { PropertyMask(bits: .max) }

  @inlinable public var isEmpty: Bool { bits == 0 }

  @inlinable public static func bit(_ index: Int) -> UInt64 {
    1 << UInt64(truncatingIfNeeded: index < 63 ? index : 63)
  }

  @inlinable public func contains(_ index: Int) -> Bool { bits & Self.bit(index) != 0 }
  @inlinable public mutating func insert(_ index: Int) { bits |= Self.bit(index) }
  @inlinable public mutating func remove(_ index: Int) { bits &= ~Self.bit(index) }
  @inlinable public mutating func formUnion(_ other: PropertyMask) { bits |= other.bits }
  @inlinable public func subtracting(_ other: PropertyMask) -> PropertyMask {
    PropertyMask(bits: bits & ~other.bits)
  }
  @inlinable public func intersection(_ other: PropertyMask) -> PropertyMask {
    PropertyMask(bits: bits & other.bits)
  }
}
