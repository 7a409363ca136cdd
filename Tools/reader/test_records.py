import math
import struct
import unittest
import uuid

import roost_keys
import roost_records
from roost_cbor import CodedError, Single, Tagged, decode, encode
from roost_model_check import check_models
from roost_records import Damage, Date, Shape
from roost_writer import StoreWriter
from test_reader import StoreCase

HABIT_V1 = bytes.fromhex(
    'A3646E616D6565486162697467756E69717565738181646E616D656A70726F7065727469657382A5646B696E64696174'
    '74726962757465646E616D65646E616D6564747970651065737769667466537472696E67676C696E6561676501A5646B'
    '696E6469617474726962757465646E616D6564646F6E6564747970650165737769667464426F6F6C676C696E65616765'
    '02'
)


def attribute(name, kind, lineage, **more):
    return {'kind': 'attribute', 'name': name, 'type': kind, 'lineage': lineage, **more}


class CodedValues(unittest.TestCase):
    EXAMPLES = [
        ({'a': 1, 'bb': -1}, 'A2616101626262 20'),
        ({'street': 'Elm', 'number': 5}, 'A2666E756D626572056673747265657463456C6D'),
        (Tagged(4, [-1, 125]), 'C48220187D'),
        (Tagged(40001, 1.5), 'D99C41FB3FF8000000000000'),
        ((1 << 64) - 1, '1BFFFFFFFFFFFFFFFF'),
        (Tagged(40002, None), 'D99C42F6'),
        (Tagged(4, [0, (1 << 64) + 1]), 'C48200C249010000000000000001'),
        ([Single(0.5), b'', '', True, -(1 << 63)], '85FA3F0000004060F53B7FFFFFFFFFFFFFFF'),
    ]

    def test_both_ways(self):
        for value, data in self.EXAMPLES:
            data = bytes.fromhex(data)
            self.assertEqual(decode(data), value)
            self.assertEqual(encode(value), data)

    def test_refused(self):
        """[R-8, R-10]"""
        for data in (
            '1801', '190001', '9F', '61FF', 'A2616200616100', 'A2616100616100', 'A10000', '0000', '82 00',
            'C58200 01',             'C4820019000A', 'C482000A', 'C4 01', 'D825 4100', 'D99C41 01',
            'F7', 'F90000',
            '3B8000000000000000',             'C249000000000000000001', 'C24101', '', '81' * 202 + '00',
        ):  # fmt: skip
            with self.assertRaises(CodedError, msg=data):
                decode(bytes.fromhex(data))


class RecordFields(unittest.TestCase):
    def test_example(self):
        habit = {
            'name': 'Habit',
            'properties': [
                attribute('count', 5, 1),
                attribute('name', 16, 2),
                attribute('done', 1, 3),
                attribute('created', 12, 4),
                attribute('streak', 5, 5),
                attribute('note', 16, 6, optional=True),
            ],
        }
        data = bytes.fromhex(
            '20 0300000000000000 01 0000408093DCC441 FFFFFFFFFFFFFFFF 0C00 0C00 53747265746368206C656773'
        )
        values = roost_records.fields(Shape(1, habit), data, False)
        expected = dict(
            count=3, name='Stretch legs', done=True, created=Date(7e8 + 0.5), streak=-1, note=None
        )
        self.assertEqual(values, expected)
        short = roost_records.fields(Shape(1, habit), data[:20], False)
        self.assertTrue(all(isinstance(value, Damage) for value in short.values()))
        backwards = data[:26] + b'\x0d\x00\x0c\x00' + data[30:]
        self.assertIsInstance(roost_records.fields(Shape(1, habit), backwards, False)['name'], Damage)

    def test_types(self):
        some = uuid.uuid4()
        for kind, raw, value in (
            (2, b'\xff', -1),
            (9, b'\xff' * 8, (1 << 64) - 1),
            (10, struct.pack('<f', 1.5), 1.5),
            (13, some.bytes, some),
            (17, b'\0\1', b'\0\1'),
            (19, encode(Tagged(4, [1, 3])), Tagged(4, [1, 3])),
        ):
            self.assertEqual(roost_records.field(kind, raw), value)
        self.assertTrue(math.isnan(roost_records.field(11, struct.pack('<d', math.nan))))
        self.assertIsInstance(roost_records.field(16, b'\xff'), Damage)
        self.assertEqual(roost_records.spell(Tagged(4, [1, 3])), '30')


