import Roost
import Testing

@Suite struct InheritanceTests {
  @Model class Vehicle {
    @Attribute(.unique) var plate: String
    @Relationship(inverse: \Wheel.vehicle) var wheels: [Wheel] = []
    @Relationship(inverse: \Driver.vehicles) var drivers: [Driver] = []
    init(plate: String) { self.plate = plate }
  }

  @Model final class Car: Vehicle {
    var doors = 4
    init(plate: String, doors: Int) {
      self.doors = doors
      super.init(plate: plate)
    }
  }

  @Model final class Truck: Vehicle {
    @Attribute(.unique) var load: Int?
    init(plate: String, load: Int?) {
      self.load = load
      super.init(plate: plate)
    }
  }

  @Model final class Wheel {
    var size: Int
    var vehicle: Vehicle?
    init(_ size: Int, _ vehicle: Vehicle? = nil) {
      self.size = size
      self.vehicle = vehicle
    }
  }

  @Model final class Driver {
    var name: String
    var vehicles: [Vehicle] = []
    init(_ name: String) { self.name = name }
  }

  private let context: ModelContext

  init() throws {
    context = ModelContext(
      try ModelContainer(
        for: Vehicle.self, Car.self, Truck.self, Wheel.self, Driver.self,
        configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
  }

  private func stored() throws -> [Vehicle] {
    try ModelContext(context.container).fetch(FetchDescriptor<Vehicle>(sortBy: [SortDescriptor(\.plate)]))
  }

  @Test("[R-19] A rule holds over all who inherit it")
  func uniqueOverTheFamily() throws {
    context.insert(Car(plate: "a", doors: 4))
    try context.save()
    for twin in [Vehicle(plate: "a"), Truck(plate: "a", load: 1)] {
      context.insert(twin)
      let error = #expect(throws: RoostError.self) { try context.save() }
      #expect(error?.code == .uniqueCollision)
      context.rollback()
    }
    // Of its own class it is the same object.
    context.insert(Car(plate: "a", doors: 2))
    try context.save()
    #expect(try stored().map { ($0 as? Car)?.doors } == [2])
    // Among new objects too.
    context.insert(Truck(plate: "b", load: 1))
    context.insert(Vehicle(plate: "b"))
    #expect(throws: RoostError.self) { try context.save() }
    context.rollback()
    // What is given up is free.
    for car in try context.all(Car.self) { car.plate = "c" }
    context.insert(Truck(plate: "a", load: 1))
    try context.save()
    #expect(try stored().map(\.plate) == ["a", "c"])
    context.insert(Truck(plate: "d", load: 1))
    try context.save()
    #expect(try stored().map(\.plate) == ["c", "d"])
  }

  @Test func inheritedRelationshipsLeadBothWays() throws {
    let (car, truck) = (Car(plate: "a", doors: 4), Truck(plate: "b", load: nil))
    let (front, back) = (Wheel(1), Wheel(2))
    context.insert(car)
    context.insert(truck)
    try context.save()
    front.vehicle = car
    truck.wheels.append(back)
    let driver = Driver("Dee")
    driver.vehicles = [car, truck]
    context.insert(front)
    context.insert(driver)
    try context.save()
    let there = try stored()
    #expect(there.map { $0.wheels.map(\.size) } == [[1], [2]])
    #expect(there.map { $0.drivers.map(\.name) } == [["Dee"], ["Dee"]])
    back.vehicle = car
    context.delete(driver)
    try context.save()
    #expect(try stored().map { $0.wheels.map(\.size) } == [[1, 2], []])
    #expect(try stored().allSatisfy { $0.drivers.isEmpty })
    context.delete(car)
    try context.save()
    #expect(try ModelContext(context.container).all(Wheel.self).allSatisfy { $0.vehicle == nil })
  }
}
