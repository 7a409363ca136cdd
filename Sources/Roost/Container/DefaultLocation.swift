/// Where a store goes that was given no address.
enum DefaultLocation {
  /// `<folder>/<name>.store`.
  static func file(named name: String) -> URL {
    folder.appendingPathComponent(name).appendingPathExtension("store")
  }

  /// Apple's systems: the application-support folder, as SwiftData. Elsewhere a folder of the program's
  /// name in `XDG_DATA_HOME`, or in `~/.local/share` where that isn't set to an absolute path.
  static var folder: URL {
    #if canImport(Darwin)
      return URL.applicationSupportDirectory
    #else
      let set = ProcessInfo.processInfo.environment["XDG_DATA_HOME"] ?? ""
      let base =
        set.hasPrefix("/")
        ? URL(fileURLWithPath: set, isDirectory: true)
        : home.appendingPathComponent(".local/share", isDirectory: true)
      return base.appendingPathComponent(programName, isDirectory: true)
    #endif
  }

  #if !canImport(Darwin)
    /// As shells have it; the user database's where the environment doesn't say.
    private static var home: URL {
      let set = ProcessInfo.processInfo.environment["HOME"] ?? ""
      return set.hasPrefix("/")
        ? URL(fileURLWithPath: set, isDirectory: true) : FileManager.default.homeDirectoryForCurrentUser
    }
  #endif

  private static var programName: String {
    let path = CommandLine.arguments.first ?? ""
    let name = URL(fileURLWithPath: path).lastPathComponent
    return name.isEmpty || name == "/" ? "roost" : name
  }
}