class Schemas(StoreCase):
    def model_tables(self):
        """Section 17's example: three habits, one of them rewritten since the schema changed."""
        first = decode(HABIT_V1)
        goal = attribute('goal', 5, 3, default=struct.pack('<q', 5))
        relation = {'to': 'Person', 'delete': 'nullify', 'inverse': 'habits'}
        owner = {
            'kind': 'toOne',
            'name': 'owner',
            'type': 14,
            'lineage': 4,
            'optional': True,
            'relationship': relation,
        }
        renamed = attribute('title', 16, 1)
        second = dict(first, lineage=1, uniques=[['title']], properties=[renamed, first['properties'][1], goal, owner])
        number = lambda text, n: text + n.to_bytes(4, 'big')
        current = dict(
            form=1, label=[2, 0, 0], state='sweeping', digest=0, lineage=5, version=2, generation=2
        )
        schema = {
            b'current': encode(current),
            number(b'shape', 1): HABIT_V1,
            number(b'shape', 2): encode(second),
            number(b'version', 1): encode(dict(label=[1, 0, 0], digest=0, shapes=[1])),
            number(b'version', 2): encode(dict(label=[2, 0, 0], digest=0, shapes=[2])),
            number(b'count', 1): encode(2),
        }
        old = lambda name, done: b'\x01\x01\0\0' + bytes(8) + b'\0' + bytes([done]) + self.varying(name)
        new = b'\x01\x02\0\0' + bytes(8) + b'\0\1' + struct.pack('<qQ', 9, 77) + self.varying('new')
        rows = {1: old('read', 1), 2: old('swim', 0), 3: new}
        records = {key.to_bytes(8, 'big'): row for key, row in rows.items()}
        uniques = {
            roost_keys.key(name): n.to_bytes(8, 'big') for n, name in ((1, 'read'), (2, 'swim'), (3, 'new'))
        }
        counters = {b'next number': (78).to_bytes(8, 'big'), b'commit': bytes(8)}
        return {
            b'\0schema': schema,
            b'records/Habit': records,
            b'records/Person': {},
            b'unique/Habit/title': uniques,
            b'counters': counters,
        }

    @staticmethod
    def varying(text):
        return struct.pack('<H', len(text)) + text.encode()

    def test_stored_and_current(self):
        schema = roost_records.Schema(self.open(StoreWriter(seed=3).write(self.model_tables()).image))
        records = list(schema.records('Habit'))
        self.assertEqual([(r.identifier, r.shape) for r in records], [(1, 1), (2, 1), (3, 2)])
        self.assertEqual(records[0].values, {'name': 'read', 'done': True})
        current = [roost_records.as_current(schema, record).values for record in records]
        self.assertEqual(
            current,
            [
                dict(title='read', done=True, goal=5, owner=None),
                dict(title='swim', done=False, goal=5, owner=None),
                dict(title='new', done=True, goal=9, owner=77),
            ],
        )

    def problems(self, change):
        tables = self.model_tables()
        change(tables)
        return check_models(self.open(StoreWriter(seed=4).write(tables).image))

    def test_check(self):
        leads_nowhere = ['Habit 3, owner: leads to Person 77, which does not exist']
        self.assertEqual(self.problems(lambda tables: None), leads_nowhere)
        index = b'unique/Habit/title'
        for change in (
            lambda tables: tables[index].popitem(),
            lambda tables: tables[index].update({roost_keys.key('more'): bytes(8)}),
            lambda tables: tables[index].update({roost_keys.key('read'): bytes(8)}),
            lambda tables: tables[b'\0schema'].pop(b'count\0\0\0\1'),
            lambda tables: tables[b'records/Habit'].popitem(),
            lambda tables: tables[b'counters'].update({b'next number': bytes(8)}),
        ):
            self.assertNotEqual(self.problems(change), leads_nowhere)

    def test_dangling(self):
        """[R-18] References without an inverse may lead to a record that is gone, but to no other entity's."""

        def one_way(tables, target):
            row = decode(tables[b'\0schema'][b'shape\0\0\0\2'])
            del row['properties'][3]['relationship']['inverse']
            tables[b'\0schema'][b'shape\0\0\0\2'] = encode(row)
            record = tables[b'records/Habit'][(3).to_bytes(8, 'big')]
            leads = record.replace(struct.pack('<Q', 77), struct.pack('<Q', target))
            tables[b'records/Habit'][(3).to_bytes(8, 'big')] = leads

        self.assertEqual(self.problems(lambda tables: one_way(tables, 77)), [])
        self.assertEqual(len(self.problems(lambda tables: one_way(tables, 2))), 1)

    def test_history(self):
        """[R-20, R-21]"""
        row = bytes.fromhex('01 0000000000000000 00 01 02 01 01 01 00 00')
        history = lambda row: lambda tables: tables.update({b'history': {(0).to_bytes(8, 'big'): row}})
        newest = {b'next number': (78).to_bytes(8, 'big'), b'commit': (1).to_bytes(8, 'big')}
        for changed in (row, row[:-1], row + b'0', b'\2' + row[1:]):
            self.assertEqual(len(self.problems(history(changed))), 2, changed.hex())

        def good(tables):
            tables.update({b'history': {(1).to_bytes(8, 'big'): row}, b'counters': newest})

        self.assertEqual(len(self.problems(good)), 1)

    def test_the_example_row(self):
        self.assertEqual(encode(decode(HABIT_V1)), HABIT_V1)
        self.assertEqual(decode(HABIT_V1)['uniques'], [['name']])


if __name__ == '__main__':
    unittest.main()
