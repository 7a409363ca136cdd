/// The first byte of a key component: says what the component is, and orders components of different kinds.
///
/// No tag is 0x00 or 0xFF: an escaped zero inside a string (00 FF) then sorts above the string's end
/// followed by any component.
enum KeyTag {
  static let null: UInt8 = 0x05
  static let no: UInt8 = 0x08
  static let yes: UInt8 = 0x09
  /// Integers: the tag is this plus the number of magnitude bytes, or less it for negative numbers.
  static let zero: UInt8 = 0x20
  static let integers: ClosedRange<UInt8> = 0x18...0x28
  static let double: UInt8 = 0x30
  static let decimal: UInt8 = 0x31
  static let date: UInt8 = 0x34
  static let string: UInt8 = 0x40
  static let bytes: UInt8 = 0x44
  static let uuid: UInt8 = 0x48
  static let identifier: UInt8 = 0x50

  /// Follows a zero byte that belongs to a string's content.
  static let escapedZero: UInt8 = 0xFF
}
