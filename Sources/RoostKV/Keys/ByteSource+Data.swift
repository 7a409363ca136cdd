import Foundation

extension Data: ByteSource {
  /// Calls `body` with the bytes, in place.
  public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    // `withUnsafeBytes` rethrows untyped errors; a Result carries the typed one through it.
    let result: Result<R, E> = withUnsafeBytes { bytes in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
