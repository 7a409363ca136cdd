"""The journal: the ring of segments, groups and their validity, replay (SPEC.md 10 and 12)."""

import struct
from collections import namedtuple

from roost_format import (
    CREATE,
    DELETE,
    DELETE_RANGE,
    DROP,
    FIRST_SEGMENT_LENGTH,
    GROUP_AREA,
    GROUP_HEADER,
    GROUP_MAGIC,
    PUT,
    PUT_RUN,
    RENAME,
    SEGMENT_COPIES,
    SEGMENT_MAGIC,
    StoreProblem,
    hash64,
    header_end,
    inline_limit,
    max_key,
    unpack_run,
)
from roost_pages import read_run
from xxh3 import MASK64

Segment = namedtuple(
    'Segment', 'offset length next sequence copies'
)  # copies: how many of the two are readable
Group = namedtuple('Group', 'offset checksum lsn length chain durable session commit records')
Record = namedtuple('Record', 'kind table key value upper bounds')


def damaged(why):
    return StoreProblem('journalDamaged', why)


# Segments


def read_segment(file, seed, page_size, offset):
    """[J-1] The valid copy of a segment header with the greater sequence. Valid has a length that can be."""
    first = offset == header_end(page_size)
    found = []
    for copy in SEGMENT_COPIES:
        data = file.read(offset + copy, 64)
        if len(data) < 64 or data[:8] != SEGMENT_MAGIC:
            continue
        where, length, following, sequence, _, _, checksum = struct.unpack_from('<7Q', data, 8)
        if where != offset or checksum != hash64(data[:56], (seed + offset) & MASK64):
            continue
        whole_pages = offset % page_size == 0 and length % page_size == 0 and length > GROUP_AREA
        if (length == FIRST_SEGMENT_LENGTH if first else whole_pages) and offset + length <= file.length:
            found.append((sequence, length, following))
    if not found:
        raise damaged(f'the segment at {offset} has no readable header')
    sequence, length, following = max(found, key=lambda copy: copy[0])
    return Segment(offset, length, following, sequence, len(found))


def read_ring(file, seed, page_size):
    """[O-2] The segments in the order of the ring, from the first."""
    first = header_end(page_size)
    ring, at = [], first
    while True:
        segment = read_segment(file, seed, page_size, at)
        ring.append(segment)
        at = segment.next
        if at == first:
            break
        if any(s.offset == at for s in ring):
            raise damaged(f'the ring returns to {at} without the first segment')
    if sum(s.length for s in ring) > 1 << 32:
        raise damaged('the ring is too long')  # [J-9]
    spans = sorted((s.offset, s.offset + s.length) for s in ring)
    if any(end > start for (_, end), (start, _) in zip(spans, spans[1:])):
        raise damaged('segments overlap')
    return ring


# Groups


def self_valid(segment_data, segment_at, offset, seed):
    """The group at file offset `offset`, without records, when it is self-valid, else None. [J-2]"""
    at = offset - segment_at
    if at + GROUP_HEADER > len(segment_data) or segment_data[at + 8 : at + 16] != GROUP_MAGIC:
        return None
    checksum, _, lsn, length, _, chain, durable, session, commit = struct.unpack_from(
        '<QQQIIQQQQ', segment_data, at
    )
    if length < GROUP_HEADER or length % 8 or at + length > len(segment_data) or durable >= lsn:
        return None
    if hash64(segment_data[at + 8 : at + length], (seed + offset) & MASK64) != checksum:
        return None
    return Group(offset, checksum, lsn, length, chain, durable, session, commit, ())


