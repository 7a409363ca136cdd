/// A type with a column form of its own: what a record holds without a self-describing wrapper.
public protocol PersistentScalar {
  /// Zero, empty or nil.
  static var _$neutral: Self { get }
}

extension Bool: PersistentScalar { public static var _$neutral: Bool { false } }
extension Int: PersistentScalar { public static var _$neutral: Int { 0 } }
extension Int8: PersistentScalar { public static var _$neutral: Int8 { 0 } }
extension Int16: PersistentScalar { public static var _$neutral: Int16 { 0 } }
extension Int32: PersistentScalar { public static var _$neutral: Int32 { 0 } }
extension Int64: PersistentScalar { public static var _$neutral: Int64 { 0 } }
extension UInt: PersistentScalar { public static var _$neutral: UInt { 0 } }
extension UInt8: PersistentScalar { public static var _$neutral: UInt8 { 0 } }
extension UInt16: PersistentScalar { public static var _$neutral: UInt16 { 0 } }
extension UInt32: PersistentScalar { public static var _$neutral: UInt32 { 0 } }
extension UInt64: PersistentScalar { public static var _$neutral: UInt64 { 0 } }
extension Float: PersistentScalar { public static var _$neutral: Float { 0 } }
extension Double: PersistentScalar { public static var _$neutral: Double { 0 } }
extension String: PersistentScalar { public static var _$neutral: String { "" } }
extension Data: PersistentScalar { public static var _$neutral: Data { Data() } }
extension Date: PersistentScalar {
  public static var _$neutral: Date { Date(timeIntervalSinceReferenceDate: 0) }
}
extension UUID: PersistentScalar {
  public static var _$neutral: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
}
extension URL: PersistentScalar { public static var _$neutral: URL { URL(filePath: "/") } }
extension Decimal: PersistentScalar { public static var _$neutral: Decimal { 0 } }
extension Optional: PersistentScalar where Wrapped: PersistentScalar {
  public static var _$neutral: Wrapped? { nil }
}
