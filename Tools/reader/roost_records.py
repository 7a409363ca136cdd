"""Records of the model layer, read without the program that wrote them (SPEC.md 16 and 17)."""

import datetime
import struct
import uuid
from collections import namedtuple

from roost_cbor import DATE, DECIMAL, URL, UUID, CodedError, Single, Tagged, decimal, decode
from roost_format import StoreProblem

BOOL, SINGLE, DOUBLE, DATE_FIELD, UUID_FIELD, REFERENCE = 1, 10, 11, 12, 13, 14
STRING, BYTES, URL_FIELD, DECIMAL_FIELD, CODED, MEMBERS = 16, 17, 18, 19, 20, 21
WIDTHS = {BOOL: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 2, 8: 4, 9: 8, SINGLE: 4, DOUBLE: 8, DATE_FIELD: 8}
WIDTHS.update({UUID_FIELD: 16, REFERENCE: 8})
FORMATS = {2: '<b', 3: '<h', 4: '<i', 5: '<q', 6: '<B', 7: '<H', 8: '<I', 9: '<Q', SINGLE: '<f', DOUBLE: '<d'}
FORMATS.update({DATE_FIELD: '<d', REFERENCE: '<Q'})
EPOCH = datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc)

Record = namedtuple('Record', 'identifier shape commit values')
"""`shape` is the shape's number; `values` maps names to values, `Damage` among them, in the shape's order."""
Damage = namedtuple('Damage', 'why')
Date = namedtuple('Date', 'seconds')


class Shape:
    """[M-3] An entity as some version of the schema has it."""

    def __init__(self, number, row):
        self.number, self.row, self.name = number, row, row['name']
        self.lineage = row.get('lineage', number)
        self.properties = row['properties']
        self.fields = [p for p in self.properties if self.is_field(p)]
        self.fixed = [p for p in self.fields if p['type'] in WIDTHS]
        self.varying = [p for p in self.fields if p['type'] not in WIDTHS]

    @staticmethod
    def is_field(item):
        """[R-5]"""
        return item['kind'] == 'toOne' or (
            item['kind'] == 'attribute' and 'ephemeral' not in item.get('options', ())
        )


class Schema:
    """The rows of the table `\\0schema`."""

    def __init__(self, store):
        self.store = store
        table = store.tables.get(b'\0schema')
        if table is None:
            raise StoreProblem('notAStore', 'holds no models')
        self.shapes, self.versions, self.counts, self.current = {}, {}, {}, None
        for key, value in table.items():
            for prefix, rows in (
                (b'shape', self.shapes),
                (b'version', self.versions),
                (b'count', self.counts),
            ):
                if key.startswith(prefix) and len(key) == len(prefix) + 4:
                    rows[int.from_bytes(key[-4:], 'big')] = decode(value)
            if key == b'current':
                self.current = decode(value)
        if self.current is None or self.current.get('form') != 1:
            raise StoreProblem('newerFormat', 'a schema of a form that is not known')
        self.shapes = {number: Shape(number, row) for number, row in self.shapes.items()}
        numbers = self.versions[self.current['version']]['shapes']
        self.entities = {self.shapes[number].name: self.shapes[number] for number in numbers}
        self.building = {key[len(b'index') :] for key, _ in table.items() if key.startswith(b'index')}

    def current_of(self, shape):
        """The current shape of the entity that a shape is of, under whatever name; None when it is gone."""
        return next((s for s in self.entities.values() if s.lineage == shape.lineage), None)

    def waits(self, shape):
        """[R-12] Whether only the program makes records of the shape current ones."""
        later = (s for s in self.shapes.values() if s.lineage == shape.lineage and s.number > shape.number)
        return any(s.row.get('transformed') for s in later)

    def records(self, entity):
        """[R-4, R-5] The records of an entity in the shapes they are stored in, by identifier."""
        table = self.store.tables.get(b'records/' + entity.encode('utf-8'))
        for key, value in table.items() if table else ():
            yield self.record(key, value)

    def record(self, key, value):
        if len(key) != 8 or len(value) < 12 or value[0] & 0x7F != 1:
            raise StoreProblem('pageDamaged', f'record {key.hex()} has no record header')
        number, commit = int.from_bytes(value[1:4], 'little'), int.from_bytes(value[4:12], 'little')
        shape = self.shapes.get(number)
        if shape is None:
            raise StoreProblem('pageDamaged', f'record {key.hex()} has shape {number}, which is not known')
        values = fields(shape, value[12:], value[0] & 0x80 != 0)
        identifier = int.from_bytes(key, 'big')
        current = self.current_of(shape)
        names = {p['lineage']: p['name'] for p in current.properties} if current else {}
        for item in shape.properties:
            if item['kind'] == 'toMany':
                name = names.get(item['lineage'])
                values[item['name']] = self.members(current.name, name, key) if name else []
        ordered = {p['name']: values[p['name']] for p in shape.properties if p['name'] in values}
        return Record(identifier, number, commit, ordered)

    def members(self, entity, name, owner):
        """[R-3] The identifiers of a to-many relationship's members in their order."""
        if not hasattr(self, '_links'):
            self._links = {}
        table_name = f'links/{entity}/{name}'.encode('utf-8')
        if table_name not in self._links:
            rows, table = {}, self.store.tables.get(table_name)
            for key, value in table.items() if table else ():
                rows.setdefault(key[:8], []).append(
                    (int.from_bytes(value, 'big'), int.from_bytes(key[8:], 'big'))
                )
            self._links[table_name] = rows
        return [member for _, member in sorted(self._links[table_name].get(owner, ()))]


