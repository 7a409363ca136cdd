import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros
@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling

struct Provider: PluginProvider {
  func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type { throw UnknownMacro() }
}
struct UnknownMacro: Error {}

@main struct Plugin {
  static func main() throws {
    try CompilerPluginMessageListener(connection: StandardIOMessageConnection(), provider: Provider()).main()
  }
}
