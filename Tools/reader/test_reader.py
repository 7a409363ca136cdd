import io
import os
import random
import tempfile
import unittest

import roost_dump
from roost_format import SLOT_LENGTH, StoreProblem, hash64, pack_header
from roost_reader import Store
from roost_space import check
from roost_writer import StoreWriter, create, delete, delete_range, drop, rename


def value(rng, page_size):
    """Mostly short, now and then at the inline limit or in a run of several chunks."""
    limit = page_size // 2 - 64
    return rng.randbytes(
        rng.choice(
            (0, 1, 7, 8, 9, 30, 200, limit - 20, limit + 1, page_size)
            + ((70_000,) if rng.random() < 0.1 else ())
        )
    )


def key(rng):
    shape = rng.random()
    if shape < 0.5:
        return b'user/%04d' % rng.randrange(2000)
    if shape < 0.8:
        return rng.randbytes(rng.randint(0, 12))
    return b'\xff' * rng.randint(0, 20) + rng.randbytes(rng.randint(0, 3))


def random_tables(rng, page_size, most=120):
    tables = {b'empty': {}}
    for i in range(rng.randint(1, 4)):
        tables[b'table %d' % i] = {key(rng): value(rng, page_size) for _ in range(rng.randint(0, most))}
    return tables


def random_group(rng, writer, tables, ids, page_size):
    """The records of one transaction, applied to the model `tables` too. `ids`: name to id."""
    records = []
    for _ in range(rng.randint(0, 5)):
        name = rng.choice(sorted(ids))
        table, model = ids[name], tables[name]
        choice = rng.random()
        if choice < 0.6:
            k, v = key(rng), value(rng, page_size)
            records.append(writer.put(table, k, v))
            model[k] = v
        elif choice < 0.8:
            k = rng.choice(sorted(model)) if model and rng.random() < 0.8 else key(rng)
            records.append(delete(table, k))
            model.pop(k, None)
        elif choice < 0.88:
            low, high = rng.choice((None, key(rng))), rng.choice((None, key(rng)))
            ends = rng.choice((True, False)), rng.choice((True, False))
            records.append(delete_range(table, low, high, *ends))
            for k in list(model):
                if (low is None or k > low or (k == low and ends[0])) and (
                    high is None or k < high or (k == high and ends[1])
                ):
                    del model[k]
        elif choice < 0.92 and len(ids) > 1:
            records.append(drop(table))
            del ids[name], tables[name]
        elif choice < 0.96:
            new = b'renamed %d' % rng.randrange(1 << 30)
            records.append(rename(table, new))
            ids[new], tables[new] = ids.pop(name), tables.pop(name)
        else:
            new = b'created %d' % rng.randrange(1 << 30)
            records.append(create(writer.next_table, new))
            ids[new], tables[new] = writer.next_table, {}
            writer.next_table += 1
    return records


class StoreCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, 'test.store')
        self.addCleanup(self.folder.cleanup)

    def open(self, image, **options):
        with open(self.path, 'wb') as file:
            file.write(image)
        store = Store(self.path, **options)
        self.addCleanup(store.close)
        return store

    def content(self, image, **options):
        store = self.open(image, **options)
        return {name: dict(table.items()) for name, table in store.tables.items()}

    def refused(self, image, kind):
        with self.assertRaises(StoreProblem) as caught:
            self.content(image)
        self.assertEqual(caught.exception.kind, kind)


class RandomStores(StoreCase):
    def test_content_and_check(self):
        """What was written is read, in order, and the check finds nothing."""
        for seed in range(40):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                page_size = rng.choice((4096, 4096, 8192, 16_384, 65_536))
                tables = random_tables(rng, page_size)
                writer = StoreWriter(page_size, rng.random() < 0.3, seed, rng.choice((None, 2, 3, 6)))
                writer.write(
                    tables, segments=rng.choice(((), (20,), (20, 33))), extra_zones=rng.choice((0, 2))
                )
                ids = dict(writer.table_ids)
                for _ in range(rng.randint(0, 12)):
                    before = {name: dict(model) for name, model in tables.items()}, dict(ids)
                    records = random_group(rng, writer, tables, ids, page_size)
                    if not writer.room(records):
                        tables, ids = before
                        break
                    writer.append(records)
                store = self.open(writer.image)
                self.assertEqual(
                    {n: list(t.items()) for n, t in store.tables.items()},
                    {n: sorted(t.items()) for n, t in tables.items()},
                )
                self.assertEqual(
                    {n: t.count() for n, t in store.tables.items()}, {n: len(t) for n, t in tables.items()}
                )
                self.assertEqual(check(store), [])

    def test_high_tree(self):
        rng = random.Random(5)
        model = {b'%05d' % rng.randrange(100_000): rng.randbytes(9) for _ in range(600)}
        store = self.open(StoreWriter(seed=5, most_entries=3).write({b't': model}).image)
        self.assertGreaterEqual(store.tables[b't'].tree.height, 6)
        self.assertEqual(dict(store.tables[b't'].items()), model)
        self.assertEqual(check(store), [])

    def test_flipped_bits(self):
        """A flipped bit is found, or changes no content."""
        rng = random.Random(9)
        tables = random_tables(rng, 4096, 60)
        writer = StoreWriter(seed=9).write(tables)
        writer.append([writer.put(writer.table_ids[b'empty'], b'k', bytes(3000))])
        writer.append([])
        expected = self.content(writer.image)
        found = 0
        for _ in range(400):
            at, bit = rng.randrange(len(writer.image)), rng.randrange(8)
            image = bytearray(writer.image)
            image[at] ^= 1 << bit
            try:
                self.assertEqual(self.content(image), expected, (at, bit))
            except StoreProblem:
                found += 1
        self.assertGreater(found, 100)


