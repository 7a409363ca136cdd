#!/usr/bin/env python3
"""Reads a Roost store by SPEC.md alone, sharing nothing with the engine.

  roost_reader.py info STORE            what the header says, and how the journal ends
  roost_reader.py tables STORE          the tables: name, id, height, entries
  roost_reader.py groups STORE          the journal's groups
  roost_reader.py check STORE           reads everything; exit code 1 when something is wrong
  roost_reader.py dump STORE [TABLE]    the content as text (SPEC.md 18)
  roost_reader.py rows STORE ENTITY     the records of a model, as its current schema has them

Nothing is ever written: recovery happens in memory.
"""

import argparse
import sys
import time

import roost_dump
import roost_records
from roost_format import (
    MAGIC,
    NO_PAGE,
    SLOT_LENGTH,
    SLOT_OFFSETS,
    TAG_ROW_INLINE,
    StoreProblem,
    store_seed,
    unpack_header,
    unpack_ref,
)
from roost_journal import Journal, Overlay, replay
from roost_pages import File, Pages, Tree, read_run
from roost_model_check import check_models
from roost_space import check


class Table:
    """A table: its stored tree, and what the journal did to it."""

    def __init__(self, store, table_id, tree):
        self.store, self.id, self.tree, self.overlay = store, table_id, tree, Overlay()

    def entries(self):
        """(key, value) in order; values in runs are still descriptors."""
        return self.overlay.merged(self.tree.walk())

    def items(self):
        """(key, value) in order, with all values as bytes."""
        for key, value in self.entries():
            yield key, self.store.value(value)

    def count(self):
        if not self.overlay.entries and not self.overlay.cuts:
            return self.tree.root.count
        return sum(1 for _ in self.entries())


class Store:
    """A store opened for reading: header, catalog, journal, replayed tables. `to_gap`: see [J-4]."""

    def __init__(self, path, to_gap=False):
        self.file = File(path)
        try:
            self._open(to_gap)
        except BaseException:
            self.file.close()
            raise

    def _open(self, to_gap):
        """[X-2, X-5] Opens, and looks again when a writer may have been at work meanwhile."""
        for tries_left in reversed(range(10)):
            try:
                self._open_once(to_gap)
                if self._read_slots()[0] == self.header:
                    return
            except StoreProblem:
                if not tries_left or not self.file.has_writer():
                    raise
            time.sleep(0.01)
        raise StoreProblem('headerDamaged', 'a writer makes checkpoints faster than they can be read')

    def _read_slots(self):
        raw = [self.file.read(at, SLOT_LENGTH) for at in SLOT_OFFSETS]
        self.slots = [unpack_header(slot) for slot in raw]
        return choose_header(self.slots, raw), self.slots

    def _open_once(self, to_gap):
        self.file.refresh()
        self.file.pin(self._read_slots()[0].generation)
        self.header, self.slots = self._read_slots()
        self.seed = store_seed(self.header.store_id)
        needed = self.header.page_count * self.header.page_size
        if self.file.length < needed:  # [F-3]
            raise StoreProblem('truncated', f'{self.file.length} bytes, the header says {needed}')
        self.pages = Pages(self.file, self.header.page_size, self.seed)
        self.catalog_tree = Tree(self.pages, self.header.catalog, self.header.height)
        self.stored_tables = self._read_catalog()
        self.journal = Journal(self.pages, self.header, to_gap)
        self.tables = dict(self.stored_tables)
        self.next_table = replay(self.journal.groups, self.tables, self.header.next_table, self._empty_table)

    def _empty_table(self, table_id):
        return Table(self, table_id, Tree(self.pages, NO_PAGE, 0))

    def close(self):
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def value(self, value):
        return value if isinstance(value, bytes) else read_run(self.pages, value)

    def _read_catalog(self):
        """[G-1] The tables as the header's state has them, by name."""

        def damaged(why):
            return StoreProblem('pageDamaged', f'catalog: {why}')

        tables = {}
        for name, value in self.catalog_tree.walk():
            if not 1 <= len(name) <= 255 or not isinstance(value, bytes) or len(value) != 32:
                raise damaged('an entry of wrong length')
            table_id, height = int.from_bytes(value[:4], 'little'), value[4]
            if table_id >= self.header.next_table or any(table_id == t.id for t in tables.values()):
                raise damaged(f'table id {table_id} twice, or not below the next one')
            tables[name] = Table(self, table_id, Tree(self.pages, unpack_ref(value, 8), height))
        return tables

    def notes(self):
        """What is not damage to the content, but should not be."""
        notes = []
        if self.slots[0] != self.slots[1]:
            notes.append('the two header slots differ')
        schema = self.stored_tables.get(b'\0schema')
        tag = next((self.value(v) for k, v in schema.tree.walk() if k == b'current'), b'') if schema else b''
        if (self.header.tag_length, self.header.tag) != (
            len(tag),
            tag[:TAG_ROW_INLINE].ljust(TAG_ROW_INLINE, b'\0'),
        ):
            notes.append("the header's tag row is not the schema table's")  # [H-3]
        return notes


