extension ContextCore {
  /// Gives up all unsaved changes.
  func rollback() {
    let ordered = changes.values.sorted { $0.sequence < $1.sequence }
    changes = [:]
    overlays = [:]
    unsettled = []
    unsettledDeletions = []
    misuse = nil
    SettlingFlag.lower(self)
    for change in ordered {
      if change.isNew {
        change.model._$state.isDeleted = false
        change.model._$state.detach()
        identities.remove(change.number)
      } else {
        restore(change)
      }
    }
  }

  /// Gives an object back the values that it had when it was last saved.
  private func restore(_ change: Change) {
    let model = change.model
    let changed = change.unsaved
    model._$state.isDeleted = false
    if let clean = change.clean {
      var values = changed
      for relationship in change.entity.relationships where relationship.isToMany {
        values.remove(relationship.index)
        // Read anew when next asked for.
        if changed.contains(relationship.index) { relationship.access.setContent(model, .stored) }
      }
      _ = change.entity.withSnapshot(clean) { view in
        model._$refresh(RecordReader(view, notes: notes), values)
      }
    }
    model._$state.markClean()
  }

  /// The handle is gone: saves or gives up what is unsaved, and lets go of all objects.
  func close() {
    guard !isClosed else { return }
    if autosave.isEnabled && hasChanges {
      saveAtRelease()
    } else {
      finishClosing()
    }
  }

  /// Lets go of the objects: what they hold of one another through loaded relationships would keep
  /// them, and with them the store, alive.
  func finishClosing() {
    isClosed = true
    let ordered = changes.values.sorted { $0.sequence < $1.sequence }
    changes = [:]
    overlays = [:]
    unsettled = []
    unsettledDeletions = []
    SettlingFlag.lower(self)
    for change in ordered where change.isNew { change.model._$state.detach() }
    for case let model as any PersistentModel in identities.objects() {
      for relationship in store.bindings.entity(type(of: model))?.relationships ?? []
      where relationship.isToMany {
        if case .loaded(let members) = relationship.access.content(model) {
          let identifiers = members.compactMap { $0._$state.identifier }
          relationship.access.replaceContent(model, .identifiers(identifiers))
        }
      }
    }
  }
}
