/// Follows a tree of a damaged file from its root as far as it can be read, in key order.
///
/// Levels fall with each step, and a page is entered once, so the walk of a hostile file ends.
struct SalvageWalk {
  /// A part of a tree that can't be read, and what its parent says of it.
  struct Loss {
    var reference: Reference
    /// An intact page that isn't the one referred to lies there.
    var isOther: Bool
    var reason: String
    /// Keys of the part lie from here on, up to and without `upper`.
    var lower: [UInt8]?
    var upper: [UInt8]?
  }

  let source: SalvageSource

  /// - Parameters:
  ///   - claim: whether a page is entered for the first time.
  ///   - leaf: called with each leaf that can be read; it is valid until the source is asked for another page.
  ///   - lost: called with each part that can't be read.
  func walk(
    _ root: TreeRoot, claim: (UInt64) -> Bool, leaf: (LeafPage) throws(StoreError) -> Void,
    lost: (Loss) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard root.height > 0, Int(root.height) <= TreeRoot.maximumHeight else { return }
    try walk(root.reference, Int(root.height) - 1, (nil, nil), claim, leaf, lost)
  }

  private typealias Bounds = (lower: [UInt8]?, upper: [UInt8]?)

  private func walk(
    _ reference: Reference, _ level: Int, _ bounds: Bounds, _ claim: (UInt64) -> Bool,
    _ leaf: (LeafPage) throws(StoreError) -> Void, _ lost: (Loss) throws(StoreError) -> Void
  ) throws(StoreError) {
    var loss = Loss(reference: reference, isOther: false, reason: "", lower: bounds.lower, upper: bounds.upper)
    guard claim(reference.page) else {
      loss.reason = "the page is referred to twice"
      return try lost(loss)
    }
    switch source.treePage(reference, level: level) {
    case .damaged:
      loss.reason = "the page isn't what was written, or can't be read"
      return try lost(loss)
    case .other:
      (loss.reason, loss.isOther) = ("the page holds another state than the one referred to", true)
      return try lost(loss)
    case .page(let page):
      if level == 0 { return try leaf(LeafPage(page, source.geometry.pageSize)) }
      // The children are copied, since the page's bytes go with the next one.
      let children = try Self.children(BranchPage(page, source.geometry.pageSize))
      for (index, child) in children.enumerated() {
        let lower = index == 0 ? bounds.lower : child.key
        let upper = index + 1 < children.count ? children[index + 1].key : bounds.upper
        try walk(child.reference, level - 1, (lower, upper), claim, leaf, lost)
      }
    }
  }

  private static func children(_ page: BranchPage) throws(StoreError) -> [(key: [UInt8], reference: Reference)] {
    let count = page.count
    let buffer = KeyBuffer(pageSize: page.pageSize)
    var children: [(key: [UInt8], reference: Reference)] = []
    for index in 0..<count {
      let key = try buffer.fill { (bytes, capacity) throws(StoreError) in
        try page.copyKey(index, of: count, to: bytes, capacity: capacity)
      }
      children.append((Array(key), page.child(index, of: count)))
    }
    return children
  }
}

extension LeafPage {
  /// The whole key of an entry.
  func wholeKey(_ index: Int, _ buffer: KeyBuffer) throws(StoreError) -> UnsafeRawBufferPointer {
    try buffer.fill { (bytes, capacity) throws(StoreError) in
      try copyKey(index, of: count, to: bytes, capacity: capacity)
    }
  }
}

/// Byte order, a prefix first.
func isBelow(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  a.withUnsafeBytes { a in b.withUnsafeBytes { b in KeyBytes.compare(a, b) < 0 } }
}
