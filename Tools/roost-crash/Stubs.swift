import Foundation
struct MutantsCommand { init(_ o: consuming Options) throws(UsageError) {}; func run() -> Int32 { 0 } }
struct HammerCommand { init(_ o: consuming Options) throws(UsageError) {}; func run() -> Int32 { 0 } }
enum HammerWriter { static func run(_ a: [String]) -> Never { exit(0) } }
