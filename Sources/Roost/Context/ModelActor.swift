import Dispatch

/// An actor that owns a `ModelContext`. `@ModelActor` writes what is required.
///
/// The actor runs on its executor's thread of work, one job at a time, so its context and the context's
/// objects are used by one thread at a time.
public protocol ModelActor: Actor {
  nonisolated var modelContainer: ModelContainer { get }
  nonisolated var modelExecutor: any ModelExecutor { get }
}

extension ModelActor {
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    modelExecutor.asUnownedSerialExecutor()
  }

  /// The actor's own context. It doesn't save by itself.
  public var modelContext: ModelContext { modelExecutor.modelContext }

  /// The object with this identifier, as the actor's context has it; nil if there is none of this type.
  public subscript<Model: PersistentModel>(id: PersistentIdentifier, as type: Model.Type) -> Model? {
    modelContext.core.resolve(id, as: type)
  }
}

/// Runs the jobs that use a context, one at a time.
public protocol ModelExecutor: SerialExecutor {
  var modelContext: ModelContext { get }
}

/// A model executor that runs its jobs in the order in which they come.
public protocol SerialModelExecutor: ModelExecutor {}

/// The executor that `@ModelActor` gives an actor: a serial dispatch queue.
public final class DefaultSerialModelExecutor: SerialModelExecutor, @unchecked Sendable {
  // Unchecked: the context is used by the queue's jobs alone.
  public let modelContext: ModelContext
  private let queue = DispatchQueue(label: "ModelActor")

  public init(modelContext: ModelContext) {
    self.modelContext = modelContext
  }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }
}
