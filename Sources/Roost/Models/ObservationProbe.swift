import Synchronization

/// Tells whether a read now would be recorded by `withObservationTracking`.
///
/// The Observation library has no such question. It does hash the key path of every access that it
/// records, and only those: so a read of a shared object is recorded, through a key path whose
/// hash counts, and the counter tells. This costs less than a registrar for every object and a
/// key path for every read. A count by another thread may answer yes wrongly, which costs the
/// object a registrar and nothing else.
final class ObservationProbe: Observable, Sendable {
  private struct Key: Hashable, Sendable {
    static func == (lhs: Key, rhs: Key) -> Bool { true }
    func hash(into hasher: inout Hasher) {
      ObservationProbe.hits.wrappingAdd(1, ordering: .relaxed)
    }
  }

  private static let hits = Atomic<Int>(0)

  /// The probe once it has been tried, never released. Unlike a lazy global, reading it calls nothing.
  private static let tried = Atomic<Unmanaged<ObservationProbe>?>(nil)
  private static let shared = ObservationProbe()

  private let registrar = ObservationRegistrar()
  private let keyPath: any KeyPath<ObservationProbe, Int> & Sendable = \ObservationProbe[Key()]

  private subscript(_ key: Key) -> Int { 0 }

  /// False if this version of Observation doesn't hash what it records: then every object has to
  /// keep a registrar.
  private static let works: Bool = withObservationTracking {
    shared.ask()
  } onChange: {
  }

  private func ask() -> Bool {
    let before = Self.hits.load(ordering: .relaxed)
    registrar.access(self, keyPath: keyPath)
    return Self.hits.load(ordering: .relaxed) != before
  }

  static func isTracking() -> Bool {
    guard let probe = tried.load(ordering: .acquiring) else { return tryOut() }
    return probe._withUnsafeGuaranteedRef { $0.ask() }
  }

  private static func tryOut() -> Bool {
    guard works else { return true }
    tried.store(Unmanaged.passUnretained(shared), ordering: .releasing)
    return shared.ask()
  }
}

extension ModelState {
  /// Whether observation tracking is on, so that a read has to be recorded.
  public static var isTracked: Bool { ObservationProbe.isTracking() }
}
