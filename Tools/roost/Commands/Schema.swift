import Roost
import RoostKV

extension Command {
  static let schema = Command(
    name: "schema",
    summary: "Shows the models that a store holds, and the schema versions it has had.",
    positionals: ["STORE"],
    options: [.json],
    details: """
      A shape is an entity as it was in one or more versions; each record names the one that it
      was written in. Records of older shapes are read through the change and rewritten when they
      are saved, or by a sweep. A default printed is the one that was settled when the property
      was added.
      JSON: {"version", "number", "state", "generation", "entities", "versions"}; an entity has
      "name", "parent", "shape", "records", "properties", "uniques", "indexes", and "outdated",
      the older shapes that records still have. A store without models: null.
      """,
    run: showSchema)

  private static func showSchema(_ arguments: Arguments, _ output: Output) throws -> ExitCode {
    let models = try openForReading(arguments.positionals[0]).read { try ModelStore($0) }
    if arguments.json {
      let json = JSONWriter(output)
      try models.map { try json.value($0) } ?? json.null()
      if models == nil { try output.write("\n") }
    } else if let models {
      try SchemaText(models, output).write()
    } else {
      try output.write("no schema: the store holds keys and values, no models\n")
    }
    return .success
  }
}
