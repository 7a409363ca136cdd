import Foundation

/// A failure that a simulated disk is to show.
package struct DiskFault: Sendable {
  package enum Operation: Int, Sendable, Hashable, CaseIterable {
    case read, write, writeDurably, flush, grow, truncate, populate
  }

  /// What a failed flush leaves, as systems differ.
  package enum AfterFlush: Sendable {
    /// The writes are still to be made durable.
    case pending
    /// The system takes them for done, though only some are; reads show them all. So does Linux.
    case forgotten
    /// As before, and reads show again what the disk holds.
    case reverted
  }

  package enum Effect: Sendable {
    /// The call does nothing and throws the error of this number.
    case error(Int32)
    /// A write writes its first bytes, up to the count, and then fails.
    case partial(Int, Int32)
    /// A flush fails.
    case flush(Int32, AfterFlush)
    /// A flush returns well and does nothing; a durable write isn't durable.
    case lie
    /// A flush returns well although writes got lost; the next one fails.
    case late(Int32)
  }

  let operation: Operation
  let call: Int
  let effect: Effect
  let lasting: Bool

  /// - Parameters:
  ///   - call: which call of the operation from now on fails; 0 is the next.
  ///   - lasting: whether those after it fail too.
  package init(
    _ operation: Operation, call: Int = 0, _ effect: Effect = .error(EIO), lasting: Bool = false
  ) {
    self.operation = operation
    self.call = call
    self.effect = effect
    self.lasting = lasting
  }
}
