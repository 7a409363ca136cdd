#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One component of a key, as it can be read without knowing what the key stands for.
public enum KeyComponent: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// An integer above `Int64.max`.
  case unsigned(UInt64)
  case double(Double)
  case decimal(Decimal)
  /// Seconds since 2001-01-01 00:00 UTC.
  case date(Double)
  case string(String)
  case bytes([UInt8])
  /// Sixteen bytes.
  case uuid([UInt8])
  /// A record's identifier.
  case identifier(UInt64)
}

extension KeyComponent: CustomStringConvertible {
  public var description: String {
    switch self {
    case .null: return "nil"
    case .bool(let value): return "\(value)"
    case .integer(let value): return "\(value)"
    case .unsigned(let value): return "\(value)"
    case .double(let value): return "\(value)"
    case .decimal(let value): return "\(value)"
    case .date(let seconds): return "date(\(seconds))"
    case .string(let value): return value.debugDescription
    case .bytes(let value): return "0x" + Self.hex(value)
    case .uuid(let value): return "uuid(\(Self.hex(value)))"
    case .identifier(let value): return "#\(value)"
    }
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
