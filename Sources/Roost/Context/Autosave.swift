import Dispatch
import Synchronization

/// When and whether a context saves by itself.
final class AutosaveState {
  /// The context belongs to the main actor.
  var isMain = false
  var isEnabled = false
  var isScheduled = false
  /// The process is exiting: nobody is told of saves any more.
  var isExiting = false
}

extension ContextCore {
  /// Makes sure that the changes of this turn of the main actor are saved at its end.
  func scheduleAutosave() {
    guard autosave.isEnabled, !autosave.isScheduled, !isSaving, !isClosed else { return }
    AutosaveRegistry.add(self)
    // A context that isn't the main actor's may only be touched by its owner.
    guard autosave.isMain || Thread.isMainThread else { return }
    autosave.isScheduled = true
    let box = CoreBox(self)
    Task { @MainActor in box.core?.runAutosave() }
  }

  @MainActor
  private func runAutosave() {
    autosave.isScheduled = false
    guard autosave.isEnabled, !isClosed, hasChanges else { return }
    do {
      try save()
    } catch {
      NotificationCenter.default.post(
        name: ModelContext.autosaveFailed, object: handle, userInfo: ["error": error])
      // Later rather than at once: what fails now mostly fails again right away.
      autosave.isScheduled = true
      let box = CoreBox(self)
      Task { @MainActor in
        try? await Task.sleep(for: .seconds(1))
        box.core?.runAutosave()
      }
    }
  }

  /// Saves what the released handle has left, where it may be done.
  func saveAtRelease() {
    guard autosave.isMain, !MainExecutor.isCurrent else {
      saveAndClose()
      return
    }
    // Holds the core until it is saved.
    let box = CoreHolder(core: self)
    Task { @MainActor in box.core.saveAndClose() }
  }

  private func saveAndClose() {
    do {
      try save()
    } catch {
      AutosaveRegistry.report(error, changes.count)
      NotificationCenter.default.post(
        name: ModelContext.autosaveFailed, object: nil, userInfo: ["error": error])
    }
    finishClosing()
  }
}

// The boxes are opened only where the core belongs.
private final class CoreBox: @unchecked Sendable {
  weak var core: ContextCore?
  init(_ core: ContextCore) { self.core = core }
}

private struct CoreHolder: @unchecked Sendable {
  let core: ContextCore
}

/// Tells whether the code runs as the main actor does.
enum MainExecutor {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Not the same as running on the main thread: once an asynchronous `main` has suspended, other threads
  /// may work for the main actor.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
}

/// The contexts that save by themselves, for what has to be saved when the process exits.
private enum AutosaveRegistry {
  private static let cores = Mutex<[CoreBox]>([])
  private static let exitHandler: Void = { atexit { AutosaveRegistry.saveAll() } }()

  static func add(_ core: ContextCore) {
    _ = exitHandler
    cores.withLock { cores in
      cores.removeAll { $0.core == nil }
      if !cores.contains(where: { $0.core === core }) { cores.append(CoreBox(core)) }
    }
  }

  /// Saves what is unsaved, on a thread of its own so that a lock which the exiting thread holds delays
  /// the exit by two seconds and no more.
  static func saveAll() {
    let waiting = cores.withLock { boxes in boxes.compactMap(\.core) }
      .filter { $0.autosave.isEnabled && !$0.isClosed && !$0.changes.isEmpty }
      .map { CoreHolder(core: $0) }
    guard !waiting.isEmpty else { return }
    guard MainExecutor.isCurrent else {
      for holder in waiting {
        report("the process exits while another thread works with it", holder.core.changes.count)
      }
      return
    }
    let done = DispatchSemaphore(value: 0)
    let count = waiting.reduce(0) { $0 + $1.core.changes.count }
    Thread.detachNewThread {
      for holder in waiting {
        holder.core.autosave.isExiting = true
        do {
          try holder.core.save()
        } catch {
          report(error, holder.core.changes.count)
        }
      }
      done.signal()
    }
    if done.wait(timeout: .now() + 2) == .timedOut {
      report("the store was busy for two seconds", count)
    }
  }

  static func report(_ reason: Any, _ count: Int) {
    let text = "Roost: \(count) changed objects of a context that saves by itself were not saved: \(reason)\n"
    FileHandle.standardError.write(Data(text.utf8))
  }
}
