/// XXH3 with 64 bits, bit for bit the function of xxHash 0.8 (`XXH3_64bits_withSeed`).
///
/// It is the one checksum of the file format: pages, journal groups and chunks of large values,
/// so that anybody can check a file with the reference library.
///
/// Bounds: each function reads `input` within its `count` bytes and the secret within its 192; where that
/// isn't plain a comment says why. The hash is defined with wrapping arithmetic, hence `&+`.
package enum XXH3 {
  /// The hash of `bytes`. O(n).
  package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
    guard let input = bytes.baseAddress, bytes.count > 0 else {
      return avalanche64(seed ^ XXH3Secret.emptyInput)
    }
    let count = bytes.count
    // Only long input takes the seed through the secret; the others mix it in themselves.
    return XXH3Secret.withBytes(seed: count > 240 ? seed : 0) { secret in
      switch count {
      case 1...3: hash1to3(input, count, secret, seed)
      case 4...8: hash4to8(input, count, secret, seed)
      case 9...16: hash9to16(input, count, secret, seed)
      case 17...128: hash17to128(input, count, secret, seed)
      case 129...240: hash129to240(input, count, secret, seed)
      default: hashLong(input, count, secret)
      }
    }
  }
}

// MARK: - Up to 240 bytes

extension XXH3 {
  private static func hash1to3(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    let first = UInt64(input.load(as: UInt8.self))
    let middle = UInt64(input.load(fromByteOffset: count / 2, as: UInt8.self))
    let last = UInt64(input.load(fromByteOffset: count - 1, as: UInt8.self))
    let combined = first << 16 | middle << 24 | last | UInt64(count) << 8
    let flip = UInt64(read32(secret, 0) ^ read32(secret, 4)) &+ seed
    return avalanche64(combined ^ flip)
  }

  private static func hash4to8(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    let spread = seed ^ UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped) << 32
    let flip = (read64(secret, 8) ^ read64(secret, 16)) &- spread
    var hash = (UInt64(read32(input, count - 4)) &+ UInt64(read32(input, 0)) << 32) ^ flip
    hash ^= (hash << 49 | hash >> 15) ^ (hash << 24 | hash >> 40)
    hash &*= 0x9FB2_1C65_1E98_DF25
    hash ^= (hash >> 35) &+ UInt64(count)
    hash &*= 0x9FB2_1C65_1E98_DF25
    return hash ^ hash >> 28
  }

  private static func hash9to16(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    let lowFlip = (read64(secret, 24) ^ read64(secret, 32)) &+ seed
    let highFlip = (read64(secret, 40) ^ read64(secret, 48)) &- seed
    let low = read64(input, 0) ^ lowFlip
    let high = read64(input, count - 8) ^ highFlip
    return avalanche(UInt64(count) &+ low.byteSwapped &+ high &+ foldedProduct(low, high))
  }

  /// Takes pairs of 16 bytes from both ends inwards; the pairs may overlap in the middle.
  private static func hash17to128(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    var hash = UInt64(count) &* prime64x1
    // The outermost of `pairs` reaches 16 * pairs <= (count + 31) / 2 <= count bytes from its end.
    let pairs = (count - 1) / 32 + 1
    for i in 0..<pairs {
      hash &+= mix16(input + 16 * i, secret + 32 * i, seed)
      hash &+= mix16(input + (count - 16 * (i + 1)), secret + (32 * i + 16), seed)
    }
    return avalanche(hash)
  }

  private static func hash129to240(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    var hash = UInt64(count) &* prime64x1
    for i in 0..<8 {
      hash &+= mix16(input + 16 * i, secret + 16 * i, seed)
    }
    hash = avalanche(hash)
    for i in 8..<(count / 16) {
      hash &+= mix16(input + 16 * i, secret + (16 * (i - 8) + 3), seed)
    }
    hash &+= mix16(input + (count - 16), secret + (136 - 17), seed)
    return avalanche(hash)
  }
}

// MARK: - Beyond 240 bytes

extension XXH3 {
  /// A stripe is 64 bytes, one per lane and step; a block 16 stripes, each with the secret 8 bytes
  /// further on, so that a block's last stripe uses the secret's bytes up to 8 * 15 + 64 = 184.
  private typealias Lanes = SIMD8<UInt64>
  private static let stripe = 64
  private static let stripesPerBlock = 16

