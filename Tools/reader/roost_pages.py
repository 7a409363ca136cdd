"""Pages, trees and runs, read with every check that the format allows (SPEC.md 5 to 8)."""

import fcntl
import os
import struct
from collections import namedtuple

from roost_format import (
    BRANCH,
    CHUNK,
    KIND_NAMES,
    LEAF,
    MAX_HEIGHT,
    PAGE_HEADER,
    PAGE_MASK,
    RUN_MAGIC,
    RUN_MARK,
    StoreProblem,
    Stamp,
    chunk_count,
    first_page,
    hash64,
    inline_limit,
    max_key,
    page_hash,
    run_pages,
    run_seed,
    run_value_offset,
    unpack_ref,
    unpack_run,
    unpack_varint,
)
from xxh3 import MASK64

PageHeader = namedtuple('PageHeader', 'hash number stamp kind level prefix count gap last table')


WRITER_BYTE, PIN_BYTE = 1 << 61, 1 << 62
OFD_LOCKS = hasattr(fcntl, 'F_OFD_SETLK')
_FLOCK = 'hhqqi4x'  # struct flock of 64-bit Linux


class File:
    """Bounds-checked reads of a file that is never written."""

    def __init__(self, path):
        self.descriptor = os.open(path, os.O_RDONLY)
        self.refresh()

    def refresh(self):
        self.length = os.fstat(self.descriptor).st_size

    def _lock(self, command, kind, offset, length=1):
        whence, pid = os.SEEK_SET, 0
        lock = struct.pack(_FLOCK, kind, whence, offset, length, pid)
        return struct.unpack(_FLOCK, fcntl.fcntl(self.descriptor, command, lock))

    def pin(self, generation):
        """[X-2] Asks writers to leave alone what this generation needs; an earlier pin ends."""
        if OFD_LOCKS:
            self._lock(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, PIN_BYTE, 1 << 32)
            self._lock(fcntl.F_OFD_SETLK, fcntl.F_RDLCK, PIN_BYTE + generation)

    def has_writer(self):
        """[X-1] Whether somebody holds the writer's lock."""
        return OFD_LOCKS and self._lock(fcntl.F_OFD_GETLK, fcntl.F_RDLCK, WRITER_BYTE)[0] != fcntl.F_UNLCK

    def close(self):
        os.close(self.descriptor)

    def read(self, offset, length):
        """Up to `length` bytes; less only at the end of the file."""
        parts = []
        while length > 0 and offset < self.length:
            part = os.pread(self.descriptor, min(length, 1 << 24, self.length - offset), offset)
            if not part:
                break
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return b''.join(parts)


class Pages:
    """The pages of one store."""

    def __init__(self, file, page_size, seed):
        self.file, self.page_size, self.seed = file, page_size, seed
        self.untidy = []  # [P-3] complaints about unused bytes that are not zero

    def read(self, number, stamp, kind, level=0):
        """[P-1, P-2] The bytes of page `number`, checked against what refers to it, and its header."""

        def damaged(why):
            return StoreProblem('pageDamaged', f'page {number} ({KIND_NAMES[kind]}): {why}')

        if number < first_page(self.page_size):
            raise damaged('lies among headers and first segment')
        data = self.file.read(number * self.page_size, self.page_size)
        if len(data) < self.page_size:
            raise damaged('past the end of the file')
        stored, where, generation, *rest = struct.unpack_from('<QQIBBHHHII', data)
        head = PageHeader(stored, where & PAGE_MASK, Stamp(generation, where >> 48), *rest)
        if page_hash(data, self.seed, number) != stored:
            raise damaged('wrong checksum')
        if head.number != number:
            raise damaged(f'says it is page {head.number}')
        if head.stamp != stamp:
            raise damaged(f'stamp {tuple(head.stamp)} where {tuple(stamp)} was expected')
        if head.kind != kind or head.level != level:
            raise damaged(f'kind {head.kind} level {head.level} where kind {kind} level {level} was expected')
        return data, head