def parse_records(body, page_size):
    """The records of a group. [J-6]"""

    def unreadable(why):
        return damaged(f'a record cannot be read: {why}')

    records, at = [], 0

    def take(length):
        nonlocal at
        if at + length > len(body):
            raise unreadable('past the end of its group')
        part = body[at : at + length]
        at += length
        return part

    def key(length):
        if length > max_key(page_size):
            raise unreadable('key too long')
        return take(length)

    def name(length):
        data = take(length)
        if not 1 <= length <= 255:
            raise unreadable('table name of wrong length')
        try:
            data.decode('utf-8')
        except UnicodeDecodeError:
            raise unreadable('table name is not UTF-8') from None
        return data

    while at < len(body) and body[at] != 0:
        kind, bounds, a, table = struct.unpack('<BBHI', take(8))
        record = Record(kind, table, None, None, None, bounds)
        if kind == PUT:
            (length,) = struct.unpack('<I', take(4))
            k = key(a)
            if a + length > inline_limit(page_size):
                raise unreadable('a value that should lie in a run')
            record = record._replace(key=k, value=take(length))
        elif kind == PUT_RUN:
            run = unpack_run(take(32), 0)
            record = record._replace(key=key(a), value=run)
        elif kind == DELETE:
            record = record._replace(key=key(a))
        elif kind == DELETE_RANGE:
            (b,) = struct.unpack('<I', take(4))
            record = record._replace(key=key(a), upper=key(b))
        elif kind in (CREATE, RENAME):
            record = record._replace(key=name(a))
        elif kind != DROP:
            raise unreadable(f'kind {kind}')
        records.append(record)
    return tuple(records)


Tail = namedtuple('Tail', 'lsn position dropped')
"""Where the journal ends: the first LSN without a valid group, where a group would follow, and how many
self-valid groups with greater LSN are left of a torn tail."""


class Journal:
    """The groups behind the header, and how the journal ends."""

    def __init__(self, pages, header, to_gap=False):
        self.pages, self.header = pages, header
        self.ring = read_ring(pages.file, pages.seed, header.page_size)
        self.data = {s.offset: pages.file.read(s.offset, s.length) for s in self.ring}
        self.groups = []
        self.gap = None
        self._walk()
        self._scan(to_gap)

    def _segment_of(self, position):
        """Index in the ring of the segment with `position` in its group area or at its end."""
        for i, s in enumerate(self.ring):
            if s.offset + GROUP_AREA <= position <= s.offset + s.length:
                return i
        raise damaged(f'the journal position {position} lies in no segment')  # [O-2]

    def _places(self, position, index):
        """[J-3] (position, index of the segment) where a group may follow one that ends at `position`."""
        yield (position + 4095) & ~4095 if self.header.padded else position, index
        for step in range(1, len(self.ring) + 1):
            following = (index + step) % len(self.ring)
            yield self.ring[following].offset + GROUP_AREA, following

    def _walk(self):
        """[J-2] Follows the chain, then keeps the groups up to the first whose runs are not there."""
        header = self.header
        position, lsn, chain = header.position, header.next_lsn, header.chain
        index = self._segment_of(position)
        chained = []
        while True:
            for place, i in self._places(position, index):
                segment = self.ring[i]
                group = self_valid(self.data[segment.offset], segment.offset, place, self.pages.seed)
                if group and group.lsn == lsn and group.chain == chain:
                    break
            else:
                break
            chained.append((group, i))
            position, index, lsn, chain = place + group.length, i, lsn + 1, group.checksum
        flushed = max((group.durable for group, _ in chained), default=0)
        self.missing, self.position = header.next_lsn, header.position
        for group, i in chained:
            group = group._replace(records=self._records(group, self.ring[i].offset))
            if group.lsn > flushed and not self._has_runs(group):
                break
            self.groups.append(group)
            self.missing, self.position = group.lsn + 1, group.offset + group.length

    def _records(self, group, segment_at):
        at = group.offset - segment_at
        body = self.data[segment_at][at + GROUP_HEADER : at + group.length]
        return parse_records(body, self.header.page_size)

    def _has_runs(self, group):
        try:
            for record in group.records:
                if record.kind == PUT_RUN:
                    read_run(self.pages, record.value)
        except StoreProblem:
            return False
        return True

    def _scan(self, to_gap):
        """[J-4] Is the first missing group missing because it was lost, or because it was never flushed?"""
        dropped = 0
        for segment in self.ring:
            data = self.data[segment.offset]
            at = data.find(GROUP_MAGIC, GROUP_AREA)
            while at >= 0:
                place = segment.offset + at - 8
                group = None if at % 8 else self_valid(data, segment.offset, place, self.pages.seed)
                if group and group.lsn > self.missing:
                    if group.durable >= self.missing:
                        self.gap = self.missing
                        if not to_gap:
                            raise damaged(
                                f'group {self.missing} is missing, although group {group.lsn} at '
                                f'{place} says that it was flushed'
                            )
                    dropped += 1
                at = data.find(GROUP_MAGIC, at + 1)
        self.tail = Tail(self.missing, self.position, dropped)