def choose_header(slots, raw):
    """[H-1, H-2, H-4, H-5] The newest valid slot. `raw`: the slots' bytes."""
    if 'newer' in slots:
        raise StoreProblem('newerFormat', 'written by a later version of the format')
    valid = [slot for slot in slots if not isinstance(slot, str)]
    if len(valid) == 2:
        same_generation = valid[0].generation == valid[1].generation
        if raw[0][8:32] != raw[1][8:32] or (same_generation and raw[0] != raw[1]):
            raise StoreProblem('headerDamaged', 'the two slots contradict each other')
    if valid:
        return max(valid, key=lambda header: header.generation)
    if slots == ['alien', 'alien']:
        raise StoreProblem('notAStore', f'does not begin with {MAGIC!r}')
    raise StoreProblem('headerDamaged', 'neither header slot is readable')


def show_info(store):
    header, journal = store.header, store.journal
    yield f'store id           {header.store_id.hex()}'
    yield f'page size          {header.page_size}'
    yield f'journal block      {"padded" if header.padded else "sector"}'
    slots = [slot if isinstance(slot, str) else f'generation {slot.generation}' for slot in store.slots]
    yield f'header slots       {slots[0]}, {slots[1]}'
    yield f'generation         {header.generation}'
    yield f'commit             {journal.groups[-1].commit if journal.groups else header.commit}'
    yield f'pages              {header.page_count} ({store.file.length} bytes in the file)'
    yield f'tables             {len(store.tables)}'
    yield f'journal            {len(journal.ring)} segments, {sum(s.length for s in journal.ring)} bytes'
    yield f'journal groups     {len(journal.groups)} from LSN {header.next_lsn}'
    yield f'torn tail          {journal.tail.dropped} groups behind LSN {journal.tail.lsn}, dropped'


def show_tables(store):
    for name, table in sorted(store.tables.items()):
        yield f'{roost_dump.escape(name)}\t{table.id}\t{table.tree.height}\t{table.count()}'


def show_groups(store):
    for group in store.journal.groups:
        yield (
            f'{group.lsn} at {group.offset}: {group.length} bytes, commit {group.commit}, durable '
            f'{group.durable}, session {group.session:016x}, {len(group.records)} records'
        )


def check_all(store):
    problems = check(store)
    return problems or check_models(store)


def show_rows(store, entity, stored):
    schema = roost_records.Schema(store)
    if entity not in schema.entities:
        raise KeyError(entity)
    for record in schema.records(entity):
        shown = record if stored else roost_records.as_current(schema, record)
        old = '' if record.shape == schema.entities[entity].number else f' (shape {record.shape})'
        values = ', '.join(f'{name}: {roost_records.spell(value)}' for name, value in shown.values.items())
        yield f'{record.identifier}{old}\t{values}'


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('command', choices=('info', 'tables', 'groups', 'check', 'dump', 'rows'))
    parser.add_argument('store')
    parser.add_argument('name', nargs='?', metavar='TABLE or ENTITY')
    parser.add_argument(
        '--stored', action='store_true', help='rows: in the shape that each record is stored in'
    )
    parser.add_argument(
        '--to-gap', action='store_true', help='open a damaged journal up to its first missing group'
    )
    options = parser.parse_args(arguments)
    try:
        with Store(options.store, options.to_gap) as store:
            if options.command == 'dump':
                roost_dump.dump(store, sys.stdout.buffer, options.name)
                return 0
            if options.command == 'rows':
                for line in show_rows(store, options.name, options.stored):
                    print(line)
                return 0
            show = {'info': show_info, 'tables': show_tables, 'groups': show_groups, 'check': check_all}[
                options.command
            ]
            lines = list(show(store))
            for line in lines:
                print(line)
            if options.command == 'check' and not lines:
                print('sound')
            return 1 if options.command == 'check' and lines else 0
    except KeyError as problem:
        print(f'{options.store}: there is no {problem}', file=sys.stderr)
        return 2
    except (StoreProblem, OSError) as problem:
        print(f'{options.store}: {problem}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
