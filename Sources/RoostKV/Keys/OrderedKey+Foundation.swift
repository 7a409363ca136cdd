#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Ordered by bytes; `Data` and `[UInt8]` share one encoding.
extension Data: OrderedKey {
  public func encode(to encoder: inout KeyEncoder) {
    encoder.appendTag(KeyTag.bytes)
    withUnsafeBytes { encoder.appendEscaped($0) }
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    self = Data(try [UInt8](from: &decoder))
  }
}

/// A date is the exact number of seconds since 2001-01-01 00:00 UTC, a Double.
extension Date: OrderedKey {
  public func encode(to encoder: inout KeyEncoder) {
    encoder.appendTag(KeyTag.date)
    encoder.appendOrderedDouble(timeIntervalSinceReferenceDate)
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    guard case .date(let seconds) = try decoder.next() else { throw KeyDecoder.error("a Date is expected") }
    self.init(timeIntervalSinceReferenceDate: seconds)
  }
}

/// Ordered by the sixteen bytes.
extension UUID: OrderedKey {
  public func encode(to encoder: inout KeyEncoder) {
    encoder.appendTag(KeyTag.uuid)
    withUnsafeBytes(of: uuid) { encoder.appendRaw($0) }
  }

  public init(from decoder: inout KeyDecoder) throws(StoreError) {
    guard case .uuid(let bytes) = try decoder.next() else { throw KeyDecoder.error("a UUID is expected") }
    var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: bytes) }
    self.init(uuid: value)
  }
}
