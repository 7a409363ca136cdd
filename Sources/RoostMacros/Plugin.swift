@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

/// The program that the compiler starts to expand Roost's macros.
@main
struct Plugin: PluginProvider {
  private static var macros: [any Macro.Type] {
    [
      ModelMacro.self, PropertyMacro.self, AnnotationMacro.self, DeclarationMacro.self,
      ModelActorMacro.self,
    ]
  }

  func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
    if let macro = Self.macros.first(where: { "\($0)" == typeName }) { return macro }
    throw UnknownMacro(name: typeName)
  }

  static func main() throws {
    let connection = try StandardIOMessageConnection()
    try CompilerPluginMessageListener(connection: connection, provider: Plugin()).main()
  }
}

/// The compiler asked for a macro that this plugin doesn't have: library and plugin differ in version.
private struct UnknownMacro: Error, CustomStringConvertible {
  let name: String
  var description: String { "Roost's macro plugin has no macro '\(name)'" }
}