# Replay


class Overlay:
    """What groups did to one table: keys put or deleted, and ranges of the stored tree that are hidden."""

    def __init__(self):
        self.entries = {}  # key: value, Run, or None when deleted
        self.cuts = []  # predicates over keys of the stored tree

    def put(self, key, value):
        self.entries[key] = value

    def delete_range(self, record):
        inside = in_bounds(record)
        self.cuts.append(inside)
        for key in [key for key in self.entries if inside(key)]:
            del self.entries[key]

    def merged(self, stored):
        """The stored entries with these changes, in order."""
        changes = iter(sorted(self.entries))
        change = next(changes, None)
        for key, value in stored:
            while change is not None and change < key:
                if self.entries[change] is not None:
                    yield change, self.entries[change]
                change = next(changes, None)
            if change == key:
                if self.entries[change] is not None:
                    yield change, self.entries[change]
                change = next(changes, None)
            elif not any(inside(key) for inside in self.cuts):
                yield key, value
        while change is not None:
            if self.entries[change] is not None:
                yield change, self.entries[change]
            change = next(changes, None)


def in_bounds(record):
    """Whether a key is within a delete range."""
    bounds, low, high = record.bounds, record.key, record.upper

    def inside(key):
        if bounds & 1 and (key < low or (key == low and not bounds & 2)):
            return False
        return not bounds & 4 or key < high or (key == high and bounds & 8 != 0)

    return inside


def replay(groups, tables, next_table, make_table):
    """[O-3] Applies the groups to `tables`, by name; returns the next table id."""
    by_id = {table.id: table for table in tables.values()}
    names = {table.id: name for name, table in tables.items()}
    for group in groups:

        def refuse(why, lsn=group.lsn):
            raise damaged(f'group {lsn}: {why}')  # [J-6]

        if group.commit >= 1 << 63:
            refuse(f'has the commit number {group.commit}')
        for record in group.records:
            if record.kind == CREATE:
                if record.key in tables or record.table in by_id:
                    refuse(f'creates table {record.table}, which is there')
                if record.table < next_table:
                    refuse(f'table id {record.table} is used again')  # [G-1]
                by_id[record.table] = tables[record.key] = make_table(record.table)
                names[record.table] = record.key
                next_table = record.table + 1
                continue
            table = by_id.get(record.table)
            if table is None:
                refuse(f'names table {record.table}, which does not exist')
            if record.kind in (PUT, PUT_RUN):
                table.overlay.put(record.key, record.value)
            elif record.kind == DELETE:
                table.overlay.put(record.key, None)
            elif record.kind == DELETE_RANGE:
                table.overlay.delete_range(record)
            elif record.kind == DROP:
                del by_id[record.table], tables[names.pop(record.table)]
            elif record.kind == RENAME:
                if record.key in tables:
                    refuse('renames a table to a name that is taken')
                tables[record.key] = tables.pop(names[record.table])
                names[record.table] = record.key
    return next_table
