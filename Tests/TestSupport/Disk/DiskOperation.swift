/// What happened to a simulated file, in order. A power loss is thought of between any two of these.
package enum DiskOperation: Sendable {
  case write(offset: Int, bytes: [UInt8])
  /// The bytes of the write before, which a durable write has now made durable.
  case persist(Range<Int>)
  case resize(Int)
  case flush
  /// A flush that failed, or only said that it had worked: a part of what was written has become durable, and the
  /// system
  /// takes the rest for done. With `reverts`, reads show from now on what the disk holds.
  case forget(seed: UInt64, reverts: Bool)
}