class Headers(StoreCase):
    def setUp(self):
        super().setUp()
        self.writer = StoreWriter(seed=1).write({b't': {b'a': b'1'}})
        self.image = self.writer.image

    def test_either_slot_suffices(self):
        for at in (0, 4096):
            image = bytearray(self.image)
            image[at + 200] ^= 1
            self.assertEqual(self.content(image), {b't': {b'a': b'1'}})
            self.assertIn('the two header slots differ', check(self.open(image)))

    def test_newest_slot_wins(self):
        newer = self.writer.header._replace(
            generation=8, height=0, catalog=self.writer.header.catalog._replace(page=0, count=0)
        )
        image = bytearray(self.image)
        image[4096 : 4096 + SLOT_LENGTH] = pack_header(newer)
        self.assertEqual(self.content(image), {})

    def test_refusals(self):
        both = bytearray(self.image)
        both[200] ^= 1
        both[4096 + 200] ^= 1
        self.refused(both, 'headerDamaged')
        self.refused(bytes(len(self.image)), 'notAStore')
        self.refused(b'', 'notAStore')
        self.refused(self.image[: -self.writer.page_size], 'truncated')
        rotten = bytearray(self.image)
        rotten[8] = rotten[4096 + 8] = 2  # a version without its checksum is no newer format
        self.refused(rotten, 'headerDamaged')

    def test_slots_that_contradict_each_other(self):
        for change in (dict(commit=1), dict(store_id=bytes(16), generation=8)):
            image = bytearray(self.image)
            image[4096 : 4096 + SLOT_LENGTH] = pack_header(self.writer.header._replace(**change))
            self.refused(image, 'headerDamaged')  # [H-5]

    def test_newer_format(self):
        image = bytearray(self.image)
        image[8] = 2
        image[504:512] = hash64(bytes(image[:504]), 0).to_bytes(8, 'little')
        self.refused(image, 'newerFormat')


