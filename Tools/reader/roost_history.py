"""The history of a model store's commits (SPEC.md 16, History)."""

import struct
from collections import namedtuple

Save = namedtuple('Save', 'date author changes')
Changes = namedtuple('Changes', 'shape inserted updated deleted')
"""`inserted`: ranges; `updated`: (identifier, places of properties); `deleted`: (identifier, {place: bytes})."""

MAXIMUM_CHANGES = 1 << 26


class HistoryError(Exception):
    pass


class _Reader:
    def __init__(self, data):
        self.data, self.at, self.total = data, 0, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise HistoryError('the row ends early')
        self.at += count
        return self.data[self.at - count : self.at]

    def groups(self):
        value, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value, shift // 7

    def number(self):
        value, count = self.groups()
        if value >> 64 or count > 10:
            raise HistoryError('a number is too great')
        return value

    def text(self):
        count = self.number()
        return None if count == 0 else self.take(count - 1)

    def identifier(self, last):
        step = self.number()
        if step == 0 or last + step >> 64:
            raise HistoryError('identifiers do not ascend')
        return last + step

    def count(self, changes):
        self.total += changes
        if self.total > MAXIMUM_CHANGES:
            raise HistoryError('too many changes')

    def inserted(self):
        runs, last = [], 0
        for _ in range(self.number()):
            first = self.identifier(last)
            last = first + self.number()
            self.count(last - first + 1)
            runs.append(range(first, last + 1))
        return runs

    def updated(self):
        updates, last = [], 0
        for _ in range(self.number()):
            last = self.identifier(last)
            mask, _ = self.groups()
            self.count(1)
            updates.append((last, [bit for bit in range(mask.bit_length()) if mask >> bit & 1]))
        return updates

    def deleted(self):
        deletions, last = [], 0
        for _ in range(self.number()):
            last = self.identifier(last)
            self.count(1)
            deletions.append((last, {self.number(): self.text() for _ in range(self.number())}))
        return deletions


def parse(data):
    """[R-20, R-21] One row of the table `history`."""
    reader = _Reader(data)
    if reader.take(1) != b'\x01':
        raise HistoryError('a format that is not known')
    date, author = struct.unpack('<d', reader.take(8))[0], reader.text()
    changes = []
    for _ in range(reader.number()):
        shape = reader.number()
        changes.append(Changes(shape, reader.inserted(), reader.updated(), reader.deleted()))
    if reader.at != len(data):
        raise HistoryError('bytes behind the row')
    try:
        return Save(date, author if author is None else author.decode('utf-8'), changes)
    except UnicodeDecodeError as problem:
        raise HistoryError(str(problem)) from problem


def saves(store):
    """The rows of a store's history: commit and what it did, oldest first."""
    table = store.tables.get(b'history')
    for key, value in table.items() if table else ():
        yield int.from_bytes(key, 'big'), parse(value)
