import RoostKV
import Testing

/// Fails the test, and ends it, when a check of the store finds a problem.
func requireSound(_ store: Store, _ moment: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let problems = try store.check().problems
  try #require(problems.isEmpty, "\(moment): \(problems.prefix(5))", sourceLocation: sourceLocation)
}