def fields(shape, data, wide):
    """[R-5, R-6] Values by name, from the bytes behind the record's head."""
    nil_bytes = -(-len(shape.fields) // 8)
    fixed_end = nil_bytes + sum(WIDTHS[p['type']] for p in shape.fixed)
    width = 4 if wide else 2
    rest = fixed_end + width * len(shape.varying)
    if len(data) < rest:
        return {p['name']: Damage('the record is too short') for p in shape.fields}
    values, at, begin = {}, nil_bytes, 0
    ends = [
        int.from_bytes(data[fixed_end + width * i :][:width], 'little') for i in range(len(shape.varying))
    ]
    for index, item in enumerate(shape.fields):
        nil = data[index // 8] >> (index % 8) & 1
        if item['type'] in WIDTHS:
            raw, at = data[at : at + WIDTHS[item['type']]], at + WIDTHS[item['type']]
        else:
            end = ends.pop(0)
            if not begin <= end <= len(data) - rest:
                values[item['name']] = Damage('a field lies outside of the record')
                continue
            raw, begin = data[rest + begin : rest + end], end
        values[item['name']] = None if nil else field(item['type'], raw)
    return values


def field(kind, raw):
    """[R-7] The value of a field that is not nil."""
    try:
        if kind == BOOL:
            return raw[0] != 0
        if kind in FORMATS:
            value = struct.unpack(FORMATS[kind], raw)[0]
            return Date(value) if kind == DATE_FIELD else Single(value) if kind == SINGLE else value
        if kind == UUID_FIELD:
            return uuid.UUID(bytes=raw)
        if kind in (STRING, URL_FIELD):
            return raw.decode('utf-8')
        if kind == BYTES:
            return raw
        if kind in (CODED, DECIMAL_FIELD):
            return decode(raw)
    except (CodedError, UnicodeDecodeError) as problem:
        return Damage(str(problem))
    return Damage(f'type {kind} is not known')


def as_current(schema, record):
    """[R-12] The record's values as its entity's current shape has them."""
    stored = schema.shapes[record.shape]
    current = schema.current_of(stored)
    if current is None or current.number == stored.number or schema.waits(stored):
        return record
    by_lineage = {p['lineage']: p for p in stored.properties}
    values = {}
    for item in current.properties:
        if item['kind'] == 'toMany':
            former = by_lineage.get(item['lineage'])
            if former and former['kind'] == 'toOne':
                target = record.values[former['name']]
                values[item['name']] = [] if target is None else [target]
                continue
            owner = record.identifier.to_bytes(8, 'big')
            values[item['name']] = schema.members(current.name, item['name'], owner)
        elif Shape.is_field(item):
            values[item['name']] = _converted(item, by_lineage.get(item['lineage']), record)
    return Record(record.identifier, current.number, record.commit, values)


def _converted(item, source, record):
    """One current property's value from the stored property with its lineage."""
    default = field(item['type'], item['default']) if 'default' in item else None
    if source is None or not Shape.is_field(source):
        return default
    value = record.values[source['name']]
    if value is None:
        return None if item.get('optional') else default
    if source['type'] == item['type'] or isinstance(value, Damage):
        return value
    if item['type'] == SINGLE:
        return Single(value)
    if item['type'] == DOUBLE:
        return float(value)
    if 2 <= item['type'] <= 9:
        return int(value)
    if item['type'] == DECIMAL_FIELD:
        return _decimal_of(value)
    return value


def _decimal_of(integer):
    exponent = 0
    while integer and integer % 10 == 0 and exponent < 127:
        integer, exponent = integer // 10, exponent + 1
    return Tagged(DECIMAL, [exponent, integer])


# Spelling


def spell(value):
    """A value as text for people, one spelling each."""
    if isinstance(value, Damage):
        return f'<damaged: {value.why}>'
    if isinstance(value, Date):
        return date_text(value.seconds)
    if isinstance(value, Tagged):
        if value.tag == DECIMAL:
            return 'NaN' if value.value is None else f'{decimal(value.value):f}'
        if value.tag == DATE:
            return date_text(value.value)
        if value.tag == UUID:
            return str(uuid.UUID(bytes=value.value)).upper()
        return spell(value.value) if value.tag == URL else f'some({spell(value.value)})'
    if value is None or isinstance(value, bool):
        return {None: 'nil', True: 'true', False: 'false'}[value]
    if isinstance(value, bytes):
        return '0x' + value.hex()
    if isinstance(value, uuid.UUID):
        return str(value).upper()
    if isinstance(value, str):
        return '"' + value.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n') + '"'
    if isinstance(value, list):
        return '[' + ', '.join(map(spell, value)) + ']'
    if isinstance(value, dict):
        return '{' + ', '.join(f'{spell(k)}: {spell(v)}' for k, v in value.items()) + '}'
    return repr(float(value)) if isinstance(value, float) else str(value)


def date_text(seconds):
    try:
        return (EPOCH + datetime.timedelta(seconds=seconds)).isoformat().replace('+00:00', 'Z')
    except (OverflowError, ValueError):
        return f'{seconds!r} s after 2001'
