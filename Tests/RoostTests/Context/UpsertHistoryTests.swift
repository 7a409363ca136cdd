import Foundation
import Roost
import TestSupport
import Testing

/// Random histories of inserts, upserts, deletions and changed relationships, beside a plain model.
@Suite struct UpsertHistoryTests {
  private typealias Node = TownModel.Node

  /// A context with a town, and the model of what should be in it.
  private final class Run {
    let town = TownStore()
    let model = TownModel()
    var random: SplitMix64
    var container: ModelContainer
    var context: ModelContext
    var objects: [Node: any PersistentModel] = [:]
    var serial = 0
    var log: [String] = []

    init(_ seed: Seed) throws {
      random = seed.generator
      container = try town.container()
      context = ModelContext(container)
    }

    func pick<T>(_ from: [T]) -> T? { from.randomElement(using: &random) }
    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    func person(_ node: Node) -> Town.Person? { objects[node] as? Town.Person }

    // MARK: Changes

    func insert() {
      guard let kind = pick(TownModel.Kind.allCases) else { return }
      serial += 1
      let code = chance(80) ? Int.random(in: 0..<6, using: &random) : nil
      let object: any PersistentModel =
        switch kind {
        case .person: Town.Person(code: code, serial: serial)
        case .pet: Town.Pet(code: code, serial: serial)
        case .paper: Town.Paper(code: code, serial: serial)
        case .desk: Town.Desk(code: code, serial: serial)
        case .club: Town.Club(code: code, serial: serial)
        }
      let node = Node(kind, code: code, serial: serial)
      context.insert(object)
      model.insert(node)
      objects[node] = object
      log.append("insert \(kind) \(serial) code \(code.map(String.init) ?? "-")")
    }

    func delete() {
      guard let node = pick(model.nodes), let object = objects[node] else { return }
      log.append("delete \(node.kind) \(node.serial)")
      context.delete(object)
      model.delete(node)
    }

    func relate() {
      guard let first = pick(model.of(.person)), let person = person(first) else { return }
      let isSet = chance(75)
      switch Int.random(in: 0..<7, using: &random) {
      case 0: own(first, person, isSet)
      case 1: hold(first, person, isSet)
      case 2: seat(first, person, isSet)
      case 3: join(first, person, isSet)
      case 4: lead(first, person, isSet)
      case 5:
        guard let second = pick(model.of(.person)), let friend = self.person(second) else { return }
        log.append("friend \(first.serial) \(second.serial) \(isSet)")
        person.friend = isSet ? friend : nil
        first.one["friend"] = isSet ? second : nil
      default:
        guard let second = pick(model.of(.pet)), let pet = objects[second] as? Town.Pet else { return }
        log.append("seen \(first.serial) \(second.serial) \(isSet)")
        person.seen.removeAll { $0 === pet }
        if isSet { person.seen.append(pet) }
        if isSet { first.many["seen", default: []].insert(second) } else { first.many["seen"]?.remove(second) }
      }
    }

    func own(_ first: Node, _ person: Town.Person, _ isSet: Bool) {
      guard let second = pick(model.of(.pet)), let pet = objects[second] as? Town.Pet else { return }
      let isForward = chance(50)
      log.append("pet \(first.serial) \(second.serial) \(isSet) \(isForward)")
      if isForward {
        if isSet {
          if !person.pets.contains(pet) { person.pets.append(pet) }
          second.one["owner"] = first
        } else {
          person.pets.removeAll { $0 === pet }
          if second.one["owner"] == first { second.one["owner"] = nil }
        }
      } else {
        pet.owner = isSet ? person : nil
        second.one["owner"] = isSet ? first : nil
      }
    }

    func hold(_ first: Node, _ person: Town.Person, _ isSet: Bool) {
      guard let second = pick(model.of(.paper)), let paper = objects[second] as? Town.Paper else { return }
      log.append("paper \(first.serial) \(second.serial) \(isSet)")
      if isSet && chance(50) {
        person.papers = person.papers.filter { $0 !== paper } + [paper]
        second.one["holder"] = first
      } else {
        paper.holder = isSet ? person : nil
        second.one["holder"] = isSet ? first : nil
      }
    }

    func seat(_ first: Node, _ person: Town.Person, _ isSet: Bool) {
      guard let second = pick(model.of(.desk)), let desk = objects[second] as? Town.Desk else { return }
      let isForward = chance(50)
      log.append("desk \(first.serial) \(second.serial) \(isSet) \(isForward)")
      switch (isForward, isSet) {
      case (true, true): person.desk = desk
      case (true, false): person.desk = nil
      case (false, true): desk.user = person
      case (false, false): desk.user = nil
      }
      if isSet { return model.pair(first, second) }
      if isForward { model.pair(first, nil) } else { model.pair(nil, second) }
    }

    func join(_ first: Node, _ person: Town.Person, _ isSet: Bool) {
      guard let second = pick(model.of(.club)), let club = objects[second] as? Town.Club else { return }
      let isForward = chance(50)
      log.append("club \(first.serial) \(second.serial) \(isSet) \(isForward)")
      if isSet {
        if isForward {
          if !person.clubs.contains(club) { person.clubs.append(club) }
        } else if !club.people.contains(person) {
          club.people.append(person)
        }
        first.many["clubs", default: []].insert(second)
      } else {
        if isForward { person.clubs.removeAll { $0 === club } } else { club.people.removeAll { $0 === person } }
        first.many["clubs"]?.remove(second)
      }
    }

