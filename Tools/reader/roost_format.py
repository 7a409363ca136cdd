"""What reader and writer share of the file format: constants, references, header (SPEC.md 2 to 5)."""

import struct
from collections import namedtuple

from xxh3 import MASK64, hash64

MAGIC = bytes.fromhex('8A524F4F53540D0A')
RUN_MAGIC = b'ROOSTRUN'
SEGMENT_MAGIC = b'ROOSTSEG'
GROUP_MAGIC = b'ROOSTGRP'
VERSION = 1

LEAF, BRANCH, FREE_MAP, SPACE = 1, 2, 3, 4
KIND_NAMES = {LEAF: 'leaf', BRANCH: 'branch', FREE_MAP: 'free map', SPACE: 'space'}
PUT, PUT_RUN, DELETE, DELETE_RANGE, CREATE, DROP, RENAME = range(1, 8)

PAGE_HEADER = 40
NEXT_SPACE, SPACE_TWINS = 64, 96  # places in a space page
MAP_BITS = 64  # place in a free-map page
SLOT_OFFSETS = (0, 4096)
SLOT_LENGTH = 512
FIRST_SEGMENT_LENGTH = 65_536
SEGMENT_COPIES = (0, 4096)
GROUP_AREA = 8192
GROUP_HEADER = 64
CHUNK = 65_536
RUN_MARK = 32_767
PAGE_MASK = (1 << 48) - 1
MAX_HEIGHT = 32
TAG_ROW_INLINE = 256


class StoreProblem(Exception):
    """Why a store, or a part of it, cannot be read. `kind` is one of the words below, for programs."""

    KINDS = (
        'notAStore',
        'newerFormat',
        'headerDamaged',
        'truncated',
        'pageDamaged',
        'runDamaged',
        'journalDamaged',
    )

    def __init__(self, kind, message):
        assert kind in self.KINDS
        super().__init__(f'{kind}: {message}')
        self.kind = kind


Stamp = namedtuple('Stamp', 'generation attempt')
Ref = namedtuple('Ref', 'page stamp count has_runs')
Twin = namedtuple('Twin', 'a b live stamp free')  # live: 0 or 1
Run = namedtuple('Run', 'page length salt hash')  # the run descriptor
Header = namedtuple(
    'Header',
    'page_size padded store_id generation commit next_lsn chain position page_count '
    'catalog height next_table space tag_length tag writer_features',
)

NO_PAGE = Ref(0, Stamp(0, 0), 0, False)
NO_TWIN = Twin(0, 0, 0, Stamp(0, 0), 0)


def header_end(page_size):
    """`H`: where the first journal segment begins."""
    return max(16_384, page_size)


def first_page(page_size):
    """`F`: the first page behind headers and first segment."""
    return (header_end(page_size) + FIRST_SEGMENT_LENGTH) // page_size


def store_seed(store_id):
    return hash64(store_id, 0)


def inline_limit(page_size):
    """[T-5] Key and value together may be this long in a leaf."""
    return page_size // 2 - 64


def max_key(page_size):
    return page_size // 4


# References


def unpack_ref(data, at):
    where, entries, generation, _ = struct.unpack_from('<QQII', data, at)
    return Ref(where & PAGE_MASK, Stamp(generation, where >> 48), entries & (1 << 63) - 1, entries >> 63 == 1)


def pack_ref(ref):
    return struct.pack(
        '<QQII', ref.page | ref.stamp.attempt << 48, ref.count | ref.has_runs << 63, ref.stamp.generation, 0
    )


def unpack_twin(data, at):
    a, b, generation, attempt, _, free, _ = struct.unpack_from('<QQIHHII', data, at)
    return Twin(a, b & PAGE_MASK, b >> 63, Stamp(generation, attempt), free)


def pack_twin(twin):
    return struct.pack(
        '<QQIHHII',
        twin.a,
        twin.b | twin.live << 63,
        twin.stamp.generation,
        twin.stamp.attempt,
        0,
        twin.free,
        0,
    )


def live_page(twin):
    return twin.b if twin.live else twin.a


def unpack_run(data, at):
    return Run(*struct.unpack_from('<QQQQ', data, at))


def pack_run(run):
    return struct.pack('<QQQQ', *run)


# Varints


def pack_varint(value):
    return bytes([value]) if value < 128 else bytes([0x80 | value >> 8, value & 0xFF])


def unpack_varint(data, at, end):
    """(value, offset behind it); raises IndexError past `end`."""
    if at >= end or (data[at] >= 128 and at + 1 >= end):
        raise IndexError('varint past the end')
    if data[at] < 128:
        return data[at], at + 1
    return (data[at] & 0x7F) << 8 | data[at + 1], at + 2


# Runs


def chunk_count(length):
    return -(-length // CHUNK)


def run_value_offset(length):
    """Where the value begins in its run."""
    return (32 + 8 * chunk_count(length) + 63) & ~63


def run_pages(length, page_size):
    return -(-(run_value_offset(length) + length) // page_size)


def run_seed(seed, run_page, salt):
    return (seed + run_page + salt) & MASK64


# Header slots

_SLOT = struct.Struct('<8sIBBH16sQQQQQQ24sB7xQ32sH256sH')


def pack_header(h):
    log2 = h.page_size.bit_length() - 1
    state = h._replace(catalog=pack_ref(h.catalog), space=pack_twin(h.space))[2:]
    body = _SLOT.pack(MAGIC, VERSION, log2, h.padded, 0, *state).ljust(504, b'\0')
    return body + struct.pack('<Q', hash64(body, 0))


def unpack_header(slot):
    """[H-1] The header in a slot of 512 bytes, or what it is instead: 'alien', 'damaged', 'newer'."""
    if len(slot) < SLOT_LENGTH or slot[:8] != MAGIC:
        return 'alien'
    if struct.unpack_from('<Q', slot, 504)[0] != hash64(slot[:504], 0):
        return 'damaged'
    _, version, log2, padded, features, *state = _SLOT.unpack_from(slot)
    if version > VERSION or features:
        return 'newer'
    if version != VERSION or not 12 <= log2 <= 16 or padded > 1:
        return 'damaged'
    header = Header(1 << log2, padded == 1, *state)
    header = header._replace(catalog=unpack_ref(header.catalog, 0), space=unpack_twin(header.space, 0))
    first = first_page(header.page_size)
    referenced = [header.space.a, header.space.b] + ([header.catalog.page] if header.height else [])
    sound = (
        1 <= header.generation < 1 << 32
        and 1 <= header.next_lsn < 1 << 63
        and header.commit < 1 << 63
        and header.position % 8 == 0
        and header.height <= MAX_HEIGHT
        and (header.height == 0) == (header.catalog.page == 0)
        and first <= header.page_count <= 1 << 48
        and all(first <= page < header.page_count for page in referenced)
        and header.space.a != header.space.b  # [S-5]
        and header.next_table <= 1 << 32
    )
    return header if sound else 'damaged'


def page_hash(page, seed, number):
    return hash64(page[8:], (seed + number) & MASK64)


def seal_page(body, seed, number):
    """Puts the hash into a page whose other bytes are complete."""
    return struct.pack('<Q', page_hash(body, seed, number)) + body[8:]


def pack_page_header(number, stamp, kind, level=0, prefix=0, count=0, gap=0, last=0, table=0):
    where = number | stamp.attempt << 48
    return struct.pack(
        '<QQIBBHHHIII', 0, where, stamp.generation, kind, level, prefix, count, gap, last, table, 0
    )
