import Foundation
import RoostKV
import Testing

@Suite struct StoreErrorTests {
  @Test func theDescriptionTellsAll() {
    let error = StoreError(
      .pageDamaged, "A page's checksum is wrong", remedy: "salvage the store", path: "/a/b", page: 7,
      offset: 57344, errno: EIO, holder: 12)
    let text = error.description
    for part in [
      "A page's checksum is wrong", "salvage the store", "/a/b", "page 7", "offset 57344", "errno 5",
      "process 12", "pageDamaged",
    ] {
      #expect(text.contains(part), "\(part) in \(text)")
    }
  }

  @Test func absentFactsAreNotMentioned() {
    let error = StoreError(.closed, "The store is closed", remedy: "open it again")
    #expect(error.description == "The store is closed: open it again [closed]")
  }

  @Test func systemErrorsHaveTheirCodes() {
    let expected: [(Int32, StoreError.Code)] = [
      (ENOSPC, .noSpace), (EDQUOT, .noSpace), (EFBIG, .sizeLimit), (EIO, .ioError), (ENOENT, .notFound),
      (EROFS, .readOnly), (ENOMEM, .addressSpace), (EBADF, .ioError),
    ]
    for (number, code) in expected {
      let error = StoreError.system(number, "m", path: nil)
      #expect(error.code == code)
      #expect(error.errno == number)
    }
  }

  @Test func foreignFilesAreNamed() {
    let samples: [([UInt8], String)] = [
      (Array("SQLite format 3\0".utf8) + [0x10, 0], "SQLite"), ([0x1F, 0x8B, 8], "gzip"),
      ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1], "PNG"), (Array("{\"é\": 1}\n".utf8), "text"),
      (Array("é".utf8.prefix(1)), "text"), ([UInt8](repeating: 0, count: 100), "zeros"),
      ([0xFE, 0x80, 1, 2], "unknown"), ([0x1F], "unknown"),
    ]
    for (bytes, name) in samples {
      let text = bytes.withUnsafeBytes { ForeignFile.error($0, path: "/x").description }
      #expect(text.contains(name), "\(name) in \(text)")
    }
  }
}
