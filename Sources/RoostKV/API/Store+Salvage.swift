extension Store {
  /// Rebuilds a store from whatever of a damaged file can be read, as a new file.
  ///
  /// Each entry in the new store is one that the damaged store held: every byte was verified. All on unharmed pages comes
  /// back, whatever else is damaged; the report says what is lost, and where it can't be told how new an entry is. The
  /// input is opened read-only and never changed; no lock is taken, so nobody may write it meanwhile. Memory grows with the
  /// damage, not with the store.
  ///
  /// O(size of the file); it is read twice, and a third time where something is missing.
  /// - Parameters:
  ///   - input: the damaged file.
  ///   - output: the new file's path. It appears whole or not at all.
  ///   - progress: called now and then; the salvage ends with `cancelled` when it returns false.
  /// - Throws: `notFound`, `notAStore`, `emptyFile`, `newerFormat`; `headerDamaged` when nothing tells which store it was,
  ///   see `SalvageOptions.storeID`; `fileExists` when there is something at `output`; `noSpace`, `ioError`, `cancelled`.
  public static func salvage(
    _ input: String, to output: String, _ options: SalvageOptions = SalvageOptions(),
    progress: ((SalvageProgress) -> Bool)? = nil
  ) throws(StoreError) -> SalvageReport {
    let file = try POSIXFile(path: input, mode: .readOnly)
    defer { file.close() }
    let temporary = try POSIXFile.temporaryPath(beside: output)
    defer { POSIXFile.remove(temporary) }
    let report = try salvage(file, options, progress: progress) { (storeOptions) throws(StoreError) in
      try Store.open(temporary, storeOptions)
    }
    try POSIXFile.publish(temporary, as: output)
    return report
  }

  /// The same from a file that the caller has opened, into a store that `makeOutput` opens and this closes unless it is in
  /// memory.
  package static func salvage(
    _ input: any StorageFile, _ options: SalvageOptions, progress: ((SalvageProgress) -> Bool)? = nil,
    makeOutput: (StoreOptions) throws(StoreError) -> Store
  ) throws(StoreError) -> SalvageReport {
    let salvage = try Salvage(input, options, progress)
    try salvage.examine()
    var storeOptions = StoreOptions()
    storeOptions.pageSize = salvage.source.geometry.pageSize
    storeOptions.fileMode = options.fileMode
    let store = try makeOutput(storeOptions)
    let report = try salvage.write(to: store.core)
    if store.path != nil { try store.close() }
    return report
  }
}
