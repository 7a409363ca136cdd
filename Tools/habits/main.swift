import Roost

do {
  let environment = ProcessInfo.processInfo.environment
  try Invocation(Array(CommandLine.arguments.dropFirst()), environment: environment).run()
} catch is UsageError {
  print(Request.usage)
  exit(2)
} catch {
  try? FileHandle.standardError.write(contentsOf: Data("habits: \(error)\n".utf8))
  exit(1)
}