    func lead(_ first: Node, _ person: Town.Person, _ isSet: Bool) {
      guard let second = pick(model.of(.person)), let other = self.person(second) else { return }
      log.append("boss \(first.serial) \(second.serial) \(isSet)")
      if isSet && chance(50) {
        if !person.staff.contains(other) { person.staff.append(other) }
        second.one["boss"] = first
      } else {
        other.boss = isSet ? person : nil
        second.one["boss"] = isSet ? first : nil
      }
    }

    // MARK: Saving and looking

    func save() throws {
      log.append("save")
      try context.save()
      model.save()
      try expect(context, "the same context")
      try expect(ModelContext(container), "a new context")
      if chance(50) {
        log.append("a new context")
        context = ModelContext(container)
        if chance(50) { try reopen() }
      }
      objects = [:]
      for (kind, all) in try UpsertHistoryTests.all(context) {
        for object in all {
          let serial = UpsertHistoryTests.serial(object)
          if let node = model.of(kind).first(where: { $0.serial == serial }) { objects[node] = object }
        }
      }
      #expect(objects.count == model.nodes.count)
    }

    func reopen() throws {
      log.append("reopen")
      objects = [:]
      // Nothing may keep the store open.
      context = ModelContext(
        try ModelContainer(
          for: Town.schema, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
      container = context.container
      container = try town.container()
      context = ModelContext(container)
    }

    func expect(_ context: ModelContext, _ which: String) throws {
      let found = try UpsertHistoryTests.description(context)
      guard found != model.description else { return }
      let (extra, missing) = (
        Set(found).subtracting(model.description), Set(model.description).subtracting(found)
      )
      Issue.record(
        """
        \(which) has \(extra.sorted()) instead of \(missing.sorted()) after
        \(log.joined(separator: "\n"))
        """)
      throw Failure()
    }
  }

  private struct Failure: Error {}

  private static func all(_ context: ModelContext) throws -> [(TownModel.Kind, [any PersistentModel])] {
    [
      (.person, try context.all(Town.Person.self)), (.pet, try context.all(Town.Pet.self)),
      (.paper, try context.all(Town.Paper.self)), (.desk, try context.all(Town.Desk.self)),
      (.club, try context.all(Town.Club.self)),
    ]
  }

  private static func serial(_ object: any PersistentModel) -> Int {
    switch object {
    case let object as Town.Person: object.serial
    case let object as Town.Pet: object.serial
    case let object as Town.Paper: object.serial
    case let object as Town.Desk: object.serial
    case let object as Town.Club: object.serial
    default: -1
    }
  }

  /// What the context has, in the model's words. Both sides of every relationship have to say the same.
  private static func description(_ context: ModelContext) throws -> [String] {
    func list(_ name: String, _ serials: [Int]) -> String? {
      serials.isEmpty ? nil : "\(name)=\(serials.sorted())"
    }
    func one(_ name: String, _ serial: Int?) -> String? { serial.map { "\(name)=\($0)" } }
    func line(_ kind: TownModel.Kind, _ serial: Int, _ code: Int?, _ parts: [String?]) -> String {
      let text = parts.compactMap(\.self).sorted().joined(separator: " ")
      return "\(kind) \(serial) \(code.map(String.init) ?? "-") \(text)"
    }
    var lines: [String] = []
    for person in try context.all(Town.Person.self) {
      lines.append(
        line(
          .person, person.serial, person.code,
          [
            one("desk", person.desk?.serial), one("boss", person.boss?.serial),
            one("friend", person.friend?.serial), list("clubs", person.clubs.map(\.serial)),
            list("seen", person.seen.map(\.serial)),
          ]))
      #expect(person.pets.allSatisfy { $0.owner === person })
      #expect(person.papers.allSatisfy { $0.holder === person })
      #expect(person.staff.allSatisfy { $0.boss === person })
      #expect(person.clubs.allSatisfy { $0.people.contains(person) })
    }
    for pet in try context.all(Town.Pet.self) {
      lines.append(line(.pet, pet.serial, pet.code, [one("owner", pet.owner?.serial)]))
      #expect(pet.owner?.pets.contains(pet) ?? true)
    }
    for paper in try context.all(Town.Paper.self) {
      lines.append(line(.paper, paper.serial, paper.code, [one("holder", paper.holder?.serial)]))
      #expect(paper.holder?.papers.contains(paper) ?? true)
    }
    for desk in try context.all(Town.Desk.self) {
      lines.append(line(.desk, desk.serial, desk.code, [one("user", desk.user?.serial)]))
      #expect(desk.user?.desk === desk || desk.user == nil)
    }
    for club in try context.all(Town.Club.self) {
      lines.append(line(.club, club.serial, club.code, []))
      #expect(club.people.allSatisfy { $0.clubs.contains(club) })
    }
    return lines.sorted()
  }

  @Test(arguments: Seed.first(12))
  func aRandomHistoryIsWhatThePlainModelSays(_ seed: Seed) throws {
    let run = try Run(seed)
    do {
      for _ in 0..<20 {
        for _ in 0..<Int.random(in: 1...14, using: &run.random) {
          switch Int.random(in: 0..<100, using: &run.random) {
          case ..<35: run.insert()
          case ..<42: run.delete()
          default: run.relate()
          }
        }
        try run.save()
      }
    } catch is Failure {
      return
    }
    let path = run.town.path
    try run.reopen()
    #expect(try IndependentReader.check(path) ?? "sound" == "sound")
  }
}
