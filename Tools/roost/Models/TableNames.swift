enum TableNames {
  static func records(_ entity: String) -> String { "records/\(entity)" }
  static func links(_ entity: String, _ property: String) -> String { "links/\(entity)/\(property)" }
}
