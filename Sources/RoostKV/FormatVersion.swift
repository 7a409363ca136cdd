/// The version of the file format this build writes.
public let storeFormatVersion: UInt32 = 1
