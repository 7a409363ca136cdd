#!/usr/bin/env python3
"""Writes small stores by SPEC.md alone, so that readers can be tried on files that the engine did not write.

  roost_writer.py STORE [--seed N] [--page-size P] [--padded] [--entries N] [--groups N] [--tail KIND]

A `StoreWriter` builds one state: tables, runs, map, journal ring. Where the format leaves freedom, it
chooses by seeded chance: places of pages, order of cells, gaps among them, prefixes shorter than possible,
entries a page, which twin is live, old stamps.
"""

import argparse
import random
import struct
import sys

from roost_format import (
    BRANCH,
    CHUNK,
    CREATE,
    DELETE,
    DELETE_RANGE,
    DROP,
    FIRST_SEGMENT_LENGTH,
    FREE_MAP,
    GROUP_AREA,
    GROUP_HEADER,
    GROUP_MAGIC,
    LEAF,
    NO_PAGE,
    NO_TWIN,
    MAP_BITS,
    NEXT_SPACE,
    PAGE_HEADER,
    SPACE_TWINS,
    PUT,
    PUT_RUN,
    RENAME,
    RUN_MAGIC,
    RUN_MARK,
    SEGMENT_COPIES,
    SEGMENT_MAGIC,
    SLOT_OFFSETS,
    SPACE,
    TAG_ROW_INLINE,
    Header,
    Ref,
    Run,
    Stamp,
    Twin,
    first_page,
    hash64,
    header_end,
    inline_limit,
    live_page,
    pack_header,
    pack_page_header,
    pack_ref,
    pack_run,
    pack_twin,
    pack_varint,
    run_pages,
    run_seed,
    run_value_offset,
    seal_page,
    store_seed,
)
from xxh3 import MASK64


def common_prefix(keys):
    low, high = min(keys), max(keys)
    n = 0
    while n < min(len(low), len(high)) and low[n] == high[n]:
        n += 1
    return low[:n]