  @inline(never)
  private static func hashLong(
    _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer
  ) -> UInt64 {
    var lanes = Lanes(
      0xC2B2_AE3D, prime64x1, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9,
      0x85EB_CA77_C2B2_AE63, 0x85EB_CA77, 0x27D4_EB2F_1656_67C5, 0x9E37_79B1)
    // The last stripe is taken apart, counted from the end; hence the blocks of all but one byte.
    let blocks = (count - 1) / (stripe * stripesPerBlock)
    var rest = input
    for _ in 0..<blocks {
      accumulate(rest, stripesPerBlock, secret, into: &lanes)
      scramble(&lanes, secret + (XXH3Secret.count - stripe))
      rest += stripe * stripesPerBlock
    }
    let wholeStripes = (count - 1 - blocks * stripe * stripesPerBlock) / stripe
    accumulate(rest, wholeStripes, secret, into: &lanes)
    accumulate(input + (count - stripe), 1, secret + (XXH3Secret.count - stripe - 7), into: &lanes)
    return merge(lanes, secret + 11, UInt64(count) &* prime64x1)
  }

  /// Each lane takes its neighbour's data and the product of the halves of its own, keyed.
  ///
  /// The reference swaps the neighbours in each stripe. Addition commutes, so once is enough.
  @inline(__always)
  private static func accumulate(
    _ input: UnsafeRawPointer, _ stripes: Int, _ secret: UnsafeRawPointer, into lanes: inout Lanes
  ) {
    var sums = Lanes.zero
    var i = 0
    while i < stripes {
      mix(input + i &* stripe, secret + i &* 8, sums: &sums, products: &lanes)
      i &+= 1
    }
    lanes &+= Lanes(sums[1], sums[0], sums[3], sums[2], sums[5], sums[4], sums[7], sums[6])
  }

  @inline(__always)
  private static func mix(
    _ input: UnsafeRawPointer, _ secret: UnsafeRawPointer, sums: inout Lanes, products: inout Lanes
  ) {
    #if DEBUG
      // Vectors are slow without optimization: a page would take 110 us instead of 35.
      var i = 0
      while i < 8 {
        let data = read64(input, i &* 8)
        let keyed = data ^ read64(secret, i &* 8)
        sums[i] &+= data
        products[i] &+= (keyed & 0xFFFF_FFFF) &* (keyed &>> 32)
        i &+= 1
      }
    #else
      let data = readLanes(input)
      let keyed = data ^ readLanes(secret)
      sums &+= data
      products &+= (keyed & 0xFFFF_FFFF) &* (keyed &>> 32)
    #endif
  }

  @inline(__always)
  private static func scramble(_ lanes: inout Lanes, _ secret: UnsafeRawPointer) {
    lanes ^= lanes &>> 47
    lanes ^= readLanes(secret)
    lanes &*= Lanes(repeating: 0x9E37_79B1)
  }

  private static func merge(_ lanes: Lanes, _ secret: UnsafeRawPointer, _ start: UInt64) -> UInt64 {
    var hash = start
    hash &+= foldedProduct(lanes[0] ^ read64(secret, 0), lanes[1] ^ read64(secret, 8))
    hash &+= foldedProduct(lanes[2] ^ read64(secret, 16), lanes[3] ^ read64(secret, 24))
    hash &+= foldedProduct(lanes[4] ^ read64(secret, 32), lanes[5] ^ read64(secret, 40))
    hash &+= foldedProduct(lanes[6] ^ read64(secret, 48), lanes[7] ^ read64(secret, 56))
    return avalanche(hash)
  }
}

// MARK: - Mixing

extension XXH3 {
  private static let prime64x1: UInt64 = 0x9E37_79B1_85EB_CA87

  @inline(__always)
  private static func mix16(
    _ input: UnsafeRawPointer, _ secret: UnsafeRawPointer, _ seed: UInt64
  ) -> UInt64 {
    foldedProduct(
      read64(input, 0) ^ (read64(secret, 0) &+ seed), read64(input, 8) ^ (read64(secret, 8) &- seed))
  }

  /// The exclusive or of both halves of the 128-bit product.
  @inline(__always)
  private static func foldedProduct(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.low ^ product.high
  }

  @inline(__always)
  private static func avalanche(_ value: UInt64) -> UInt64 {
    let hash = (value ^ value >> 37) &* 0x1656_6791_9E37_79F9
    return hash ^ hash >> 32
  }

  /// The final mixing of the older XXH64, which XXH3 keeps for inputs below 4 bytes.
  private static func avalanche64(_ value: UInt64) -> UInt64 {
    var hash = (value ^ value >> 33) &* 0xC2B2_AE3D_27D4_EB4F
    hash = (hash ^ hash >> 29) &* 0x1656_67B1_9E37_79F9
    return hash ^ hash >> 32
  }

  @inline(__always)
  private static func read32(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt32 {
    UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @inline(__always)
  private static func read64(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Eight little-endian words. All platforms of Swift are little-endian.
  @inline(__always)
  private static func readLanes(_ bytes: UnsafeRawPointer) -> Lanes {
    bytes.loadUnaligned(as: Lanes.self)
  }
}
