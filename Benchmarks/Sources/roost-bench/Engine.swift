/// A store under measurement.
protocol Engine: AnyObject {
  static var name: String { get }
  init(folder: String) throws
  /// One durable transaction.
  func put(_ workload: Workload, _ numbers: some Collection<Int>) throws
  /// One read transaction; returns the values' touched sum.
  func get(_ workload: Workload, _ numbers: some Collection<Int>) throws -> UInt64
  /// Every key and value once, in order.
  func scan() throws -> UInt64
  /// Brings everything to where it stays.
  func settle() throws
  /// Bytes of the files.
  func size() throws -> Int
  func close() throws
}
