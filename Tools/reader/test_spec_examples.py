import os
import re
import unittest

from roost_format import LEAF, Stamp, header_end, store_seed, unpack_header
from roost_history import Changes, Save, parse
from roost_journal import CREATE, PUT, parse_records, self_valid
from roost_pages import Pages, leaf_entries

SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'SPEC.md')
STORE_ID = bytes(range(16))
PAGE_SIZE = 4096


def example(name, length):
    """The bytes of the block ```hex name of section 19; lines of zeros are left out there."""
    with open(SPEC, encoding='utf-8') as file:
        block = re.search(rf'```hex {name}\n(.*?)```', file.read(), re.DOTALL).group(1)
    data = bytearray(length)
    for line in block.splitlines():
        at, content = int(line[:4], 16), bytes.fromhex(line[4:])
        data[at : at + len(content)] = content
    return bytes(data)


class InMemory:
    """A file that holds one page at its place."""

    def __init__(self, offset, data):
        self.offset, self.data, self.length = offset, data, offset + len(data)

    def read(self, offset, length):
        return self.data[offset - self.offset :][:length]


class SpecExamples(unittest.TestCase):
    def test_header(self):
        header = unpack_header(example('header', 512))
        self.assertEqual((header.store_id, header.page_size, header.padded), (STORE_ID, PAGE_SIZE, False))
        self.assertEqual((header.generation, header.next_lsn, header.page_count), (1, 1, 24))
        self.assertEqual(header.position, header_end(PAGE_SIZE) + 8192)
        self.assertEqual((header.space.a, header.space.b, header.space.live), (20, 21, 1))
        self.assertEqual(header.space.stamp, Stamp(1, 0x1234))

    def test_group(self):
        data = example('group', 0x68)
        group = self_valid(bytes(8192) + data, header_end(PAGE_SIZE), 24_576, store_seed(STORE_ID))
        self.assertEqual(
            (group.lsn, group.length, group.session, group.commit), (1, 0x68, 0x1122334455667788, 1)
        )
        records = parse_records(data[64:], PAGE_SIZE)
        self.assertEqual(
            [(r.kind, r.table, r.key) for r in records], [(CREATE, 1, b'birds'), (PUT, 1, b'owl')]
        )
        self.assertEqual(records[1].value, b'flies')

    def test_history(self):
        changes = Changes(2, [range(5, 8), range(300, 301)], [(3, [0, 8])], [(4, {1: b'Elm'})])
        self.assertEqual(parse(example('history', 34)), Save(7e8 + 0.5, 'sync', [changes]))

    def test_leaf(self):
        pages = Pages(InMemory(24 * PAGE_SIZE, example('leaf', PAGE_SIZE)), PAGE_SIZE, store_seed(STORE_ID))
        data, head = pages.read(24, Stamp(2, 0x1234), LEAF)
        self.assertEqual((head.table, head.gap, pages.untidy), (1, 0, []))
        entries = [(b'prefix-a', b'1'), (b'prefix-b, longer', b'two'), (b'prefix-c', b'')]
        self.assertEqual(leaf_entries(pages, data, head), entries)


if __name__ == '__main__':
    unittest.main()
