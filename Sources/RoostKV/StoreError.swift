#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The one error the engine throws.
///
/// `code` is for programs; `message` says what happened, `remedy` what to do about it; the other
/// fields say where, as far as that is known. `description` reads as one sentence with all of them.
///
/// The fields live in an object, so that a function that throws costs one register, not ten.
public struct StoreError: Error, Sendable {
  private final class Details: Sendable {
    let code: Code
    let message: String
    let remedy: String
    let path: String?
    let page: UInt64?
    let offset: UInt64?
    let errno: Int32?
    let holder: Int32?

    init(_ code: Code, _ message: String, _ remedy: String, _ place: Place) {
      self.code = code
      self.message = message
      self.remedy = remedy
      path = place.path
      page = place.page
      offset = place.offset
      errno = place.errno
      holder = place.holder
    }
  }

  private typealias Place = (path: String?, page: UInt64?, offset: UInt64?, errno: Int32?, holder: Int32?)

  private let details: Details

  /// What kind of failure this is.
  public var code: Code { details.code }
  /// What happened, without the place.
  public var message: String { details.message }
  /// What can be done about it.
  public var remedy: String { details.remedy }
  /// The file concerned.
  public var path: String? { details.path }
  /// The number of the page concerned.
  public var page: UInt64? { details.page }
  /// The place in the file, in bytes from its start.
  public var offset: UInt64? { details.offset }
  /// The number the operating system gave.
  public var errno: Int32? { details.errno }
  /// The process that holds the lock, where the system tells.
  public var holder: Int32? { details.holder }

  package init(
    _ code: Code, _ message: String, remedy: String, path: String? = nil, page: UInt64? = nil,
    offset: UInt64? = nil, errno: Int32? = nil, holder: Int32? = nil
  ) {
    details = Details(code, message, remedy, (path, page, offset, errno, holder))
  }

  /// An error that this one has led to, with what the system said.
  func wrapped(_ code: Code, _ message: String, remedy: String, path: String) -> StoreError {
    StoreError(code, message, remedy: remedy, path: path, page: page, offset: offset, errno: errno)
  }

  /// The same error, about the file of another name.
  func renamed(path: String) -> StoreError {
    StoreError(code, message, remedy: remedy, path: path, page: page, offset: offset, errno: errno, holder: holder)
  }
}

extension StoreError: CustomStringConvertible {
  public var description: String {
    var facts: [String] = []
    if let path { facts.append("file \(path)") }
    if let page { facts.append("page \(page)") }
    if let offset { facts.append("offset \(offset)") }
    if let errno { facts.append("errno \(errno), \(String(cString: strerror(errno)))") }
    if let holder { facts.append("held by process \(holder)") }
    let place = facts.isEmpty ? "" : " (\(facts.joined(separator: "; ")))"
    return "\(message)\(place): \(remedy) [\(code)]"
  }
}

extension StoreError {
  /// A kind of failure. The set is open: later versions may add kinds, so a `switch` needs a default.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    public var description: String { rawValue }
  }
}

extension StoreError.Code {
  private init(_ name: String) {
    self.init(rawValue: name)
  }

  // MARK: The file isn't a store this build can open

  /// There is no file at the path, or its folder doesn't exist.
  public static let notFound = Self("notFound")
  /// There is a file where a new one was to be created.
  public static let fileExists = Self("fileExists")
  /// The file is something else; the message names what it seems to be.
  public static let notAStore = Self("notAStore")
  /// The file has no bytes.
  public static let emptyFile = Self("emptyFile")
  /// The file ends before its header says it does.
  public static let truncated = Self("truncated")
  /// A newer version of the library wrote the file.
  public static let newerFormat = Self("newerFormat")
  /// The file's page size isn't the one asked for.
  public static let wrongPageSize = Self("wrongPageSize")
  /// The path no longer names the file that was opened.
  public static let fileReplaced = Self("fileReplaced")

  // MARK: Something in the file is damaged

  /// Neither header can be read.
  public static let headerDamaged = Self("headerDamaged")
  /// A page's bytes don't match its checksum or make no sense.
  public static let pageDamaged = Self("pageDamaged")
  /// A large value's bytes don't match its checksum.
  public static let runDamaged = Self("runDamaged")
  /// The journal is damaged before commits that were durable.
  public static let journalDamaged = Self("journalDamaged")
  /// The table of tables is damaged.
  public static let catalogDamaged = Self("catalogDamaged")

  // MARK: Somebody else has it

  /// Another writer has the file open.
  public static let locked = Self("locked")
  /// Another writer kept the file open for as long as we were told to wait.
  public static let lockTimeout = Self("lockTimeout")
  /// This handle was opened before the process forked and can't be used in the child.
  public static let forked = Self("forked")
  /// The writer changed the file faster than it could be read.
  public static let changedMeanwhile = Self("changedMeanwhile")

  // MARK: The machine

  /// The disk or the quota is full.
  public static let noSpace = Self("noSpace")
  /// The store would outgrow its limit or the file system's.
  public static let sizeLimit = Self("sizeLimit")
  /// The operating system reported an error.
  public static let ioError = Self("ioError")
  /// The process has no address space left for the mapping.
  public static let addressSpace = Self("addressSpace")
  /// The system, the file system or the kind of file can't do what is needed.
  public static let unsupported = Self("unsupported")

  // MARK: The store after a failure

  /// An earlier write or flush failed; the store takes no more commits until it is opened anew.
  public static let poisoned = Self("poisoned")
  /// A write or flush failed: whether the commit is durable shows when the store is opened again.
  public static let commitOutcomeUnknown = Self("commitOutcomeUnknown")

  // MARK: The call

  /// The key is longer than a key can be.
  public static let keyTooLong = Self("keyTooLong")
  /// The value is longer than a value can be.
  public static let valueTooLong = Self("valueTooLong")
  /// There is no table of that name.
  public static let tableNotFound = Self("tableNotFound")
  /// There is a table of that name already.
  public static let tableExists = Self("tableExists")
  /// The name can't be a table's.
  public static let invalidName = Self("invalidName")
  /// The transaction has ended.
  public static let transactionFinished = Self("transactionFinished")
  /// The cursor is at no entry.
  public static let cursorInvalid = Self("cursorInvalid")
  /// The store, the media or the transaction doesn't allow writing.
  public static let readOnly = Self("readOnly")
  /// The store is closed.
  public static let closed = Self("closed")
  /// The store is suspended.
  public static let suspended = Self("suspended")
  /// An option has a value that can't be used.
  public static let invalidOption = Self("invalidOption")
  /// A bulk load's input isn't in ascending order.
  public static let unsortedInput = Self("unsortedInput")
  /// The task was cancelled.
  public static let cancelled = Self("cancelled")
}