class Cells:
    """The part that leaves and branches share: heads, slots, cells and prefix of one page."""

    def __init__(self, pages, data, head, slots_at):
        self.data, self.head, self.size = data, head, pages.page_size
        self.number = head.number
        self.top = self.size - head.prefix  # the end of the cell area
        self.slots_at = slots_at
        self.spans = []
        slots_end = slots_at + 2 * head.count
        if head.count == 0:
            raise self.damaged('is empty')  # [T-7]
        if head.prefix > max_key(self.size) or not slots_end <= head.last <= self.top:
            raise self.damaged('has offsets outside of it')
        self.prefix = data[self.top :]
        if any(data[slots_end : head.last]):
            pages.untidy.append(f'page {self.number}: unused bytes between slots and cells are not zero')

    def damaged(self, why):
        return StoreProblem('pageDamaged', f'page {self.number}: {why}')

    def varint(self, at):
        try:
            return unpack_varint(self.data, at, self.top)
        except IndexError:
            raise self.damaged('a cell crosses the end of the cell area') from None

    def key(self, index, length, at):
        """[T-1] Key `index` behind the prefix, given its length, and the offset behind it."""
        big = self.data[PAGE_HEADER + 8 * index : PAGE_HEADER + 8 * index + 8][::-1]
        if length <= 8:
            if any(big[length:]):
                raise self.damaged(f'the head of entry {index} is not zero-filled')
            return big[:length], at
        return big + self.take(at, length - 8), at + length - 8

    def take(self, at, length):
        if at + length > self.top:
            raise self.damaged('a cell crosses the end of the cell area')
        return self.data[at : at + length]

    def cell(self, index):
        at = struct.unpack_from('<H', self.data, self.slots_at + 2 * index)[0]
        if not self.head.last <= at < self.top:
            raise self.damaged(f'the slot of entry {index} points outside of the cell area')
        return at

    def used(self, at, end):
        self.spans.append((at, end))

    def finish(self):
        """Cells may not overlap. The bytes among them are free, and their count is only advice. [P-3]"""
        self.spans.sort()
        for (_, end), (start, _) in zip(self.spans, self.spans[1:]):
            if start < end:
                raise self.damaged('cells overlap')


def leaf_entries(pages, data, head):
    """[T-2] (key, value) of a leaf; a value in a run is its descriptor."""
    cells = Cells(pages, data, head, PAGE_HEADER + 8 * head.count)
    entries = []
    for i in range(head.count):
        start = cells.cell(i)
        k, at = cells.varint(start)
        v, at = cells.varint(at)
        rest, at = cells.key(i, k, at)
        key = cells.prefix + rest
        if len(key) > max_key(pages.page_size):
            raise cells.damaged(f'key {i} is too long')
        if v == RUN_MARK:
            value = unpack_run(cells.take(at, 32), 0)
            at += 32
        else:
            value = cells.take(at, v)
            at += v
        length = value.length if v == RUN_MARK else v
        if (len(key) + length > inline_limit(pages.page_size)) != (v == RUN_MARK):
            raise cells.damaged(f'the value of entry {i} is in the wrong place for its length')  # [T-5]
        cells.used(start, at)
        entries.append((key, value))
    cells.finish()
    return entries


def branch_children(pages, data, head):
    """[T-3] (separator, reference) of a branch."""
    cells = Cells(pages, data, head, PAGE_HEADER + 32 * head.count)
    children = []
    for i in range(head.count):
        start = cells.cell(i)
        k, at = cells.varint(start)
        rest, at = cells.key(i, k, at)
        if i == 0 and k:
            raise cells.damaged('the first separator is not empty')
        key = cells.prefix + rest if i else b''
        if len(key) > max_key(pages.page_size):
            raise cells.damaged(f'separator {i} is too long')
        cells.used(start, at)
        children.append((key, unpack_ref(data, PAGE_HEADER + 8 * head.count + 24 * i)))
    cells.finish()
    return children


