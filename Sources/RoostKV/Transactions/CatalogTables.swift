/// The tables that a catalog lists. SPEC.md section 7.
struct CatalogTables {
  var directory = Directory.empty
  var roots: [TreeRoot] = []

  static let empty = CatalogTables()

  private init() {}

  init(_ catalog: TreeRoot, nextTableID: UInt64, memory: PageMemory) throws(StoreError) {
    var tables: [(name: [UInt8], id: UInt32)] = []
    var rows: [UInt32: TreeRoot] = [:]
    var cursor = TreeCursor(catalog, memory)
    var isAtEntry = try cursor.first()
    while isAtEntry {
      let name = Array(try cursor.key())
      guard let row = CatalogRow(try cursor.entry().inlineValue), row.id > 0, UInt64(row.id) < nextTableID,
        row.root.height == 0 || row.root.reference.page >= memory.firstFilePage,
        row.root.height == 0 || row.root.reference.page < memory.fileLimit, (1...255).contains(name.count),
        String(validating: name, as: UTF8.self) != nil,
        rows.updateValue(row.root, forKey: row.id) == nil
      else {
        throw StoreError(
          .catalogDamaged, "the list of tables has an entry that makes no sense", remedy: damageRemedy,
          path: memory.file?.path)
      }
      tables.append((name, row.id))
      isAtEntry = try cursor.next()
    }
    let directory = Directory(tables)
    self.directory = directory
    roots = directory.ids.map { rows[$0] ?? .empty(table: $0) }
  }

  var frozen: [UInt32: StoreCore.FrozenTable] {
    var tables: [UInt32: StoreCore.FrozenTable] = [:]
    for (slot, id) in directory.ids.enumerated() {
      tables[id] = StoreCore.FrozenTable(name: directory.names[slot], root: roots[slot])
    }
    return tables
  }
}
