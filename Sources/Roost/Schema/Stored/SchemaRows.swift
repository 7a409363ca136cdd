/// The rows of the table that holds a store's schema: their keys, and their values as coded values.
enum SchemaRows {
  /// The table's name. No table of a program can be named so.
  static let table = "\u{0}schema"

  /// What the store has now. The engine repeats this row in the store's header.
  static let current = Array("current".utf8)
  private static let shapePrefix = Array("shape".utf8)
  private static let versionPrefix = Array("version".utf8)
  private static let countPrefix = Array("count".utf8)
  private static let indexPrefix = Array("index".utf8)

  static func shape(_ number: UInt32) -> [UInt8] { numbered(shapePrefix, number) }
  static func version(_ number: UInt32) -> [UInt8] { numbered(versionPrefix, number) }
  static func count(_ shape: UInt32) -> [UInt8] { numbered(countPrefix, shape) }
  static func index(_ table: String) -> [UInt8] { indexPrefix + Array(table.utf8) }

  private static func numbered(_ prefix: [UInt8], _ number: UInt32) -> [UInt8] {
    prefix + withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  /// What a row's key says that the row is.
  enum Kind: Equatable {
    case current
    case shape(UInt32)
    case version(UInt32)
    case count(UInt32)
    case index(String)
  }

  /// `nil` for a key that this version of the library doesn't write.
  static func kind(of key: [UInt8]) -> Kind? {
    func number(after prefix: [UInt8]) -> UInt32? {
      guard key.starts(with: prefix), key.count == prefix.count + 4 else { return nil }
      return key[prefix.count...].reduce(0) { $0 << 8 | UInt32($1) }
    }
    if key == current { return .current }
    if let number = number(after: shapePrefix) { return .shape(number) }
    if let number = number(after: versionPrefix) { return .version(number) }
    if let number = number(after: countPrefix) { return .count(number) }
    guard key.starts(with: indexPrefix) else { return nil }
    return String(validating: key[indexPrefix.count...], as: UTF8.self).map { .index($0) }
  }
}

/// The content of the row `current`.
struct CurrentRow: Equatable {
  /// The version of the rows' form.
  static let form = 1

  var generation: UInt64
  var version: UInt32
  var label: Schema.Version
  var digest: UInt64
  var nextLineage: UInt32
  /// Whether records of older shapes may be left.
  var isSweeping: Bool

  var coded: CodedValue {
    .map([
      "form": .integer(Int64(Self.form)),
      "generation": .init(generation),
      "version": .integer(Int64(version)),
      "label": .init(label),
      "digest": .init(digest),
      "lineage": .integer(Int64(nextLineage)),
      "state": .string(isSweeping ? "sweeping" : "ready"),
    ])
  }

  /// `nil` when `coded` isn't such a row.
  init?(_ coded: CodedValue) {
    guard let generation = coded["generation"]?.integer(UInt64.self),
      let version = coded["version"]?.integer(UInt32.self),
      let label = coded["label"].flatMap({ Schema.Version($0) }),
      let digest = coded["digest"]?.integer(UInt64.self),
      let lineage = coded["lineage"]?.integer(UInt32.self), let state = coded["state"]?.string
    else { return nil }
    self.init(
      generation: generation, version: version, label: label, digest: digest, nextLineage: lineage,
      isSweeping: state == "sweeping")
  }

  init(
    generation: UInt64, version: UInt32, label: Schema.Version, digest: UInt64, nextLineage: UInt32,
    isSweeping: Bool
  ) {
    self.generation = generation
    self.version = version
    self.label = label
    self.digest = digest
    self.nextLineage = nextLineage
    self.isSweeping = isSweeping
  }
}

extension StoredSchema.Version {
  var coded: CodedValue {
    .map([
      "label": .init(label),
      "digest": .init(digest),
      "shapes": .array(shapes.map { .integer(Int64($0)) }),
    ])
  }

  init?(number: UInt32, _ coded: CodedValue) {
    guard let label = coded["label"].flatMap({ Schema.Version($0) }),
      let digest = coded["digest"]?.integer(UInt64.self), let list = coded["shapes"]?.array
    else { return nil }
    let shapes = list.compactMap { $0.integer(UInt32.self) }
    guard shapes.count == list.count else { return nil }
    self.init(number: number, label: label, digest: digest, shapes: shapes)
  }
}

extension CodedValue {
  init(_ label: Schema.Version) {
    self = .array([label.major, label.minor, label.patch].map { .integer(Int64($0)) })
  }
}

extension Schema.Version {
  fileprivate init?(_ coded: CodedValue) {
    let numbers = (coded.array ?? []).compactMap { $0.integer(Int.self) }
    guard numbers.count == 3, numbers.allSatisfy({ $0 >= 0 }) else { return nil }
    self.init(numbers[0], numbers[1], numbers[2])
  }
}
