/// Something that can be given to the store as a key or a value.
public protocol ByteSource {
  /// Calls `body` with the bytes, which are valid only during the call.
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R
}

extension Array: ByteSource where Element == UInt8 {
  /// Calls `body` with the array's bytes, in place.
  @inlinable
  public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBufferPointer { (buffer) throws(E) -> R in try body(UnsafeRawBufferPointer(buffer)) }
  }
}

extension ArraySlice: ByteSource where Element == UInt8 {
  /// Calls `body` with the slice's bytes, in place.
  @inlinable
  public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBufferPointer { (buffer) throws(E) -> R in try body(UnsafeRawBufferPointer(buffer)) }
  }
}

extension UnsafeRawBufferPointer: ByteSource {
  /// Calls `body` with the buffer itself.
  @inlinable
  public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try body(self)
  }
}

/// A string stands for its UTF-8 bytes, as they are (no normalisation).
extension String: ByteSource {
  /// Calls `body` with the string's UTF-8 bytes; a string in another form is copied first.
  @inlinable
  public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    var copy = self
    // `withUTF8` rethrows untyped errors; a Result carries the typed one through it.
    let result: Result<R, E> = copy.withUTF8 { buffer in
      do throws(E) { return .success(try body(UnsafeRawBufferPointer(buffer))) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
