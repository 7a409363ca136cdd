public final class Schema: @unchecked Sendable {
  public class Attribute {}
  public final class Relationship {}
  public final class Index<Model: PersistentModel> {}
}