class StoreWriter:
    """A store under construction; `image` holds the bytes of the file."""

    def __init__(self, page_size=4096, padded=False, seed=0, most_entries=None, generation=7, next_lsn=40):
        self.random = random.Random(seed)
        self.page_size, self.padded = page_size, padded
        self.most_entries = most_entries  # entries or children a page at most, to get high trees
        self.store_id = self.random.randbytes(16)
        self.seed = store_seed(self.store_id)
        self.generation = generation
        self.next_lsn, self.chain = next_lsn, self.random.getrandbits(64)
        self.next_table, self.table = 1, 0  # `table`: whose pages are being written
        self.free_choice = True
        self.image = bytearray(first_page(page_size) * page_size)
        self.used = set(range(first_page(page_size)))
        self.ring = [(header_end(page_size), FIRST_SEGMENT_LENGTH)]

    # Space

    def allocate(self, pages=1, mark=True):
        """The first of `pages` contiguous fresh pages, behind a random gap."""
        first = len(self.image) // self.page_size + self.random.choice((0, 0, 0, 1, 2))
        self.image.extend(bytes((first + pages) * self.page_size - len(self.image)))
        if mark:
            self.used.update(range(first, first + pages))
        return first

    def place(self, offset, data):
        if offset + len(data) > len(self.image):
            self.image.extend(bytes(offset + len(data) - len(self.image)))
        self.image[offset : offset + len(data)] = data

    def stamp(self):
        """[P-1] The stamp of some checkpoint up to this one."""
        return Stamp(self.random.randint(1, self.generation), self.random.getrandbits(16))

    def write_page(self, number, body):
        assert len(body) == self.page_size
        self.place(number * self.page_size, seal_page(bytes(body), self.seed, number))

    # Runs

    def write_run(self, value, salt=None, mark=True):
        salt = self.random.getrandbits(64) if salt is None else salt
        page = self.allocate(run_pages(len(value), self.page_size), mark)
        seed = run_seed(self.seed, page, salt)
        chunks = [value[i : i + CHUNK] for i in range(0, len(value), CHUNK)]
        head = RUN_MAGIC + struct.pack('<QQQ', page, len(value), salt)
        head += b''.join(struct.pack('<Q', hash64(c, (seed + i + 1) & MASK64)) for i, c in enumerate(chunks))
        self.place(page * self.page_size, head)
        self.place(page * self.page_size + run_value_offset(len(value)), value)
        return Run(page, len(value), salt, hash64(head, seed))

    def stored(self, key, value, mark=True, salt=None):
        """[T-5] The value as a leaf or record holds it."""
        if len(key) + len(value) <= inline_limit(self.page_size):
            return value
        return self.write_run(value, salt, mark)

    # Trees

    def chosen_prefix(self, keys):
        prefix = common_prefix(keys)
        return prefix[: self.random.randint(0, len(prefix))] if self.random.random() < 0.3 else prefix

    def pack_cells(self, fixed, prefix, cells):
        """The page behind its header: `fixed`, slots, cells in random order with gaps here and there."""
        n = len(cells)
        room = self.page_size - PAGE_HEADER - len(fixed) - 2 * n - len(prefix) - sum(map(len, cells))
        assert room >= 0, 'page overflow'
        order = list(range(n))
        self.random.shuffle(order)
        area, starts, gap = bytearray(), [0] * n, 0
        for i in order:
            if room and self.random.random() < 0.2:
                hole = self.random.randint(1, min(room, 40))
                room, gap = room - hole, gap + hole
                area += self.random.randbytes(hole)  # [P-3]
            starts[i] = len(area)
            area += cells[i]
        offset = self.page_size - len(prefix) - len(area)
        slots = struct.pack(f'<{n}H', *(offset + start for start in starts))
        middle = bytes(offset - PAGE_HEADER - len(fixed) - len(slots))
        return offset, gap, fixed + slots + middle + bytes(area) + prefix

    @staticmethod
    def head_of(rest):
        return int.from_bytes(rest[:8].ljust(8, b'\0'), 'big')  # [T-1]

    def leaf_cell(self, rest, value):
        inline = isinstance(value, bytes)
        return (
            pack_varint(len(rest))
            + pack_varint(len(value) if inline else RUN_MARK)
            + rest[8:]
            + (value if inline else pack_run(value))
        )

    def write_leaf(self, entries):
        """Writes a leaf; returns its reference."""
        prefix = self.chosen_prefix([key for key, _ in entries])
        rests = [key[len(prefix) :] for key, _ in entries]
        heads = struct.pack(f'<{len(rests)}Q', *map(self.head_of, rests))
        cells = [self.leaf_cell(rest, value) for rest, (_, value) in zip(rests, entries)]
        offset, gap, body = self.pack_cells(heads, prefix, cells)
        number, stamp = self.allocate(), self.stamp()
        self.write_page(
            number,
            pack_page_header(number, stamp, LEAF, 0, len(prefix), len(entries), gap, offset, self.table)
            + body,
        )
        return Ref(number, stamp, len(entries), any(not isinstance(value, bytes) for _, value in entries))

    def write_branch(self, children, level):
        """`children`: (separator, reference); the first separator counts as empty. [T-3]"""
        prefix = self.chosen_prefix([key for key, _ in children[1:]]) if len(children) > 1 else b''
        rests = [b''] + [key[len(prefix) :] for key, _ in children[1:]]
        fixed = struct.pack(f'<{len(rests)}Q', *map(self.head_of, rests))
        fixed += b''.join(pack_ref(ref) for _, ref in children)
        offset, gap, body = self.pack_cells(fixed, prefix, [pack_varint(len(r)) + r[8:] for r in rests])
        number, stamp = self.allocate(), self.stamp()
        self.write_page(
            number,
            pack_page_header(
                number, stamp, BRANCH, level, len(prefix), len(children), gap, offset, self.table
            )
            + body,
        )
        return Ref(
            number, stamp, sum(ref.count for _, ref in children), any(ref.has_runs for _, ref in children)
        )

    def split(self, items, cost, least):
        """`items` in groups that fit a page each, the last of at least `least` items if possible."""
        room = self.page_size - PAGE_HEADER
        groups, total = [], 0
        for item in items:
            price = cost(item)
            full = groups and (total + price > room or len(groups[-1]) >= (self.most_entries or 1 << 30))
            if not groups or full:
                groups.append([])
                total = 0
            groups[-1].append(item)
            total += price
        if len(groups) > 1 and len(groups[-1]) < least <= len(groups[-2]) - 1:
            groups[-1].insert(0, groups[-2].pop())
        return groups

    def separator(self, before, first):
        """A shortest key that is above `before` and not above `first`, or `first` itself."""
        if self.random.random() < 0.3:
            return first
        for n in range(1, len(first) + 1):
            if first[:n] > before:
                return first[:n]

    def write_tree(self, entries):
        """(root, height) of a tree with `entries`, sorted (key, value or Run)."""
        if not entries:
            return NO_PAGE, 0
        # Without a prefix: at most 8 bytes of head, 2 of slot, 4 of varints, the key and the value.
        leaves = self.split(
            entries, lambda e: 14 + len(e[0]) + (len(e[1]) if isinstance(e[1], bytes) else 32), 1
        )
        nodes, last = [], None
        for leaf in leaves:
            nodes.append(
                (self.separator(last, leaf[0][0]) if last is not None else b'', self.write_leaf(leaf))
            )
            last = leaf[-1][0]
        height = 1
        while len(nodes) > 1:
            groups = self.split(nodes, lambda node: 36 + len(node[0]), 2)
            nodes = [(group[0][0], self.write_branch(group, height)) for group in groups]
            height += 1
        return nodes[0][1], height

    # State

    def write_state(self, tables):
        """Writes all tables (name to dict), runs and the catalog; returns (catalog root, height)."""
        self.table_ids, rows = {}, []
        for name in sorted(tables):
            entries = [(key, self.stored(key, value)) for key, value in sorted(tables[name].items())]
            self.table = self.table_ids[name] = self.next_table
            self.next_table += self.random.randint(1, 3)
            root, height = self.write_tree(entries)
            rows.append((name, struct.pack('<IB3x', self.table_ids[name], height) + pack_ref(root)))
        self.table = 0
        return self.write_tree(rows)

    def write_map(self, extra_zones=0):
        """[S-1] Free-map and space twins; returns the twin reference of the first space page."""
        zone_pages = (self.page_size - MAP_BITS) * 8
        zones = 1
        while True:  # the twins lie on pages of the zones they describe
            needed = (len(self.image) // self.page_size + 8 * zones + 16) // zone_pages + 1 + extra_zones
            if needed <= zones:
                break
            zones = needed
        zone_twins = [(self.allocate(), self.allocate()) for _ in range(zones)]
        capacity = (self.page_size - SPACE_TWINS) // 32
        space_twins = [(self.allocate(), self.allocate()) for _ in range(-(-zones // capacity))]
        refs = [self.write_zone(zone, pair, zone_pages) for zone, pair in enumerate(zone_twins)]
        following = NO_TWIN
        for i in reversed(range(len(space_twins))):
            part = refs[i * capacity : (i + 1) * capacity]
            body = bytes(NEXT_SPACE - PAGE_HEADER) + pack_twin(following) + b''.join(map(pack_twin, part))
            following = self.write_twin(space_twins[i], SPACE, body, count=len(part))
        return following

    def write_zone(self, zone, pair, zone_pages):
        bits = bytearray(self.page_size - MAP_BITS)
        for page in self.used:
            if page // zone_pages == zone:
                bits[page % zone_pages >> 3] |= 1 << (page & 7)
        free = zone_pages - sum(byte.bit_count() for byte in bits)
        return self.write_twin(
            pair, FREE_MAP, bytes(MAP_BITS - PAGE_HEADER) + bytes(bits), last=zone
        )._replace(free=free)

    def write_twin(self, pair, kind, body, count=0, last=0):
        live, stamp = self.random.randint(0, 1), self.stamp()
        twin = Twin(*pair, live, stamp, 0)
        number = live_page(twin)
        page = pack_page_header(number, stamp, kind, count=count, last=last) + body
        self.write_page(number, page.ljust(self.page_size, b'\0'))
        return twin

    def add_segment(self, pages):
        """Another segment, put into the ring in front of the first; its pages have bit 0. [S-2]"""
        offset = self.allocate(pages, mark=False) * self.page_size
        self.ring.append((offset, pages * self.page_size))

    def write_segments(self):
        for i, (offset, length) in enumerate(self.ring):
            following = self.ring[(i + 1) % len(self.ring)][0]
            body = SEGMENT_MAGIC + struct.pack('<6Q', offset, length, following, 3 + i, 0, 0)
            body += struct.pack('<Q', hash64(body, (self.seed + offset) & MASK64))
            for copy in SEGMENT_COPIES:
                self.place(offset + copy, body)

    def write(self, tables, segments=(), position=None, extra_zones=0):
        """The whole state; then groups can be appended. `position`: (segment, offset in its group area)."""
        catalog, height = self.write_state(tables)
        for pages in segments:
            self.add_segment(pages)
        space = self.write_map(extra_zones)
        tag = tables.get(b'\0schema', {}).get(b'current', b'')
        index, offset = position or (0, 0)
        self.segment, self.entered = index, {index}
        self.position = self.ring[index][0] + GROUP_AREA + offset
        self.header = Header(
            self.page_size,
            self.padded,
            self.store_id,
            self.generation,
            self.next_lsn - 1,
            self.next_lsn,
            self.chain,
            self.position,
            len(self.image) // self.page_size,
            catalog,
            height,
            self.next_table,
            space,
            len(tag),
            tag[:TAG_ROW_INLINE],
            0,
        )
        for at in SLOT_OFFSETS:
            self.place(at, pack_header(self.header))
        self.write_segments()
        return self

    # Journal

    def room(self, records):
        """Whether a group of `records` has a place behind the last one."""
        length = GROUP_HEADER + sum(map(len, records)) + 8
        start, size = self.ring[self.segment]
        following = (self.segment + 1) % len(self.ring)
        return self.position + 4096 + length <= start + size or (
            following not in self.entered and length <= self.ring[following][1] - GROUP_AREA
        )

    def append(self, records, durable=None, session=1, place=True):
        """[J-3] Appends a group; returns (offset, bytes)."""
        body = b''.join(records)
        length = max(GROUP_HEADER, (GROUP_HEADER + len(body) + 7) & ~7)
        if self.padded:
            self.position = (self.position + 4095) & ~4095
        start, size = self.ring[self.segment]
        if self.position + length > start + size:
            self.segment = (self.segment + 1) % len(self.ring)
            assert self.segment not in self.entered, 'the journal is full'
            self.entered.add(self.segment)
            self.position = self.ring[self.segment][0] + GROUP_AREA
        durable = self.next_lsn - 1 if durable is None else durable
        rest = (
            GROUP_MAGIC
            + struct.pack('<QIIQQQQ', self.next_lsn, length, 0, self.chain, durable, session, self.next_lsn)
            + body
        )
        rest = rest.ljust(length - 8, b'\0')
        self.chain = hash64(rest, (self.seed + self.position) & MASK64)
        data, offset = struct.pack('<Q', self.chain) + rest, self.position
        if place:
            self.place(offset, data)
        self.position += length
        self.next_lsn += 1
        return offset, data

    def put(self, table, key, value, session=1):
        """The record of a put; a long value is written to a run first. [C-1]"""
        value = self.stored(key, value, mark=False, salt=session)
        if isinstance(value, bytes):
            return struct.pack('<BBHII', PUT, 0, len(key), table, len(value)) + key + value
        return struct.pack('<BBHI', PUT_RUN, 0, len(key), table) + pack_run(value) + key


def delete(table, key):
    return struct.pack('<BBHI', DELETE, 0, len(key), table) + key


def delete_range(table, low=None, high=None, with_low=True, with_high=False):
    """None: no bound."""
    bounds = (low is not None) | (low is not None and with_low) << 1
    bounds |= (high is not None) << 2 | (high is not None and with_high) << 3
    low, high = low or b'', high or b''
    return struct.pack('<BBHII', DELETE_RANGE, bounds, len(low), table, len(high)) + low + high


def create(table, name):
    return struct.pack('<BBHI', CREATE, 0, len(name), table) + name


def drop(table):
    return struct.pack('<BBHI', DROP, 0, 0, table)


def rename(table, name):
    return struct.pack('<BBHI', RENAME, 0, len(name), table) + name


def save(writer, path):
    with open(path, 'wb') as file:
        file.write(writer.image)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('store')
    for option, default in dict(seed=0, page_size=4096, entries=300, groups=5, most_entries=20).items():
        parser.add_argument('--' + option.replace('_', '-'), type=int, default=default)
    parser.add_argument('--padded', action='store_true')
    parser.add_argument(
        '--tail',
        choices=('none', 'torn', 'lost'),
        default='none',
        help='torn: the last group is half there; lost: one before a flushed group is not there',
    )
    options = parser.parse_args()
    writer = StoreWriter(options.page_size, options.padded, options.seed, options.most_entries)
    rng = writer.random
    tables = {
        b'small': {b'%d' % i: rng.randbytes(i) for i in range(10)},
        b'empty': {},
        b'large': {
            b'key %06d' % i: rng.randbytes(rng.choice((0, 5, 90, 4000, 70_000 if i % 50 == 0 else 9)))
            for i in range(options.entries)
        },
    }
    writer.write(tables, segments=(20, 33))
    for i in range(options.groups):
        lose = options.tail == 'lost' and i == options.groups - 2
        table = writer.table_ids[b'large']
        writer.append(
            [writer.put(table, b'key %06d' % rng.randrange(options.entries), rng.randbytes(3000))],
            place=not lose,
        )
    if options.tail == 'torn':
        offset, data = writer.append(
            [writer.put(writer.table_ids[b'small'], b'torn', rng.randbytes(900))], place=False
        )
        writer.place(offset, data[:512])
    save(writer, options.store)


if __name__ == '__main__':
    sys.exit(main())
