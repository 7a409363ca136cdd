/// What an object asks of the context it belongs to.
///
/// No access to the object's state is open during any of these calls.
protocol ModelContextCore: AnyObject {
  /// Called before a property's first change since the property was last put under watch
  /// (`ModelState.watched`). While nothing has changed, every property is watched, so the
  /// first call after a save finds the object still clean and can encode it.
  ///
  /// The object takes the property off its watched set when the call returns.
  func willChange(_ model: any PersistentModel, at index: Int)

  /// Called after every change of a relationship, in constant time: the context notes the property
  /// and settles inverses when it next needs them.
  func relationshipChanged(_ model: any PersistentModel, at index: Int)

  /// Called when a relationship of an object of no context was set to an object of this one.
  func adopt(_ model: any PersistentModel, at index: Int)

  /// The object with this identifier, from the identity map or the store; nil if there is none.
  func resolve<T: PersistentModel>(_ identifier: PersistentIdentifier, as type: T.Type) -> T?

  /// The objects with these identifiers, in this order, without those that no longer exist.
  func resolveMany<T: PersistentModel>(_ identifiers: [PersistentIdentifier], as type: T.Type) -> [T]

  /// The objects of a to-many relationship whose members the object's record does not list.
  func resolveStored<T: PersistentModel>(
    _ model: any PersistentModel, at index: Int, as type: T.Type
  ) -> [T]

  /// Called when the object of this identifier is going away. Its reference is invalid.
  func unregister(_ identifier: PersistentIdentifier)
}
