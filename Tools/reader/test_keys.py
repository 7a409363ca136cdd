import math
import random
import struct
import unittest
from decimal import Decimal

import roost_keys
from roost_keys import Date, key

EXAMPLES = [
    ((None,), '05'),
    ((False,), '08'),
    ((True,), '09'),
    ((0,), '20'),
    ((1,), '2101'),
    ((255,), '21FF'),
    ((256,), '220100'),
    ((-1,), '1FFE'),
    ((-256,), '1EFEFF'),
    ((-(1 << 63),), '187FFFFFFFFFFFFFFF'),
    (((1 << 64) - 1,), '28FFFFFFFFFFFFFFFF'),
    ((1.5,), '30BFF8000000000000'),
    ((-1.5,), '304007FFFFFFFFFFFF'),
    ((Decimal('12.5'),), '310380020D3300'),
    ((Decimal('-12.5'),), '31017FFDF2CCFF'),
    ((Date(0.0),), '348000000000000000'),
    (('a\0b',), '406100FF6200'),
    ((b'\1\0',), '440100FF00'),
    (('Zoë', -3, 1.5), '405A6FC3AB001FFC30BFF8000000000000'),
]


class Keys(unittest.TestCase):
    def test_examples(self):
        for values, expected in EXAMPLES:
            self.assertEqual(key(*values), bytes.fromhex(expected), values)

    def ascending(self, values):
        keys = [key(value) for value in values]
        self.assertEqual(keys, sorted(keys))

    def test_order(self):
        rng = random.Random(1)
        self.ascending(sorted(rng.randrange(-(1 << 63), 1 << 64) >> rng.randrange(64) for _ in range(500)))
        doubles = [struct.unpack('<d', rng.randbytes(8))[0] for _ in range(500)]
        self.ascending(sorted(d for d in doubles if not math.isnan(d)) + [math.nan])
        self.ascending(
            sorted(Decimal(rng.randrange(-9999, 9999)).scaleb(rng.randint(-9, 9)) for _ in range(500))
        )
        self.ascending(sorted(rng.randbytes(rng.randint(0, 3)) for _ in range(500)))

    def test_equal_values_have_equal_keys(self):
        self.assertEqual(key(0.0), key(-0.0))
        self.assertEqual(key('é'), key('e\u0301'))
        self.assertEqual(key(Decimal('1.50')), key(Decimal('1.5')))
        self.assertEqual(roost_keys.decimal(Decimal('0.00')), bytes.fromhex('3102'))
