/// A fixed number of bits with searches for extents. Indices outside it are a caller's bug and trap.
struct Bitmap {
  private(set) var words: [UInt64]
  let count: Int

  init(count: Int) {
    self.count = count
    words = [UInt64](repeating: 0, count: (count + 63) / 64)
  }

  /// The bits of `bytes`: bit `i` is bit `i & 7` of byte `i / 8`. `count` is a multiple of 64.
  init(_ bytes: UnsafeRawBufferPointer) {
    count = bytes.count * 8
    words = (0..<bytes.count / 8).map { bytes.field($0 * 8) ?? 0 }
  }

  func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
    for (index, word) in words.enumerated() { bytes.setField(offset + index * 8, word) }
  }

  subscript(index: Int) -> Bool {
    words[index >> 6] >> UInt64(index & 63) & 1 != 0
  }

  /// Sets or clears a range of bits; returns how many changed.
  @discardableResult
  mutating func set(_ range: Range<Int>, to value: Bool) -> Int {
    var changed = 0
    var index = range.lowerBound
    while index < range.upperBound {
      let bit = index & 63
      let length = min(64 - bit, range.upperBound - index)
      let mask = (length == 64 ? UInt64.max : (1 << UInt64(length)) - 1) << UInt64(bit)
      let old = words[index >> 6]
      let new = value ? old | mask : old & ~mask
      changed += (old ^ new).nonzeroBitCount
      words[index >> 6] = new
      index += length
    }
    return changed
  }

  var zeroCount: Int { count - words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// The first index from `start` whose bit has `value`; `end` when there is none below it.
  func firstIndex(of value: Bool, from start: Int, below end: Int) -> Int {
    var index = start
    while index < end {
      let word = value ? words[index >> 6] : ~words[index >> 6]
      let rest = word >> UInt64(index & 63)
      if rest != 0 { return min(index + rest.trailingZeroBitCount, end) }
      index = (index | 63) + 1
    }
    return end
  }

  /// The first extent of at least `minimum` zero bits in `start..<end`, cut to `maximum`.
  func extent(from start: Int, below end: Int, minimum: Int, maximum: Int) -> Range<Int>? {
    var index = firstIndex(of: false, from: start, below: end)
    while index < end {
      let stop = firstIndex(of: true, from: index, below: min(end, index + maximum))
      if stop - index >= minimum { return index..<stop }
      index = firstIndex(of: false, from: stop, below: end)
    }
    return nil
  }
}
