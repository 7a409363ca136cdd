// Bounds: the secret is three vectors of 64 bytes, together the 192 that readers of it stay within.

/// The 192 constant bytes that XXH3 mixes with its input.
enum XXH3Secret {
  static let count = 192

  /// The words at bytes 56 and 64, which is all that the hash of no bytes depends on.
  static let emptyInput: UInt64 = 0x4C26_3A81_E690_35E0 ^ 0xCB00_C391_BB52_283C

  /// Calls `body` with the secret derived from `seed`; 0 gives the plain one.
  ///
  /// It is written to the stack in each call: a dozen nanoseconds, less than a lazy global and a
  /// separate way for seeds are worth.
  @inline(__always)
  static func withBytes<R>(seed: UInt64, _ body: (UnsafeRawPointer) -> R) -> R {
    var words = derived(from: seed)
    return withUnsafeBytes(of: &words) { body($0.baseAddress.unsafelyUnwrapped) }
  }

  /// Even words grow by the seed, odd words shrink.
  @inline(__always)
  private static func derived(from seed: UInt64) -> (SIMD8<UInt64>, SIMD8<UInt64>, SIMD8<UInt64>) {
    let up = seed, down = 0 &- seed
    let change = SIMD8(up, down, up, down, up, down, up, down)
    return (
      SIMD8(
        0xBE4B_A423_396C_FEB8, 0x1CAD_21F7_2C81_017C, 0xDB97_9083_E96D_D4DE, 0x1F67_B3B7_A4A4_4072,
        0x78E5_C0CC_4EE6_79CB, 0x2172_FFCC_7DD0_5A82, 0x8E24_43F7_7446_08B8, 0x4C26_3A81_E690_35E0)
        &+ change,
      SIMD8(
        0xCB00_C391_BB52_283C, 0xA32E_531B_8B65_D088, 0x4EF9_0DA2_9748_6471, 0xD8AC_DEA9_46EF_1938,
        0x3F34_9CE3_3F76_FAA8, 0x1D4F_0BC7_C7BB_DCF9, 0x3159_B4CD_4BE0_518A, 0x6473_78D9_C97E_9FC8)
        &+ change,
      SIMD8(
        0xC3EB_D334_83AC_C5EA, 0xEB63_13FA_FFA0_81C5, 0x49DA_F0B7_51DD_0D17, 0x9E68_D429_2655_16D3,
        0xFCA1_477D_58BE_162B, 0xCE31_D07A_D1B8_F88F, 0x2804_1695_8F3A_CB45, 0x7E40_4BBB_CAFB_D7AF)
        &+ change
    )
  }
}
