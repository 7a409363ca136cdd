import Foundation

// A reader that stops early (`roost dump … | head`) must not kill a `load` between its commits:
// writing to it then fails with EPIPE, which `Output` handles.
signal(SIGPIPE, SIG_IGN)
exit(Tool.run(Array(CommandLine.arguments.dropFirst())).rawValue)
