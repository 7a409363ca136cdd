import Foundation

/// What `localizedDescription` and the system's alerts show.
extension StoreError: LocalizedError {
  /// What happened, and where.
  public var errorDescription: String? { description }
  /// What happened, without the place.
  public var failureReason: String? { message }
  /// What can be done about it.
  public var recoverySuggestion: String? { remedy }
}