class Journals(StoreCase):
    def store(self, groups=6, **options):
        writer = StoreWriter(**options).write({b't': {}}, segments=(20,))
        self.groups = [
            writer.append([writer.put(writer.table_ids[b't'], b'%d' % i, b'x' * 700)]) for i in range(groups)
        ]
        return writer

    def keys(self, image, **options):
        return sorted(self.content(image, **options)[b't'])

    def test_torn_last_group(self):
        for padded in (False, True):
            image = self.store(padded=padded, seed=2).image
            offset, data = self.groups[-1]
            image[offset + 512 : offset + len(data)] = bytes(len(data) - 512)
            self.assertEqual(self.keys(image), [b'%d' % i for i in range(5)])

    def test_lost_group_before_a_flushed_one(self):
        image = self.store(seed=3).image
        offset, data = self.groups[2]
        image[offset : offset + len(data)] = bytes(len(data))
        self.refused(image, 'journalDamaged')
        self.assertEqual(self.keys(image, to_gap=True), [b'0', b'1'])

    def test_lost_group_that_nothing_calls_flushed(self):
        writer = StoreWriter(seed=4).write({b't': {}})
        table = writer.table_ids[b't']
        for i in range(4):
            writer.append([writer.put(table, b'%d' % i, b'')], durable=39, place=i != 1)
        store = self.open(writer.image)
        self.assertEqual(sorted(dict(store.tables[b't'].items())), [b'0'])
        self.assertEqual(store.journal.tail.dropped, 2)

    def test_group_whose_run_is_not_there(self):
        writer = StoreWriter(seed=5).write({b't': {}})
        table = writer.table_ids[b't']
        writer.append([writer.put(table, b'a', b'y' * 9000)])
        sound = bytes(writer.image)
        self.assertEqual(self.keys(sound), [b'a'])
        at = writer.image.rindex(b'y' * 100)
        writer.image[at : at + 100] = bytes(100)
        self.assertEqual(self.keys(writer.image), [])
        writer.append([writer.put(table, b'b', b'')])
        self.refused(writer.image, 'runDamaged')  # the run was flushed: it is rotten, not missing

    def test_groups_across_segments(self):
        writer = StoreWriter(seed=6).write({b't': {}}, segments=(20, 33), position=(1, 60_000))
        table = writer.table_ids[b't']
        places = [writer.append([writer.put(table, b'%03d' % i, b'z' * 1500)])[0] for i in range(100)]
        self.assertGreater(len({p // 100_000 for p in places}), 1)
        self.assertEqual(len(self.keys(writer.image)), 100)

    def test_one_segment_copy_suffices(self):
        for copy in (0, 4096):
            image = self.store(seed=7).image
            at = image.index(b'ROOSTSEG') + copy
            image[at] ^= 1
            self.assertEqual(len(self.keys(image)), 6)
        image[image.index(b'ROOSTSEG')] ^= 1
        self.refused(image, 'journalDamaged')

    def test_unreadable_records(self):
        for record in (
            b'\x09' + bytes(7),
            b'\x01' + bytes(3),
            create(1, b'again'),
            drop(99),
            delete(1, bytes(2000)),
            create(77, b'\xff'),
            delete_range(1, bytes(9), bytes(9))[:-9],
        ):
            writer = StoreWriter(seed=8).write({b't': {}})
            writer.append([record])
            self.refused(writer.image, 'journalDamaged')

    def test_stale_group_of_an_earlier_chain(self):
        """A group with the right LSN, but not the right predecessor, does not count."""
        writer = StoreWriter(seed=9).write({b't': {}})
        writer.chain ^= 1
        writer.append([writer.put(writer.table_ids[b't'], b'a', b'')])
        self.assertEqual(self.keys(writer.image), [])


class Damage(StoreCase):
    def problems(self, change):
        writer = StoreWriter(seed=11)
        writer.write({b't': {b'%d' % i: b'v' * 3000 for i in range(3)}})
        change(writer)
        return check(self.open(writer.image))

    def remap(self, writer, used):
        writer.used = used
        writer.header = writer.header._replace(space=writer.write_map())
        writer.header = writer.header._replace(page_count=len(writer.image) // 4096)
        for at in (0, 4096):
            writer.place(at, pack_header(writer.header))

    def test_page_both_free_and_used(self):
        problems = self.problems(lambda w: self.remap(w, w.used - {w.header.catalog.page}))
        self.assertTrue(any('is free in the map, but used: catalog' in p for p in problems), problems)

    def test_page_that_nothing_uses(self):
        problems = self.problems(lambda w: self.remap(w, w.used))
        self.assertTrue(any('nothing uses them' in p for p in problems), problems)  # the first map's twins

    def test_map_twin_that_is_not_live(self):
        """A lost save of the map shows as a stamp that does not fit."""

        def change(writer):
            twin = writer.header.space
            writer.header = writer.header._replace(space=twin._replace(live=1 - twin.live))
            for at in (0, 4096):
                writer.place(at, pack_header(writer.header))

        self.assertTrue(any('free map' in p for p in self.problems(change)))


class Dumps(StoreCase):
    def dump(self, image, *table):
        out = io.BytesIO()
        roost_dump.dump(self.open(image), out, *table)
        return out.getvalue()

    def test_example(self):
        image = StoreWriter().write({b'words': {b'a': b'', 'é'.encode(): b'1\t2'}}).image
        self.assertEqual(
            self.dump(image), b'roost-dump 1\ntable words 2\na\t\n\\xc3\\xa9\t1\\x092\nend 1 2 2425ca91\n'
        )

    def test_same_content_same_bytes(self):
        tables = random_tables(random.Random(12), 4096)
        dumps = {
            self.dump(StoreWriter(size, seed=size, most_entries=most).write(tables).image)
            for size, most in ((4096, 2), (8192, None), (65_536, 9))
        }
        self.assertEqual(len(dumps), 1)

    def test_spelling(self):
        every = bytes(range(256))
        self.assertEqual(roost_dump.unescape(roost_dump.escape(every)), every)
        for wrong in ('\\x41', '\\xAB', '\\x4', '\\', '\t', 'é'):
            with self.assertRaises(ValueError):
                roost_dump.unescape(wrong)


if __name__ == '__main__':
    unittest.main()