class Tree:
    """One stored tree, read only."""

    def __init__(self, pages, root, height):
        self.pages, self.root, self.height = pages, root, height

    def walk(self, on_page=None):
        """Yields (key, value) in order. `on_page(header)` hears of every page."""
        if self.height == 0 or self.root.page == 0:
            if self.height or self.root.page or self.root.count:
                raise StoreProblem(
                    'pageDamaged', 'a tree is empty by its height or root, but not by both'
                )  # [T-7]
            return
        if self.height > MAX_HEIGHT:
            raise StoreProblem('pageDamaged', f'a tree of height {self.height}')
        yield from self._walk(self.root, self.height - 1, b'', None, on_page, True)

    def _walk(self, ref, level, low, high, on_page, is_root):
        data, head = self.pages.read(ref.page, ref.stamp, BRANCH if level else LEAF, level)
        if on_page:
            on_page(head)

        def damaged(why):
            return StoreProblem('pageDamaged', f'page {ref.page}: {why}')

        def ascending(keys):  # [T-4]
            if any(a >= b for a, b in zip(keys, keys[1:])):
                raise damaged('keys do not ascend')
            if keys and (keys[0] < low or (high is not None and keys[-1] >= high)):
                raise damaged('keys lie outside of the bounds that the parent sets')

        if level == 0:
            entries = leaf_entries(self.pages, data, head)
            ascending([key for key, _ in entries])
            count, runs = len(entries), any(not isinstance(value, bytes) for _, value in entries)
            yield from entries
        else:
            children = branch_children(self.pages, data, head)
            if is_root and len(children) < 2:
                raise damaged('a root branch with one child')  # [T-7]
            ascending([key for key, _ in children[1:]])
            if len(children) > 1 and children[1][0] <= low:
                raise damaged('a separator repeats the lower bound')
            for i, (key, child) in enumerate(children):
                upper = children[i + 1][0] if i + 1 < len(children) else high
                yield from self._walk(child, level - 1, key if i else low, upper, on_page, False)
            count, runs = sum(child.count for _, child in children), any(
                child.has_runs for _, child in children
            )
        if count != ref.count:  # [T-6]
            raise damaged(f'holds {count} entries, its reference says {ref.count}')
        if runs and not ref.has_runs:
            raise damaged('holds runs, its reference says none')


def read_run(pages, run):
    """The value that a run descriptor names, every chunk checked."""

    def damaged(why):
        return StoreProblem('runDamaged', f'run at page {run.page}, {run.length} bytes: {why}')

    if (
        run.length == 0
        or run.page > PAGE_MASK
        or run.page * pages.page_size + run_value_offset(run.length) + run.length > pages.file.length
    ):
        raise damaged('past the end of the file')
    seed = run_seed(pages.seed, run.page, run.salt)
    start = run.page * pages.page_size
    chunks = chunk_count(run.length)
    head = pages.file.read(start, 32 + 8 * chunks)
    if hash64(head, seed) != run.hash or head[:8] != RUN_MAGIC:
        raise damaged('its head does not fit the descriptor')
    if struct.unpack_from('<QQQ', head, 8) != (run.page, run.length, run.salt):
        raise damaged('its head names another run')
    value = pages.file.read(start + run_value_offset(run.length), run.length)
    view = memoryview(value)
    for i in range(chunks):
        if (
            hash64(bytes(view[i * CHUNK : (i + 1) * CHUNK]), (seed + i + 1) & MASK64)
            != struct.unpack_from('<Q', head, 32 + 8 * i)[0]
        ):
            raise damaged(f'chunk {i} does not fit its hash')
    return value


def run_extent(pages, run):
    return range(run.page, run.page + run_pages(run.length, pages.page_size))
