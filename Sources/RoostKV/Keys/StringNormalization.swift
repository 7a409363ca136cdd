#if canImport(Darwin)
  import Foundation
#else
  @_spi(_Unicode) import Swift
#endif

extension String {
  /// The string in Unicode's normal form C, as Swift's own comparison of strings uses it.
  package var normalized: String {
    #if canImport(Darwin)
      return precomposedStringWithCanonicalMapping
    #else
      // Not Foundation's: off Apple's systems it composes some unrelated scalars (U+10041 with U+0301).
      var scalars = String.UnicodeScalarView()
      for scalar in _nfc { scalars.append(scalar) }
      return String(scalars)
    #endif
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether UTF-8 text is certainly in normal form C: each scalar below U+0300 is, whatever stands beside it.
  ///
  /// The scalars from U+0300 on have lead bytes from 0xCC on.
  package var isKnownNormal: Bool {
    allSatisfy { $0 < 0xCC }
  }
}
