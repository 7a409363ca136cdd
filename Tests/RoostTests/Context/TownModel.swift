/// What a history of changes of a town has to come to: the plainest account of relationships and unique values.
final class TownModel {
  enum Kind: Int, CaseIterable {
    case person, pet, paper, desk, club
  }

  final class Node: Hashable {
    let kind: Kind
    var serial: Int
    var code: Int?
    var isStored = false
    var one: [String: Node] = [:]
    var many: [String: Set<Node>] = [:]

    init(_ kind: Kind, code: Int?, serial: Int) {
      self.kind = kind
      self.code = code
      self.serial = serial
    }

    static func == (a: Node, b: Node) -> Bool { a === b }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  /// In the order of insertion.
  private(set) var nodes: [Node] = []

  func of(_ kind: Kind) -> [Node] { nodes.filter { $0.kind == kind } }

  func insert(_ node: Node) { nodes.append(node) }

  /// A person's desk and its user are two ends of one thing.
  func pair(_ person: Node?, _ desk: Node?) {
    if let person { person.one["desk"]?.one["user"] = nil }
    if let desk { desk.one["user"]?.one["desk"] = nil }
    person?.one["desk"] = desk
    desk?.one["user"] = person
  }

  func delete(_ node: Node) {
    guard let place = nodes.firstIndex(of: node) else { return }
    nodes.remove(at: place)
    if node.kind == .person {
      for paper in of(.paper) where paper.one["holder"] == node { delete(paper) }
      pair(node, nil)
    }
    if node.kind == .desk { pair(nil, node) }
    for other in nodes {
      for (name, target) in other.one where target == node { other.one[name] = nil }
      for name in other.many.keys { other.many[name]?.remove(node) }
    }
  }

  /// New objects become the rows that have their unique values.
  func save() {
    for node in nodes where !node.isStored {
      let row = nodes.first {
        $0 != node && $0.kind == node.kind && $0.code != nil && $0.code == node.code
          && ($0.isStored || nodes.firstIndex(of: $0) ?? 0 < nodes.firstIndex(of: node) ?? 0)
      }
      if let row { merge(node, into: row) }
    }
    for node in nodes { node.isStored = true }
  }

  private func merge(_ new: Node, into row: Node) {
    nodes.removeAll { $0 == new }
    row.serial = new.serial
    let (desk, user) = (new.one["desk"], new.one["user"])
    if new.kind == .person { pair(new, nil) } else if new.kind == .desk { pair(nil, new) }
    for (name, target) in new.one { row.one[name] = target }
    for (name, targets) in new.many { row.many[name, default: []].formUnion(targets) }
    for node in nodes {
      for (name, target) in node.one where target == new { node.one[name] = row }
      for (name, targets) in node.many where targets.contains(new) {
        node.many[name]?.remove(new)
        node.many[name]?.insert(row)
      }
    }
    if let desk { pair(row, desk) }
    if let user { pair(user, row) }
  }

  /// Everything about the objects, by their serial numbers.
  var description: [String] {
    nodes.map { node in
      let one = node.one.map { "\($0)=\($1.serial)" }
      let many = node.many.filter { !$1.isEmpty }.map { "\($0)=\($1.map(\.serial).sorted())" }
      let code = node.code.map(String.init) ?? "-"
      return "\(node.kind) \(node.serial) \(code) \((one + many).sorted().joined(separator: " "))"
    }.sorted()
  }
}
