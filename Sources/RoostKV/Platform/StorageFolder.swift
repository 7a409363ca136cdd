/// What making a new file asks of the folder it is made in.
package protocol StorageFolder {
  /// Makes an empty file, for reading and writing.
  /// - Throws: `fileExists`.
  func makeFile(_ name: String, permissions: UInt16) throws(StoreError) -> any StorageFile

  /// Gives a file of the folder another name besides, or instead of, its own. Does nothing if there is a file of that
  /// name.
  func name(_ file: String, _ name: String) throws(StoreError)

  /// Takes a name away. Failures don't matter.
  func remove(_ name: String)

  /// Returns when the names are durable.
  func flush() throws(StoreError)
}

extension StorageFolder {
  /// Makes a file of the given bytes, durable with its name. Does nothing when there is a file of that name by now.
  /// [C-10]
  ///
  /// The bytes are written under another name, which is then given up for the right one: a crash leaves at most the
  /// other name.
  package func create(
    _ name: String, _ bytes: [UInt8], permissions: UInt16, _ runtime: any Runtime
  ) throws(StoreError) {
    let temporary = name + ".new-" + String(runtime.randomSeed(), radix: 36)
    do throws(StoreError) {
      let file = try makeFile(temporary, permissions: permissions)
      defer { file.close() }
      try bytes.withBytes { (bytes) throws(StoreError) in try file.write(bytes, at: 0) }
      try file.flush()
    } catch {
      remove(temporary)
      throw error
    }
    defer { remove(temporary) }
    try self.name(temporary, name)
    try flush()
  }
}
