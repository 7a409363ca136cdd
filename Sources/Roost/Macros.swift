/// Makes a class a model, whose objects a `ModelContext` can store.
///
/// Every stored `var` becomes a persistent property. It may be of a standard type (`Bool`, the integer
/// types, `Float`, `Double`, `String`, `Data`, `Date`, `UUID`, `URL`, `Decimal`), an enumeration with raw
/// values, any other Codable type, another model or an array of one, or an optional of these.
/// Properties are observable. Their own `willSet` and `didSet` are called when they are set, also by an
/// initializer if the property had an initial value, but not when the context reads or undoes.
///
/// The initial value of a property is evaluated whenever an object is made, also when one is read from
/// the store: write a costly one as a default argument of an initializer instead.
///
/// A relationship that an initializer sets takes effect on the other side when the object is inserted.
/// Of the two sides of a relationship only one can name its inverse.
///
/// A model whose class was renamed says with `@Model(originalName: "OldName")` what it was in the previous
/// version of the schema, so that its objects are kept. One that is given its own name is a new model,
/// whatever it looks like.
@attached(
  member, conformances: Observable, PersistentModel,
  names: named(_$state), named(init(_$record:)), named(init()), named(_$encode), named(_$refresh),
  named(_$properties),
  named(_$indexes), named(_$entityName), named(_$originalName), named(_$superentity), named(_$base),
  named(_$table), named(_$describe)
)
@attached(memberAttribute)
@attached(extension, conformances: Observable, PersistentModel)
public macro Model(originalName: String? = nil) =
  #externalMacro(module: "RoostMacros", type: "ModelMacro")

/// Says how an attribute is stored.
///
/// - Parameters:
///   - options: for example `.unique`.
///   - originalName: the property's name in the previous version of the schema, if it was renamed.
///   - hashModifier: a text that tells two versions of the property apart which look alike.
@attached(peer)
public macro Attribute(
  _ options: Schema.Attribute.Option..., originalName: String? = nil, hashModifier: String? = nil
) = #externalMacro(module: "RoostMacros", type: "AnnotationMacro")

/// Says how a relationship behaves.
///
/// - Parameters:
///   - deleteRule: what deleting the object does to those it refers to.
///   - minimumModelCount: the least number of objects in a to-many relationship; checked when saving.
///   - maximumModelCount: the greatest number; 0 for any.
///   - originalName: the property's name in the previous version of the schema, if it was renamed.
///   - inverse: the property that refers back. Write it on one side only. `nil`, written out, says that
///     there is none.
///   - hashModifier: a text that tells two versions of the property apart which look alike.
@attached(peer)
public macro Relationship(
  _ options: Schema.Relationship.Option..., deleteRule: Schema.Relationship.DeleteRule = .nullify,
  minimumModelCount: Int? = 0, maximumModelCount: Int? = 0, originalName: String? = nil,
  inverse: AnyKeyPath? = nil, hashModifier: String? = nil
) = #externalMacro(module: "RoostMacros", type: "AnnotationMacro")

/// Keeps a property out of the store. It needs an initial value, which it has again in every object
/// that is read.
@attached(peer)
public macro Transient() = #externalMacro(module: "RoostMacros", type: "AnnotationMacro")

/// Declares properties whose values, taken together, differ between any two objects of the model.
@freestanding(declaration)
public macro Unique<Model: PersistentModel>(_ constraints: [PartialKeyPath<Model>]...) =
  #externalMacro(module: "RoostMacros", type: "DeclarationMacro")

/// Declares indexes, which make fetches by these properties fast and never change a fetch's result.
@freestanding(declaration)
public macro Index<Model: PersistentModel>(_ indices: [PartialKeyPath<Model>]...) =
  #externalMacro(module: "RoostMacros", type: "DeclarationMacro")

/// Declares indexes of given kinds.
@freestanding(declaration)
public macro Index<Model: PersistentModel>(_ indices: Schema.Index<Model>.Types<Model>...) =
  #externalMacro(module: "RoostMacros", type: "DeclarationMacro")

/// Makes an actor one that owns a `ModelContext` and does its work on it. Gives it
/// `init(modelContainer:)`, and with it `modelContainer`, `modelExecutor` and `modelContext`.
@attached(member, names: named(modelExecutor), named(modelContainer), named(init(modelContainer:)))
@attached(extension, conformances: ModelActor)
public macro ModelActor() = #externalMacro(module: "RoostMacros", type: "ModelActorMacro")

/// Written by `@Model` on each property, with its index in the class.
@attached(accessor, names: named(init), named(get), named(set), named(_modify))
@attached(peer, names: prefixed(_$stored_), prefixed(_$observes_))
public macro _ModelProperty(_ index: Int) =
  #externalMacro(module: "RoostMacros", type: "PropertyMacro")

/// Written by `@Model` on each property that is observed but not stored.
@attached(accessor, names: named(init), named(get), named(set), named(_modify))
@attached(peer, names: prefixed(_$stored_), prefixed(_$observes_))
public macro _ModelTransient() = #externalMacro(module: "RoostMacros", type: "PropertyMacro")
